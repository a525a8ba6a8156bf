package crd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
)

var (
	widgetsGVR  = schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "widgets"}
	warrantsGVR = schema.GroupVersionResource{Group: "a.test", Version: "v1", Resource: "warrants"}
)

// warrant is a definition typical of operators: nested objects, lists of maps, defaults, patterns, conditions
// and a few rules.
const warrant = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: warrants.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: warrants, kind: Warrant}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    selectableFields: [{jsonPath: .spec.issuer.name}]
    additionalPrinterColumns: [{name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}, {name: Age, type: date, jsonPath: .metadata.creationTimestamp}]
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [secretName, issuer]
            x-kubernetes-validations:
            - {rule: "self.secretName == oldSelf.secretName", message: secretName is immutable}
            - {rule: "!has(self.renewPercent) || self.renewPercent < 100", message: renewPercent is below 100}
            - {rule: "has(self.commonName) || size(self.dnsNames) > 0", message: some name is needed}
            properties:
              secretName: {type: string, maxLength: 253, minLength: 1}
              commonName: {type: string, maxLength: 64}
              dnsNames: {type: array, maxItems: 50, items: {type: string, maxLength: 253, pattern: '^[a-z0-9.*-]+$'}, x-kubernetes-list-type: set}
              duration: {type: string, default: 2160h}
              renewPercent: {type: integer, format: int32, minimum: 1, maximum: 99}
              revisions: {type: integer, format: int32, default: 3}
              isCA: {type: boolean, default: false}
              usages: {type: array, items: {type: string, enum: [signing, encipherment, client auth, server auth]}}
              issuer:
                type: object
                required: [name]
                properties: {name: {type: string}, kind: {type: string, default: Issuer}, group: {type: string, default: a.test}}
              key:
                type: object
                default: {}
                properties: {algorithm: {type: string, enum: [RSA, ECDSA, Ed25519], default: ECDSA}, size: {type: integer, default: 256}, rotation: {type: string, default: Always}}
              template: {type: object, properties: {labels: {type: object, additionalProperties: {type: string}}, annotations: {type: object, additionalProperties: {type: string}}}}
              stores:
                type: array
                maxItems: 10
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  x-kubernetes-validations: [{rule: "self.format != 'PKCS12' || has(self.password)", message: a PKCS12 store needs a password}]
                  properties:
                    name: {type: string, maxLength: 60}
                    format: {type: string, enum: [PEM, DER, PKCS12], default: PEM}
                    password: {type: object, properties: {name: {type: string}, key: {type: string, default: password}}}
          status:
            type: object
            properties:
              revision: {type: integer}
              notAfter: {type: string, format: date-time}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status]
                  properties: {type: {type: string}, status: {type: string, enum: ["True", "False", Unknown]}, reason: {type: string}, message: {type: string},
                    lastTransitionTime: {type: string, format: date-time}, observedGeneration: {type: integer, format: int64}}
`

const warrantObject = `{"apiVersion":"a.test/v1","kind":"Warrant","metadata":{"name":"NAME","labels":{"app":"shop","tier":"front"},"annotations":{"note":"VALUE"}},
"spec":{"secretName":"shop-tls","commonName":"shop.example.com","dnsNames":["shop.example.com","www.shop.example.com","api.shop.example.com"],"renewPercent":66,
"usages":["signing","server auth"],"issuer":{"name":"letters"},"template":{"labels":{"app":"shop"},"annotations":{"owner":"team-a"}},
"stores":[{"name":"java","format":"PKCS12","password":{"name":"keystore"}},{"name":"nginx"},{"name":"envoy","format":"DER"}]}}`

// deploymentObject is about as big.
const deploymentObject = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"NAME","labels":{"app":"shop","tier":"front"},"annotations":{"note":"VALUE"}},
"spec":{"replicas":3,"selector":{"matchLabels":{"app":"shop"}},"template":{"metadata":{"labels":{"app":"shop"},"annotations":{"owner":"team-a"}},
"spec":{"serviceAccountName":"shop","containers":[{"name":"web","image":"shop.example.com/web:1","args":["--port=80","--log=info"],"ports":[{"name":"http","containerPort":80},{"name":"metrics","containerPort":90}],
"env":[{"name":"HOST","value":"www.shop.example.com"},{"name":"API","value":"api.shop.example.com"}]}]}}}}`

// BenchmarkCustomResource does the same to a custom resource with a schema, defaults, rules and selectable
// fields, and to a built-in kind of the same size that has its own defaults and validation.
func BenchmarkCustomResource(b *testing.B) {
	for _, kind := range []struct{ name, path, object, status string }{
		{"deployment", "/apis/apps/v1/namespaces/default/deployments", deploymentObject,
			`{"status":{"conditions":[{"type":"Progressing","status":"True","reason":"r","message":"VALUE","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
		{"custom", "/apis/a.test/v1/namespaces/default/warrants", warrantObject,
			`{"status":{"conditions":[{"type":"Ready","status":"True","reason":"r","message":"VALUE","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},
	} {
		b.Run(kind.name, func(b *testing.B) {
			c := start(b, apiserver.Options{})
			c.do("POST", definitions, warrant, 201)
			c.eventually("served", func() bool { return c.Registry().Resource(warrantsGVR) != nil })
			n := 0
			of := func(text, name string) []byte {
				n++
				return []byte(strings.NewReplacer("NAME", name, "VALUE", fmt.Sprintf("v%08d", n)).Replace(text))
			}
			measure := func(name string, f func(i int)) {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						f(i)
					}
				})
			}
			const merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
			measure("create", func(int) { c.send("POST", kind.path, of(kind.object, fmt.Sprintf("b%d", n)), 201) })
			c.do("DELETE", kind.path, nil, 200)
			for i := range 1000 {
				c.send("POST", kind.path, of(kind.object, fmt.Sprintf("o%d", i)), 201)
			}
			c.send("GET", kind.path, nil, 200)
			one := kind.path + "/o7"
			live := c.send("GET", one, nil, 200).Body.String()
			_, note, _ := strings.Cut(live, `"note":"`)
			b.Logf("%d bytes", len(live))
			version := ""
			measure("update", func(i int) {
				text := strings.Replace(live, `"note":"`+note[:9], fmt.Sprintf(`"note":"u%08d`, i), 1)
				if version != "" {
					_, rest, _ := strings.Cut(live, `"resourceVersion":"`)
					old, _, _ := strings.Cut(rest, `"`)
					text = strings.Replace(text, `"resourceVersion":"`+old, `"resourceVersion":"`+version, 1)
				}
				_, rest, _ := strings.Cut(c.send("PUT", one, []byte(text), 200).Body.String(), `"resourceVersion":"`)
				version, _, _ = strings.Cut(rest, `"`)
			})
			measure("patch", func(int) {
				c.send("PATCH", one, of(`{"metadata":{"annotations":{"note":"VALUE"}}}`, ""), 200, "Content-Type", merge)
			})
			measure("status", func(int) { c.send("PATCH", one+"/status", of(kind.status, ""), 200, "Content-Type", merge) })
			same := of(kind.object, "applied")
			c.send("PATCH", kind.path+"/applied?fieldManager=bench", same, 201, "Content-Type", apply)
			measure("apply", func(int) {
				c.send("PATCH", kind.path+"/applied?fieldManager=bench", of(kind.object, "applied"), 200, "Content-Type", apply)
			})
			c.send("PATCH", kind.path+"/applied?fieldManager=bench", same, 200, "Content-Type", apply)
			measure("apply-same", func(int) {
				c.send("PATCH", kind.path+"/applied?fieldManager=bench", same, 200, "Content-Type", apply)
			})
			measure("get", func(int) { c.send("GET", one, nil, 200) })
			measure("list", func(int) { c.send("GET", kind.path, nil, 200) })
			measure("list-new", func(int) { // an object of a thousand has changed
				c.send("PATCH", one, of(`{"metadata":{"annotations":{"note":"VALUE"}}}`, ""), 200, "Content-Type", merge)
				c.send("GET", kind.path, nil, 200)
			})
			lines := c.follow(kind.path + "?watch=true&resourceVersion=" + at(c.do("GET", kind.path+"?limit=1", nil, 200), "metadata", "resourceVersion").(string))
			measure("watch", func(int) { // a change and its event
				c.send("PATCH", one, of(`{"metadata":{"annotations":{"note":"VALUE"}}}`, ""), 200, "Content-Type", merge)
				<-lines
			})
		})
	}
}

package crd_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gadget is a definition with the given schema of spec.
func gadget(spec string) string {
	return `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.a.test}
spec:
  group: a.test
  scope: Cluster
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: ` + spec + `}}}
`
}

const gadgets = "/apis/a.test/v1/gadgets"

func TestRulesThatCostTooMuch(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		unbounded := gadget(`{type: object, properties: {all: {type: array, items: {type: array, items: {type: string}}}},
			x-kubernetes-validations: [{rule: "self.all.all(a, a.all(b, self.all.all(c, c.all(d, b != d))))"}]}`)
		bad := c.do("POST", definitions, unbounded, 422)
		require.Contains(t, at(bad, "details", "causes", 0, "field"), "x-kubernetes-validations[0].rule")
		require.Contains(t, at(bad, "message"), "cost")
		bounded := strings.NewReplacer("type: array, items: {type: array, items: {type: string}}",
			"type: array, maxItems: 5, items: {type: array, maxItems: 5, items: {type: string, maxLength: 5}}").Replace(unbounded)
		c.do("POST", definitions, bounded, 201)
	})
}

// Custom resources may have finalizers without a domain, unlike built-in kinds, with a warning.
func TestFinalizersWithoutADomain(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, gadget(`{type: object, properties: {num: {type: integer}}}`), 201)
		c.conditions("gadgets.a.test", ready)
		made := c.do("POST", gadgets, "{apiVersion: a.test/v1, kind: Gadget, metadata: {name: g, finalizers: [mine]}}", 201)
		require.Equal(t, []any{"mine"}, at(made, "metadata", "finalizers"))
		bad := c.do("POST", "/api/v1/namespaces/default/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [mine]}}", 422)
		require.Equal(t, "metadata.finalizers[0]", at(bad, "details", "causes", 0, "field"))
	})
}

func TestOptionalOldSelf(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, gadget(`{type: object, properties: {num: {type: integer}}, x-kubernetes-validations: [
			{rule: "!oldSelf.hasValue() || self.num >= oldSelf.value().num", optionalOldSelf: true, message: num falls, reason: FieldValueForbidden, fieldPath: .num},
			{rule: "oldSelf.hasValue() || self.num == 1", optionalOldSelf: true, message: begins with 1}]}`), 201)
		c.conditions("gadgets.a.test", ready)
		one := func(n string) string {
			return "{apiVersion: a.test/v1, kind: Gadget, metadata: {name: g}, spec: {num: " + n + "}}"
		}
		require.Contains(t, at(c.do("POST", gadgets, one("2"), 422), "message"), "begins with 1")
		c.do("POST", gadgets, one("1"), 201)
		merge := []string{"Content-Type", "application/merge-patch+json"}
		c.do("PATCH", gadgets+"/g", `{spec: {num: 3}}`, 200, merge...)
		bad := c.do("PATCH", gadgets+"/g", `{spec: {num: 2}}`, 422, merge...)
		require.Equal(t, tree{"field": "spec.num", "reason": "FieldValueForbidden", "message": "Forbidden: num falls"}, at(bad, "details", "causes", 0))
	})
}

func TestPruning(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, gadget(`{type: object, properties: {
			open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object, properties: {a: {type: string}}}}},
			either: {x-kubernetes-int-or-string: true},
			maybe: {type: string, nullable: true, default: x},
			part: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`), 201)
		c.conditions("gadgets.a.test", ready)
		made := c.do("POST", gadgets, `
apiVersion: a.test/v1
kind: Gadget
metadata: {name: g, unknown: 1}
surplus: 1
spec:
  surplus: 1
  open: {kept: 1, known: {a: b, dropped: 1}}
  either: 5
  maybe: null
  part: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}}
`, 201)
		require.Nil(t, made["surplus"])
		require.Equal(t, tree{"open": tree{"kept": int64(1), "known": tree{"a": "b"}}, "either": int64(5), "maybe": nil,
			"part": tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "x"}, "data": tree{"a": "b"}}}, made["spec"])
		c.do("PATCH", gadgets+"/g", `{spec: {either: "5%"}}`, 200, "Content-Type", "application/merge-patch+json")
		c.do("PATCH", gadgets+"/g", `{spec: {either: {}}}`, 422, "Content-Type", "application/merge-patch+json")
	})
}

func TestSelectableFieldsInListsAndWatches(t *testing.T) {
	inBubble(t, func(t *testing.T, c *client) {
		c.do("POST", definitions, widget, 201)
		c.conditions("widgets.a.test", ready)
		list := c.do("GET", widgets, nil, 200)
		c.do("POST", widgets, object("red", "{color: red}"), 201)
		c.do("POST", widgets, object("blue", "{color: blue}"), 201)
		c.do("POST", widgets, object("none", "{size: 1}"), 201)
		found := c.do("GET", widgets+"?fieldSelector=spec.color%3Dblue", nil, 200)
		require.Len(t, at(found, "items"), 1)
		c.do("GET", widgets+"?fieldSelector=spec.size%3D1", nil, 400)
		c.do("PATCH", widgets+"/none", `{spec: {color: blue}}`, 200, "Content-Type", "application/merge-patch+json")
		w := c.send("GET", widgets+"?watch=true&timeoutSeconds=1&fieldSelector=spec.color%3Dblue&resourceVersion="+at(list, "metadata", "resourceVersion").(string), nil, 200)
		var seen []string
		for _, line := range strings.Split(strings.TrimSpace(w.Body.String()), "\n") {
			kind, _, _ := strings.Cut(strings.TrimPrefix(line, `{"type":"`), `"`)
			_, name, _ := strings.Cut(line, `"name":"`)
			name, _, _ = strings.Cut(name, `"`)
			seen = append(seen, kind+" "+name)
		}
		require.Equal(t, []string{"ADDED blue", "ADDED none"}, seen)
	})
}

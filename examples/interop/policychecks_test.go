package interop

import (
	stdjson "encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/builtin/admissionpolicystatus"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// about is a rule of a policy.
func about(groups, versions, resources []string) admissionv1.NamedRuleWithOperations {
	return admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{Operations: []admissionv1.OperationType{"*"},
		Rule: admissionv1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources}}}
}

// typedExpressions are valid and invalid expressions about pods, deployments, widgets and the variables of a
// policy.
var typedExpressions = []string{
	`object.spec.replicas > 1`, `object.spec.replicas > '1'`, `object.spec.replcas > 1`, `object.nosuch`, `object.metadata.namespace == 'a'`, `object.metadata.labels['a'] == 'b'`, `object.metadata.labels.a == 'b'`,
	`object.metadata.labels['a'] == 1`, `'a' in object.metadata.labels`, `object.metadata.nosuch`, `has(object.spec.template)`, `has(object.spec.nosuch)`, `object.spec.template.spec.containers.all(c, c.image.startsWith('a'))`,
	`object.spec.template.spec.containers.all(c, c.img == 'a')`, `object.spec.containers.all(c, c.ports.exists(p, p.containerPort == 80 && p.nosuch))`, `object.spec.containers[0].resources.limits['cpu'] == '1'`,
	`object.spec.containers.all(c, has(c.resources.requests))`, `object.spec.strategy.rollingUpdate.maxSurge == 1`, `object.spec.strategy.rollingUpdate.maxSurge == '25%'`, `object.metadata.creationTimestamp < timestamp('2026-01-01T00:00:00Z')`, `object.metadata.creationTimestamp == 'x'`,
	`object.metadata.managedFields.all(f, f.fieldsV1.x == 1)`, `object.metadata.ownerReferences.all(o, o.uid != '' && o.controller)`, `object.spec == 1`, `object == oldObject`, `oldObject.spec.nosuch`, `object.spec.volumes.all(v, v.secret.items.all(i, i.mode == 420))`,
	`object.spec.size > 2`, `object.spec.size == 'x'`, `object.spec.anything.x == 1`, `object.spec.either == 1`, `object.spec.either.startsWith('x')`, `object.spec.namespace == 'x'`, `object.spec.bytes == b'x'`, `object.spec.when < duration('1h')`, `object.spec.names.all(n, n.nosuch)`, `object.spec.counts['a'] > 1`,
	`object.spec.whole.metadata.name == 'x'`, `object.spec.whole.metadata.labels`, `object.spec.__dash__`, `object.spec.with__dash__dash == 1`, `object.kind == 'x' && object.apiVersion == 1`, `object.status.size == 1`, `object.data['x'] == 'y'`, `object.binaryData['x'] == b'y'`,
	`request.operation == 'CREATE'`, `request.nosuch`, `request.userInfo.groups.exists(g, g == 'x')`, `request.userInfo.extra['x'][0] == 1`, `request.kind.kind == 'Pod'`, `request.kind == 1`, `request.uid == 'x'`, `request.options.x.y.z`, `request.dryRun == 'x'`, `request.object.x`,
	`namespaceObject.metadata.labels['x'] == 'y'`, `namespaceObject.metadata.nosuch`, `namespaceObject.status.conditions.all(c, c.type == 1)`, `namespaceObject.metadata.uid`, `namespaceObject.spec == 1`, `authorizer.group('').resource('pods').check('get').allowed()`, `authorizer.nosuch()`, `authorizer.path('x').check('get').nosuch`,
	`variables.replicas > 1`, `variables.replicas > '1'`, `variables.nosuch`, `variables.spec.nosuch`, `variables.names.all(n, n > 1)`, `variables.byName['x'] == 1`, `variables.broken.x`, `variables.later`, `variables.maybe == 1`, `variables.quantity.x`, `variables.specs[0].nosuch`, `variables.images.all(i, i.startsWith('x'))`, `variables == 1`,
	`params.data['x'] == 'y'`, `params.nosuch`, `params.spec.size == 'x'`, `params == null`, `nosuch`, `1 +`, `object.`, `true`, `'text'`, `object.spec.x.y.z == 1 &&
  object.spec.w == 2`, `object.spec.template.spec.nosuch == 'x' ? object.spec.other : object.spec.third`, `quantity(object.spec.replicas).isLessThan(quantity('1'))`, `object[0]`, `object['spec'].replicas`, `dyn(object).nosuch == 1`, `type(object) == string`, `string(object) == 'x'`, `size(object) == 1`, `object in [1]`, `object.?spec.?nosuch.orValue(1) == 1`, `object.?spec.orValue(1)`,
	`[object.spec, 1]`, `{'a': object}.a.nosuch`, `cel.bind(x, object.spec, x.nosuch)`, `object.spec.template == oldObject.spec.selector`, `object.metadata == namespaceObject.metadata`, `object.spec.schedule.nosuch`, `object.spec.versions.all(v, v.schema.openAPIV3Schema.properties['x'].properties['y'].z == 1)`,
}

const typedCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.typed.test"},
"spec":{"group":"typed.test","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"scope":"Namespaced",
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"size":{"type":"integer"},"anything":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
"either":{"x-kubernetes-int-or-string":true},"namespace":{"type":"string"},"bytes":{"type":"string","format":"byte"},"when":{"type":"string","format":"duration"},
"names":{"type":"array","items":{"type":"string"}},"counts":{"type":"object","additionalProperties":{"type":"number"}},"with-dash":{"type":"integer"},"1st":{"type":"string"},
"whole":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","properties":{"size":{"type":"integer"}}}}}}}]}}`

// The type checker reports the same problems of policies as upstream's, word for word, on the same server.
func TestPolicyChecksAsUpstream(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	define(t, c, typedCRD)
	ours := discovery.New(c.Conn(), discovery.Options{})
	eventually(t, "the document of the custom resource", func() bool {
		paths, err := ours.OpenAPIPaths(t.Context())
		require.NoError(t, err)
		return paths["apis/typed.test/v1"] != ""
	})
	d := memory.NewMemCacheClient(clientset(t, clientGo(c, jsonType)).Discovery())
	upstream := &validating.TypeChecker{SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: d}, RestMapper: restmapper.NewDeferredDiscoveryRESTMapper(d)}
	checker := admissionpolicystatus.NewChecker(ours, nil)

	rules := map[string][]admissionv1.NamedRuleWithOperations{
		"workloads": {about([]string{"apps", ""}, []string{"v1"}, []string{"deployments", "pods", "pods/status", "*"}), about([]string{"typed.test"}, []string{"v1"}, []string{"widgets"})},
		"one":       {about([]string{"apps"}, []string{"v1"}, []string{"deployment"})}, "custom": {about([]string{"typed.test"}, []string{"v1", "v9"}, []string{"widgets", "gadgets"})},
		"wildcards": {about([]string{"*"}, []string{"v1"}, []string{"deployments"}), about([]string{"apps"}, []string{"*"}, []string{"deployments"}), about([]string{"batch"}, []string{"v1"}, []string{"cronjobs"})},
		"any group": {about([]string{""}, []string{"v1"}, []string{"Deployments", "events", "configmaps"})}, "definitions": {about([]string{"apiextensions.k8s.io"}, []string{"v1"}, []string{"customresourcedefinitions"})},
		"many": {about([]string{"", "apps", "batch"}, []string{"v1"}, []string{"configmaps", "cronjobs", "daemonsets", "deployments", "endpoints", "events", "jobs", "nodes", "persistentvolumes", "pods", "replicasets", "secrets", "services", "statefulsets"})}, "nothing": nil,
	}
	paramKinds := map[string]*admissionv1.ParamKind{"none": nil, "config map": {APIVersion: "v1", Kind: "ConfigMap"}, "widget": {APIVersion: "typed.test/v1", Kind: "Widget"}, "unknown": {APIVersion: "no.test/v1", Kind: "Gadget"}, "wrong": {APIVersion: "a/b/c", Kind: "Gadget"}, "same": {APIVersion: "apps/v1", Kind: "Deployment"}}
	variables := []admissionv1.Variable{{Name: "replicas", Expression: "object.spec.replicas"}, {Name: "spec", Expression: "object.spec"}, {Name: "names", Expression: "['a', 'b']"}, {Name: "byName", Expression: "{'a': 'b'}"}, {Name: "broken", Expression: "object.spec.nosuch"},
		{Name: "maybe", Expression: "object.?spec"}, {Name: "quantity", Expression: "quantity('1')"}, {Name: "specs", Expression: "[object.spec]"}, {Name: "images", Expression: "object.spec.template.spec.containers.map(c, c.image)"}, {Name: "twice", Expression: "variables.replicas + variables.replicas"}, {Name: "early", Expression: "variables.later"}, {Name: "later", Expression: "1"}}
	named, typeName := regexp.MustCompile(`\b(Deployment|Pod|Widget|CronJob|ConfigMap|Event|CustomResourceDefinition|[A-Z][A-Za-z]+)\d{2,}`), regexp.MustCompile(`#[a-z0-9./-]+\.([A-Z])`)
	found := 0
	for what, list := range rules {
		for param, kind := range paramKinds {
			if what != "workloads" && param != "none" {
				continue
			}
			p := &admissionv1.ValidatingAdmissionPolicy{}
			p.Spec.ParamKind, p.Spec.Variables, p.Spec.MatchConstraints = kind, variables, &admissionv1.MatchResources{ResourceRules: list}
			for i, e := range typedExpressions {
				v := admissionv1.Validation{Expression: e}
				if i%3 == 0 {
					v.MessageExpression = typedExpressions[(i+7)%len(typedExpressions)]
				}
				p.Spec.Validations = append(p.Spec.Validations, v)
			}
			data, err := stdjson.Marshal(p)
			require.NoError(t, err)
			mine := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			require.NoError(t, codec.Unmarshal(data, mine))

			got, err := checker.Check(t.Context(), mine)
			require.NoError(t, err)
			want := upstream.Check(p)
			texts := map[string]string{}
			for _, w := range want {
				texts[w.FieldRef] = named.ReplaceAllString(w.Warning, "$1")
			}
			for _, w := range got {
				require.Equal(t, texts[w.FieldRef], typeName.ReplaceAllString(w.Warning, "$1"), "%s, %s: %s", what, param, w.FieldRef)
				delete(texts, w.FieldRef)
			}
			require.Empty(t, texts, "%s, %s", what, param)
			found += len(got)
		}
	}
	require.Greater(t, found, 500, "there is much to find")
}

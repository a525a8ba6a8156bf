package controlplane_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// post creates the objects of a YAML document.
func (p *plane) post(path, yaml string) {
	p.t.Helper()
	_, err := p.admin().Do(p.t.Context(), &client.Request{Method: http.MethodPost, Path: path, ContentType: "application/yaml", Body: []byte(yaml)})
	require.NoError(p.t, err, yaml)
}

const admissionAPI = "/apis/admissionregistration.k8s.io/v1/"

func (p *plane) policy(kind, name, spec, bindingSpec string) {
	p.t.Helper()
	head := "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind
	plural := strings.ToLower(kind[:len(kind)-1]) + "ies"
	p.post(admissionAPI+plural, head+"\nmetadata: {name: "+name+"}\nspec:\n"+spec)
	if bindingSpec != "" {
		p.post(admissionAPI+strings.ToLower(kind)+"bindings", head+"Binding\nmetadata: {name: "+name+"-b}\nspec:\n  policyName: "+name+"\n"+bindingSpec)
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: meta("default", name)}
	d.Spec.Replicas = &replicas
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	d.Spec.Template.Labels = map[string]string{"app": name}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: "x"}}
	return d
}

const onDeployments = `
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
`

func TestValidatingPolicy(t *testing.T) {
	p := start(t)
	p.policy("ValidatingAdmissionPolicy", "limit", onDeployments+`
  validations: [{expression: "object.spec.replicas <= 5"}]
`, "  validationActions: [Deny]\n")
	create(t, p.admin(), deployment("small", 5))
	err := tryCreate(t, p.admin(), deployment("big", 6))
	require.EqualError(t, err, `deployments.apps "big" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed expression: object.spec.replicas <= 5`)
	require.Equal(t, 422, apierrors.CodeOf(err))
	require.Equal(t, metav1.StatusReasonInvalid, apierrors.ReasonOf(err))
	status, _ := apierrors.StatusOf(err)
	require.Equal(t, []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed expression: object.spec.replicas <= 5"}}, status.Details.Causes)
}

// TestPolicyParts uses parameters, variables, messages, the namespace and the authorizer.
func TestPolicyParts(t *testing.T) {
	p := start(t)
	create(t, p.admin(), &corev1.ConfigMap{ObjectMeta: meta("default", "limits"), Data: map[string]string{"max": "3"}})
	p.policy("ValidatingAdmissionPolicy", "limit", onDeployments+`
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConditions: [{name: notfree, expression: "!object.metadata.name.startsWith('free')"}]
  variables:
  - {name: max, expression: "int(params.data.max)"}
  - {name: over, expression: "object.spec.replicas - variables.max"}
  validations:
  - expression: "variables.over <= 0"
    messageExpression: "'in ' + namespaceObject.metadata.name + ' by ' + string(variables.over) + ' too many for ' + request.userInfo.username"
    reason: Forbidden
  - expression: "authorizer.group('apps').resource('deployments').namespace('default').check('delete').allowed()"
    message: only for those who may clean up
`, `  validationActions: [Deny]
  paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}
`)
	create(t, p.admin(), deployment("three", 3))
	create(t, p.admin(), deployment("free", 30))
	err := tryCreate(t, p.admin(), deployment("five", 5))
	require.EqualError(t, err, `deployments.apps "five" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: in default by 2 too many for admin`)
	require.True(t, apierrors.IsForbidden(err))

	require.NoError(t, client.For[*corev1.ConfigMap](p.admin()).Delete(t.Context(), key("default", "limits")))
	err = tryCreate(t, p.admin(), deployment("five", 5))
	require.ErrorContains(t, err, "ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
}

func TestPolicyFailurePolicyAndWarnings(t *testing.T) {
	p := start(t)
	p.policy("ValidatingAdmissionPolicy", "broken", onDeployments+`
  validations: [{expression: "object.spec.nothing == 1"}]
`, "  validationActions: [Deny]\n  matchResources: {objectSelector: {matchLabels: {strict: 'yes'}}}\n")
	p.policy("ValidatingAdmissionPolicy", "lenient", "  failurePolicy: Ignore\n"+onDeployments+`
  validations: [{expression: "object.spec.nothing == 1"}]
`, "  validationActions: [Deny]\n")
	p.policy("ValidatingAdmissionPolicy", "nag", onDeployments+`
  validations: [{expression: "false", message: think twice}]
  auditAnnotations: [{key: replicas, valueExpression: "string(object.spec.replicas)"}]
`, "  validationActions: [Warn, Audit]\n")
	p.policy("ValidatingAdmissionPolicy", "noted", onDeployments+`
  auditAnnotations: [{key: nothing, valueExpression: "string(object.spec.nothing)"}]
`, "  validationActions: [Audit]\n  matchResources: {objectSelector: {matchLabels: {noted: 'yes'}}}\n")
	p.policy("ValidatingAdmissionPolicy", "unbound", onDeployments+`
  validations: [{expression: "false"}]
`, "")
	d := deployment("strict", 1)
	d.Labels = map[string]string{"strict": "yes"}
	err := tryCreate(t, p.admin(), d)
	require.EqualError(t, err, `deployments.apps "strict" is forbidden: ValidatingAdmissionPolicy 'broken' with binding 'broken-b' denied request: expression 'object.spec.nothing == 1' resulted in error: no such key: nothing`)

	d = deployment("noted", 1)
	d.Labels = map[string]string{"noted": "yes"}
	err = tryCreate(t, p.admin(), d)
	require.ErrorContains(t, err, `'noted' with binding 'noted-b' denied request: error evaluating audit annotation "nothing": `, "whatever the binding's actions")

	p.policy("ValidatingAdmissionPolicy", "numbered", "  failurePolicy: Ignore\n"+onDeployments+`
  auditAnnotations: [{key: replicas, valueExpression: "object.spec.replicas"}]
`, "  validationActions: [Audit]\n  matchResources: {objectSelector: {matchLabels: {numbered: 'yes'}}}\n")
	d = deployment("numbered", 1)
	d.Labels = map[string]string{"numbered": "yes"}
	err = tryCreate(t, p.admin(), d)
	require.ErrorContains(t, err, `'numbered' with binding 'numbered-b' denied request: valueExpression 'object.spec.replicas' resulted in unsupported return type: int. Return type must be either string or null.`,
		"whatever the failure policy")

	resp, err := p.admin().Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/apis/apps/v1/namespaces/default/deployments", ContentType: "application/yaml", Body: []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: warned}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}
`)})
	require.NoError(t, err)
	require.Equal(t, []string{"Validation failed for ValidatingAdmissionPolicy 'nag' with binding 'nag-b': think twice"}, resp.Warnings)
}

func TestMutatingPolicy(t *testing.T) {
	p := start(t)
	p.policy("MutatingAdmissionPolicy", "label", onDeployments+`
  reinvocationPolicy: Never
  variables: [{name: team, expression: "object.metadata.?labels.team.orValue('none')"}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{labels: {"seen": variables.team}},
               spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "extra", image: "y"}]}}}}
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "test", path: "/metadata/labels/seen", value: "none"},
         JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]
`, "")
	p.post(admissionAPI+"mutatingadmissionpolicybindings", `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: label-b}
spec: {policyName: label}
`)
	made := create(t, p.admin(), deployment("d", 1))
	require.Equal(t, map[string]string{"seen": "none", "a/b": "c"}, made.Labels)
	var names []string
	for _, c := range made.Spec.Template.Spec.Containers {
		names = append(names, c.Name)
	}
	require.ElementsMatch(t, []string{"c", "extra"}, names)

	d := deployment("other", 1)
	d.Labels = map[string]string{"team": "x"}
	err := tryCreate(t, p.admin(), d)
	require.Equal(t, 422, apierrors.CodeOf(err))
	require.ErrorContains(t, err, "policy 'label' with binding 'label-b' denied request: JSON Patch:")
}

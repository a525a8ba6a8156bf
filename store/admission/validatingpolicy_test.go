package admission_test

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
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

const admissionAPI = "/apis/admissionregistration.k8s.io/v1/"

func createPolicy(t testing.TB, p *planetest.Plane, kind, name, spec, bindingSpec string) {
	t.Helper()
	head := "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind
	plural := strings.ToLower(kind[:len(kind)-1]) + "ies"
	p.Post(admissionAPI+plural, head+"\nmetadata: {name: "+name+"}\nspec:\n"+spec)
	if bindingSpec != "" {
		p.Post(admissionAPI+strings.ToLower(kind)+"bindings", head+"Binding\nmetadata: {name: "+name+"-b}\nspec:\n  policyName: "+name+"\n"+bindingSpec)
	}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: planetest.Meta("default", name)}
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
	p := planetest.Start(t)
	createPolicy(t, p, "ValidatingAdmissionPolicy", "limit", onDeployments+`
  validations: [{expression: "object.spec.replicas <= 5"}]
`, "  validationActions: [Deny]\n")
	planetest.Create(t, p.Admin(), deployment("small", 5))
	err := planetest.TryCreate(t, p.Admin(), deployment("big", 6))
	require.EqualError(t, err, `deployments.apps "big" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed expression: object.spec.replicas <= 5`)
	require.Equal(t, 422, apierrors.CodeOf(err))
	require.Equal(t, metav1.StatusReasonInvalid, apierrors.ReasonOf(err))
	status, _ := apierrors.StatusOf(err)
	require.Equal(t, []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed expression: object.spec.replicas <= 5"}}, status.Details.Causes)
}

// TestPolicyParts uses parameters, variables, messages, the namespace and the authorizer.
func TestPolicyParts(t *testing.T) {
	p := planetest.Start(t)
	planetest.Create(t, p.Admin(), &corev1.ConfigMap{ObjectMeta: planetest.Meta("default", "limits"), Data: map[string]string{"max": "3"}})
	createPolicy(t, p, "ValidatingAdmissionPolicy", "limit", onDeployments+`
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
	planetest.Create(t, p.Admin(), deployment("three", 3))
	planetest.Create(t, p.Admin(), deployment("free", 30))
	err := planetest.TryCreate(t, p.Admin(), deployment("five", 5))
	require.EqualError(t, err, `deployments.apps "five" is forbidden: ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: in default by 2 too many for admin`)
	require.True(t, apierrors.IsForbidden(err))

	require.NoError(t, client.For[*corev1.ConfigMap](p.Admin()).Delete(t.Context(), planetest.Key("default", "limits")))
	err = planetest.TryCreate(t, p.Admin(), deployment("five", 5))
	require.ErrorContains(t, err, "ValidatingAdmissionPolicy 'limit' with binding 'limit-b' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
}

func TestPolicyFailurePolicyAndWarnings(t *testing.T) {
	p := planetest.Start(t)
	createPolicy(t, p, "ValidatingAdmissionPolicy", "broken", onDeployments+`
  validations: [{expression: "object.spec.nothing == 1"}]
`, "  validationActions: [Deny]\n  matchResources: {objectSelector: {matchLabels: {strict: 'yes'}}}\n")
	createPolicy(t, p, "ValidatingAdmissionPolicy", "lenient", "  failurePolicy: Ignore\n"+onDeployments+`
  validations: [{expression: "object.spec.nothing == 1"}]
`, "  validationActions: [Deny]\n")
	createPolicy(t, p, "ValidatingAdmissionPolicy", "nag", onDeployments+`
  validations: [{expression: "false", message: think twice}]
  auditAnnotations: [{key: replicas, valueExpression: "string(object.spec.replicas)"}]
`, "  validationActions: [Warn, Audit]\n")
	createPolicy(t, p, "ValidatingAdmissionPolicy", "noted", onDeployments+`
  auditAnnotations: [{key: nothing, valueExpression: "string(object.spec.nothing)"}]
`, "  validationActions: [Audit]\n  matchResources: {objectSelector: {matchLabels: {noted: 'yes'}}}\n")
	createPolicy(t, p, "ValidatingAdmissionPolicy", "unbound", onDeployments+`
  validations: [{expression: "false"}]
`, "")
	d := deployment("strict", 1)
	d.Labels = map[string]string{"strict": "yes"}
	err := planetest.TryCreate(t, p.Admin(), d)
	require.EqualError(t, err, `deployments.apps "strict" is forbidden: ValidatingAdmissionPolicy 'broken' with binding 'broken-b' denied request: expression 'object.spec.nothing == 1' resulted in error: no such key: nothing`)

	d = deployment("noted", 1)
	d.Labels = map[string]string{"noted": "yes"}
	err = planetest.TryCreate(t, p.Admin(), d)
	require.ErrorContains(t, err, `'noted' with binding 'noted-b' denied request: error evaluating audit annotation "nothing": `, "whatever the binding's actions")

	createPolicy(t, p, "ValidatingAdmissionPolicy", "numbered", "  failurePolicy: Ignore\n"+onDeployments+`
  auditAnnotations: [{key: replicas, valueExpression: "object.spec.replicas"}]
`, "  validationActions: [Audit]\n  matchResources: {objectSelector: {matchLabels: {numbered: 'yes'}}}\n")
	d = deployment("numbered", 1)
	d.Labels = map[string]string{"numbered": "yes"}
	err = planetest.TryCreate(t, p.Admin(), d)
	require.ErrorContains(t, err, `'numbered' with binding 'numbered-b' denied request: valueExpression 'object.spec.replicas' resulted in unsupported return type: int. Return type must be either string or null.`,
		"whatever the failure policy")

	resp, err := p.Admin().Do(t.Context(), &client.Request{Method: http.MethodPost, Path: "/apis/apps/v1/namespaces/default/deployments", ContentType: "application/yaml", Body: []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: warned}
spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: x}]}}}
`)})
	require.NoError(t, err)
	require.Equal(t, []string{"Validation failed for ValidatingAdmissionPolicy 'nag' with binding 'nag-b': think twice"}, resp.Warnings)
}

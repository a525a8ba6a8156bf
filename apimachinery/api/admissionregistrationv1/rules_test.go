package admissionregistrationv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"review versions", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{"name":"a.b.c","sideEffects":"None","clientConfig":{"url":"https://x.y"},"admissionReviewVersions":["a/b","a/b"]}]}`,
			[]string{"webhooks[0].admissionReviewVersions FieldValueInvalid", "webhooks[0].admissionReviewVersions[0] FieldValueInvalid", "webhooks[0].admissionReviewVersions[1] FieldValueInvalid"}},
		{"a reference by name and selector", `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingAdmissionPolicyBinding","metadata":{"name":"b"},"spec":{"policyName":"p","paramRef":{"name":"a/b","selector":{},"parameterNotFoundAction":"Deny"},"matchResources":{"resourceRules":[{"operations":["DELETE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}}}`,
			[]string{"spec.matchResources.resourceRules.operations FieldValueNotSupported", "spec.paramRef.name FieldValueForbidden", "spec.paramRef.name FieldValueInvalid", "spec.paramRef.selector FieldValueForbidden"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}

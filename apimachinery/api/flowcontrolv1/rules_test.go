package flowcontrolv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["get","deletecollection","proxy"]`, ""},
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["get","foo"]`, "spec.rules[0].resourceRules[0].verbs NotSupported"},
		{"flowschema", "spec.rules.0.resourceRules.0.verbs", `["*","foo"]`, "spec.rules[0].resourceRules[0].verbs Invalid"},
		{"flowschema", "spec.rules.0.nonResourceRules", `[{"verbs":["head"],"nonResourceURLs":["*"]}]`, "spec.rules[0].nonResourceRules[0].verbs NotSupported"},
	})
}

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"a level is exempt by name", `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"p"},"spec":{"type":"Exempt"}}`,
			[]string{"spec.type FieldValueInvalid"}},
		{"a level's types", `{"apiVersion":"flowcontrol.apiserver.k8s.io/v1","kind":"PriorityLevelConfiguration","metadata":{"name":"p"},"spec":{"type":"Limited","limited":{}}}`,
			[]string{"spec.limited.limitResponse.type FieldValueRequired"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}

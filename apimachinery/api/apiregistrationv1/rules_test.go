package apiregistrationv1_test

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
		{"an API service without group", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v2."},"spec":{"version":"v2","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"spec.group FieldValueRequired"}},
		{"an API service's generated name", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.","generateName":"v1"},"spec":{"version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}

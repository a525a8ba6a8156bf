package rbacv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"rolebinding", "roleRef.apiGroup", `"x"`, "roleRef.apiGroup NotSupported"},
		{"role", "metadata.name", `"system:a:b"`, ""},
	})
}

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	for _, f := range []struct {
		name, body string
		want       []string
	}{
		{"selectors of an aggregation", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"r","generateName":"."},"aggregationRule":{"clusterRoleSelectors":[{},{"matchLabels":{"a b":""}}]}}`,
			[]string{"aggregationRule.clusterRoleSelectors[1] FieldValueInvalid", "aggregationRule.clusterRoleSelectors[1].matchLabels FieldValueInvalid", "metadata.generateName FieldValueInvalid"}},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}

package api_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// finding is an object of a kind beside the workloads, and all that a server reports of it.
type finding struct {
	name, body string
	want       []string
}

// TestFindings checks that objects are refused for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	s := serverScheme(t)
	const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","resourceAttributes":`
	for _, f := range []finding{
		{"a review's metadata is empty", `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{"name":"x"},"spec":{"user":"u","nonResourceAttributes":{"path":"/"}}}`,
			[]string{"metadata FieldValueInvalid"}},
		{"a review's owners do not count", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{"labels":{},"managedFields":[{}]},"spec":{"nonResourceAttributes":{"path":"/"}}}`, nil},
		{"a local review has both questions", `{"apiVersion":"authorization.k8s.io/v1","kind":"LocalSubjectAccessReview","metadata":{"namespace":"n"},"spec":{"user":"u","nonResourceAttributes":{},"resourceAttributes":{"namespace":"m"}}}`,
			[]string{"spec.nonResourceAttributes FieldValueInvalid", "spec.resourceAttributes.namespace FieldValueInvalid"}},
		{"label requirements", review + `{"labelSelector":{"rawSelector":"a","requirements":[{"key":"a b","operator":"In"},{"key":"a","operator":"Exists","values":["x"]},{"key":"a","operator":"NotIn","values":["x y"]}]}}}}`,
			[]string{"spec.resourceAttributes.labelSelector.rawSelector FieldValueInvalid", "spec.resourceAttributes.labelSelector.requirements[0].key FieldValueInvalid",
				"spec.resourceAttributes.labelSelector.requirements[0].values FieldValueRequired", "spec.resourceAttributes.labelSelector.requirements[1].values FieldValueForbidden",
				"spec.resourceAttributes.labelSelector.requirements[2].values[0] FieldValueInvalid"}},
		{"field requirements", review + `{"fieldSelector":{"requirements":[{"operator":"Later"},{"key":"a b","operator":"In"},{"key":"a","operator":"Exists","values":["x"]}]}}}}`,
			[]string{"spec.resourceAttributes.fieldSelector.requirements[0].key FieldValueRequired", "spec.resourceAttributes.fieldSelector.requirements[1].values FieldValueRequired",
				"spec.resourceAttributes.fieldSelector.requirements[2].values FieldValueForbidden"}},
		{"empty selectors", review + `{"fieldSelector":{},"labelSelector":{}}}}`,
			[]string{"spec.resourceAttributes.fieldSelector.requirements FieldValueRequired", "spec.resourceAttributes.labelSelector.requirements FieldValueRequired"}},
		{"an API service without group", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v2."},"spec":{"version":"v2","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"spec.group FieldValueRequired"}},
		{"an API service's generated name", `{"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService","metadata":{"name":"v1.","generateName":"v1"},"spec":{"version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
		{"a budget's name is any", `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"A_b","namespace":"n"}}`, nil},
		{"a CSI driver's name may be long", `{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}`, nil},
		{"an address is not generated", `{"apiVersion":"networking.k8s.io/v1","kind":"IPAddress","metadata":{"name":"10.0.0.1","generateName":"x"},"spec":{"parentRef":{"resource":"a","name":"b"}}}`,
			[]string{"metadata.generateName FieldValueInvalid"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			obj, info := prepared(t, s, []byte(f.body), "")
			got := foundSet(validateCreate(obj, info))
			slices.Sort(f.want)
			require.Equal(t, append([]string{}, f.want...), got)
		})
	}
}

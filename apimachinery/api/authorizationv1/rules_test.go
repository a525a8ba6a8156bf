package authorizationv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

// Objects are rejected for all that is wrong with them and nothing else.
func TestFindings(t *testing.T) {
	const review = `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","resourceAttributes":`
	for _, f := range []struct {
		name, body string
		want       []string
	}{
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
		{"operators of reviews may be new", review + `{"labelSelector":{"requirements":[{"key":"a","operator":"Gt"}]}}}}`, nil},
	} {
		t.Run(f.name, func(t *testing.T) { apitest.Findings(t, f.body, f.want) })
	}
}

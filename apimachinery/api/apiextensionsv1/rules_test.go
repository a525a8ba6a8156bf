package apiextensionsv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.metadata", `{"type":"object","properties":{"labels":{"type":"object"}}}`, "spec.validation.openAPIV3Schema.properties[metadata] Forbidden"},
		{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.l", `{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]}`,
			"spec.validation.openAPIV3Schema.properties[l].items.properties[k].default Required"},
		{"crd", "spec.versions.0.schema.openAPIV3Schema.anyOf", `[{"properties":{"nope":{"minimum":1}}}]`, "spec.validation.openAPIV3Schema.properties[nope] Required"},
		{"crd", "spec.versions.0.additionalPrinterColumns", `[{"name":"A","type":"x","jsonPath":".a"}]`, "spec.additionalPrinterColumns[0].type Invalid"},
		{"crd", "spec.conversion", `{"strategy":"None","webhook":{"conversionReviewVersions":["v1"]}}`, "spec.conversion.conversionReviewVersions Forbidden"},
	})
}

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"crd", "spec.versions.0.schema.openAPIV3Schema.properties.x", `{"type":"string"}`, ""}},
	})
}

package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/apiregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/store/internal/planetest"
)

// Every version has an APIService from the start, and those of custom resources come and go with their
// definitions.
func TestAPIServices(t *testing.T) {
	p := planetest.Start(t)
	services := client.For[*apiregistrationv1.APIService](p.Admin())
	list, err := services.List(t.Context(), client.ListOptions{})
	require.NoError(t, err)
	var names []string
	for _, s := range list.Items {
		names = append(names, s.Name)
	}
	require.Contains(t, names, "v1.")
	require.Contains(t, names, "v2.autoscaling")
	require.NotContains(t, names, "v1.apiregistration.k8s.io")
	apps, err := services.Get(t.Context(), planetest.Key("", "v1.apps"))
	require.NoError(t, err)
	require.EqualValues(t, 17800, apps.Spec.GroupPriorityMinimum)
	require.Equal(t, "Local", apps.Status.Conditions[0].Reason)

	boats := planetest.Create(t, p.Admin(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: planetest.Meta("", "boats.harbour.example.com"),
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "harbour.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "boats", Kind: "Boat"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
		}})
	custom := planetest.Key("", "v1.harbour.example.com")
	p.Eventually("an APIService of the custom version", func() bool {
		_, err := services.Get(t.Context(), custom)
		return err == nil
	})
	err = client.For[*apiextensionsv1.CustomResourceDefinition](p.Admin()).Delete(t.Context(), planetest.Key("", boats.Name))
	require.NoError(t, err)
	p.Eventually("no APIService of a version that is no longer served", func() bool {
		_, err := services.Get(t.Context(), custom)
		return apierrors.IsNotFound(err)
	})
}

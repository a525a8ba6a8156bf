package openapi_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

const sites = `
metadata: {name: sites.a.test}
spec:
  group: a.test
  scope: Namespaced
  names: {plural: sites, kind: Site}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}}
`

func definitionOf(t testing.TB, yaml string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	d := &apiextensionsv1.CustomResourceDefinition{}
	_, err := codec.UnmarshalYAML([]byte(yaml), d, codec.DecodeOptions{})
	require.NoError(t, err)
	apiextensionsv1.DefaultCustomResourceDefinition(d)
	return d
}

// What all versions say alike is reported once, on the spec, and what they say for themselves at each.
func TestCheckDefinition(t *testing.T) {
	require.Empty(t, openapi.CheckDefinition(definitionOf(t, sites)))

	d := definitionOf(t, sites)
	d.Spec.Versions = append(d.Spec.Versions, d.Spec.Versions[0])
	d.Spec.Versions[1].Name, d.Spec.Versions[1].Storage = "v2", false
	column := apiextensionsv1.CustomResourceColumnDefinition{Name: "a", Type: "word", JSONPath: ".a"}
	for i := range d.Spec.Versions {
		d.Spec.Versions[i].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{column}
	}
	require.Equal(t, []string{"spec.additionalPrinterColumns[0].type: Invalid"}, texts(openapi.CheckDefinition(d)))
	d.Spec.Versions[1].AdditionalPrinterColumns = nil
	d.Spec.Versions[1].Schema = nil
	require.Equal(t, []string{
		"spec.versions[1].schema.openAPIV3Schema: Required", "spec.versions[0].additionalPrinterColumns[0].type: Invalid",
	}, texts(openapi.CheckDefinition(d)))
}

func TestCheckDefinitionUpdate(t *testing.T) {
	old, d := definitionOf(t, sites), definitionOf(t, sites)
	old.Spec.Group, d.Spec.Group = "nodot", "nodot" // from before there were rules, and not made worse
	d.Labels = map[string]string{"a": "b"}
	require.Empty(t, openapi.CheckDefinitionUpdate(d, old))
	d.Spec.Scope = apiextensionsv1.ClusterScoped
	require.Equal(t, []string{"spec.group: Invalid"}, texts(openapi.CheckDefinitionUpdate(d, old)), "a change is checked")

	old, d = definitionOf(t, sites), definitionOf(t, sites)
	d.Spec.Scope, d.Spec.Names.Kind = apiextensionsv1.ClusterScoped, "Place"
	require.Empty(t, openapi.CheckDefinitionUpdate(d, old), "nothing is stored yet")
	old.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	require.Equal(t, []string{"spec.scope: Invalid", "spec.names.kind: Invalid"}, texts(openapi.CheckDefinitionUpdate(d, old)))
	d = definitionOf(t, sites)
	d.Status.StoredVersions = []string{"v0", "v1"}
	require.Equal(t, []string{"status.storedVersions[0]: Invalid"}, texts(openapi.CheckDefinitionUpdate(d, old)))
	require.Equal(t, []string{"status.storedVersions[0]: Invalid"}, texts(openapi.CheckDefinitionStatus(d)))
}

// A server's scheme gets the rules in the order in which the server adds them.
func TestRulesOfDefinitions(t *testing.T) {
	s := api.Scheme().Clone()
	require.NoError(t, api.AddRules(s))
	require.NoError(t, openapi.AddRules(s))
	info, err := scheme.InfoFor[*apiextensionsv1.CustomResourceDefinition](s)
	require.NoError(t, err)
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Spec.Names.Kind = "Site"
	info.Rules.Default(d)
	require.Equal(t, "SiteList", d.Spec.Names.ListKind)
	require.NotEmpty(t, info.Rules.Validate(d))
	require.NotEmpty(t, info.Rules.ValidateStatus(d, d))
	require.Empty(t, info.Rules.ValidateUpdate(definitionOf(t, sites), definitionOf(t, sites)))
}

func ExampleCheckDefinition() {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Name = "sites.example.com"
	d.Spec.Group, d.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	d.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "sites", Kind: "Site"}
	d.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}}
	apiextensionsv1.DefaultCustomResourceDefinition(d)
	fmt.Println(openapi.CheckDefinition(d))
	// Output: spec.versions[0].schema.openAPIV3Schema: Required value
}

package openapi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// A FerryV1 says how many a ferry carries; a FerryV2 of what.
type FerryV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Seats int32 `json:"seats" openapi:"minimum=1" column:"Seats"`
	} `json:"spec"`
}

type FerryV2 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Harbour string `json:"harbour,omitempty" selectable:"true"`
		Seats   int32  `json:"seats" openapi:"minimum=1" column:"Seats"`
		Cars    int32  `json:"cars,omitempty" column:"Cars,wide"`
	} `json:"spec"`
	Status struct {
		Seats int32 `json:"seats,omitempty"`
	} `json:"status,omitempty"`
}

var ferries = scheme.Kind{Name: "Ferry", Resource: "ferries", Namespaced: true}

func hook() *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: new("https://ferries.example.com/convert")},
	}}
}

func TestDeriveVersions(t *testing.T) {
	scale := &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: ".spec.seats", StatusReplicasPath: ".status.seats"}
	d, err := openapi.DeriveVersions("example.com", ferries, openapi.DefinitionOptions{Conversion: hook(), Annotations: map[string]string{"inject": "ca"}},
		openapi.VersionOf[*FerryV1]("v1", openapi.DeriveOptions{DeprecationWarning: "use v2"}),
		openapi.VersionOf[*FerryV2]("v2", openapi.DeriveOptions{Stored: true, Scale: scale}),
		openapi.VersionOf[*FerryV1]("v1alpha1", openapi.DeriveOptions{Unserved: true, Deprecated: true}),
	)
	require.NoError(t, err)
	require.Equal(t, "ferries.example.com", d.Name)
	require.Equal(t, "Ferry", d.Spec.Names.Kind)
	require.Equal(t, "ca", d.Annotations["inject"])
	require.Equal(t, hook(), d.Spec.Conversion)
	var seen []string
	for _, v := range d.Spec.Versions {
		warning := "-"
		if v.DeprecationWarning != nil {
			warning = *v.DeprecationWarning
		}
		subresources := "-"
		if v.Subresources != nil {
			subresources = fmt.Sprint(v.Subresources.Status != nil, v.Subresources.Scale != nil)
		}
		seen = append(seen, fmt.Sprint(v.Name, " ", v.Served, v.Storage, v.Deprecated, " ", warning, " ", subresources, " ", len(v.AdditionalPrinterColumns), len(v.SelectableFields)))
	}
	require.Equal(t, []string{"v1 true false true use v2 - 2 0", "v2 true true false - true true 3 1", "v1alpha1 false false true - - 2 0"}, seen)
	require.Contains(t, d.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "cars")
	require.NotContains(t, d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "cars")

	d, err = openapi.DeriveVersions("example.com", ferries, openapi.DefinitionOptions{}, openapi.VersionOf[*FerryV2]("v2", openapi.DeriveOptions{}), openapi.VersionOf[*FerryV1]("v1", openapi.DeriveOptions{}))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, []bool{d.Spec.Versions[0].Storage, d.Spec.Versions[1].Storage}, "the first is stored if none is said to be")
}

func TestDeriveVersionsRefusesWhatServersRefuse(t *testing.T) {
	v1, v2 := openapi.VersionOf[*FerryV1]("v1", openapi.DeriveOptions{}), openapi.VersionOf[*FerryV2]("v2", openapi.DeriveOptions{})
	stored := func(name string) openapi.Version {
		return openapi.VersionOf[*FerryV1](name, openapi.DeriveOptions{Stored: true})
	}
	bad := hook()
	bad.Webhook.ClientConfig.URL = nil
	for name, c := range map[string]struct {
		group    string
		kind     scheme.Kind
		o        openapi.DefinitionOptions
		versions []openapi.Version
		want     string // of the field, if it is a server's refusal
		text     string
	}{
		"no versions":     {"example.com", ferries, openapi.DefinitionOptions{}, nil, "", "needs a version"},
		"two kinds":       {"example.com", scheme.Kind{Resource: "ferries"}, openapi.DefinitionOptions{}, []openapi.Version{v1, v2}, "", "of kinds FerryV1 and FerryV2"},
		"twice the same":  {"example.com", ferries, openapi.DefinitionOptions{}, []openapi.Version{v1, v1}, "spec.versions", "unique version names"},
		"two stored":      {"example.com", ferries, openapi.DefinitionOptions{}, []openapi.Version{stored("v1"), stored("v2")}, "spec.versions", "exactly one version"},
		"a bad name":      {"example.com", ferries, openapi.DefinitionOptions{}, []openapi.Version{openapi.VersionOf[*FerryV1]("V1.0", openapi.DeriveOptions{}), v2}, "spec.versions[0].name", ""},
		"a bad group":     {"example", ferries, openapi.DefinitionOptions{}, []openapi.Version{v1}, "spec.group", "dot"},
		"a bad hook":      {"example.com", ferries, openapi.DefinitionOptions{Conversion: bad}, []openapi.Version{v1, v2}, "spec.conversion.webhookClientConfig", "exactly one of url or service"},
		"a bad scale":     {"example.com", ferries, openapi.DefinitionOptions{}, []openapi.Version{v1, openapi.VersionOf[*FerryV2]("v2", openapi.DeriveOptions{Scale: &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: "spec", StatusReplicasPath: ".status.n"}})}, "spec.versions[1].subresources.scale.specReplicasPath", ""},
		"a cyclic schema": {"example.com", scheme.Kind{Name: "Loop", Resource: "loops"}, openapi.DefinitionOptions{}, []openapi.Version{v1, openapi.VersionOf[*Loop]("v2", openapi.DeriveOptions{})}, "", "version v2: openapi_test.Loop: spec: next"},
	} {
		_, err := openapi.DeriveVersions(c.group, c.kind, c.o, c.versions...)
		require.ErrorContains(t, err, c.text, name)
		if c.want == "" {
			continue
		}
		field, ok := errors.AsType[*validation.Error](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, c.want, field.Field, name)
	}
}

// A ferry got a harbour and cars in v2, which is stored now; v1 is still served, with a warning.
func ExampleDeriveVersions() {
	kind := scheme.Kind{Name: "Ferry", Resource: "ferries", Namespaced: true, ShortNames: []string{"fy"}}
	d, err := openapi.DeriveVersions("example.com", kind, openapi.DefinitionOptions{},
		openapi.VersionOf[*FerryV1]("v1", openapi.DeriveOptions{DeprecationWarning: "example.com/v1 Ferry is deprecated; use v2"}),
		openapi.VersionOf[*FerryV2]("v2", openapi.DeriveOptions{Stored: true}),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range d.Spec.Versions {
		fmt.Println(d.Name, v.Name, "stored:", v.Storage, "deprecated:", v.Deprecated, "columns:", len(v.AdditionalPrinterColumns))
	}
	// Output:
	// ferries.example.com v1 stored: false deprecated: true columns: 2
	// ferries.example.com v2 stored: true deprecated: false columns: 3
}

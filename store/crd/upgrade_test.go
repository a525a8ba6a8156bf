package crd_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/memory"
)

// storedByKubernetes is a definition as kube-apiserver 1.36 stores it: what both versions have is beside
// them.
const storedByKubernetes = `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"things.example.com","uid":"u","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
	"spec":{"group":"example.com","version":"v1","names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"scope":"Namespaced",
		"validation":{"openAPIV3Schema":{"type":"object","properties":{"size":{"type":"integer","maximum":9007199254740993},"spec":{"type":"string"}}}},"subresources":{"status":{}},
		"versions":[{"name":"v1","served":true,"storage":true,"additionalPrinterColumns":[{"name":"Size","type":"integer","JSONPath":".size"}]},{"name":"v2","served":true,"storage":false}],
		"conversion":{"strategy":"Webhook","webhookClientConfig":{"url":"https://x"},"conversionReviewVersions":["v1"]},"preserveUnknownFields":false},
	"status":{"conditions":[{"type":"NamesAccepted","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"r","message":"m"},{"type":"Established","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"r","message":"m"}],
		"acceptedNames":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},"storedVersions":["v1"]}}`

func TestUpgrade(t *testing.T) {
	value, err := crd.Upgrade([]byte(storedByKubernetes))
	require.NoError(t, err)
	require.Contains(t, string(value), "9007199254740993")
	var d apiextensionsv1.CustomResourceDefinition
	require.NoError(t, codec.Unmarshal(value, &d))
	require.Equal(t, "apiextensions.k8s.io/v1", d.APIVersion)
	require.Len(t, d.Spec.Versions, 2)
	for _, v := range d.Spec.Versions {
		require.Equal(t, "string", v.Schema.OpenAPIV3Schema.Properties["spec"].Type, v.Name)
		require.NotNil(t, v.Subresources.Status, v.Name)
	}
	require.Equal(t, ".size", d.Spec.Versions[0].AdditionalPrinterColumns[0].JSONPath)
	require.Equal(t, "https://x", *d.Spec.Conversion.Webhook.ClientConfig.URL)
	require.Equal(t, []string{"v1"}, d.Spec.Conversion.Webhook.ConversionReviewVersions)

	again, err := crd.Upgrade(value)
	require.NoError(t, err)
	require.Equal(t, string(value), string(again), "v1 stays as it is")

	value, err = crd.Upgrade([]byte(`{"apiVersion":"apiextensions.k8s.io/v1beta1","spec":{"version":"v3","additionalPrinterColumns":[{"JSONPath":".a"}]}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"apiVersion":"apiextensions.k8s.io/v1","spec":{"preserveUnknownFields":true,"versions":[{"name":"v3","served":true,"storage":true,"additionalPrinterColumns":[{"jsonPath":".a"}]}]}}`, string(value))
	for _, bad := range []string{`{"apiVersion":"apiextensions.k8s.io/v1beta1"`, `{"apiVersion":"apiextensions.k8s.io/v1beta1","spec":{"versions":[1]}}`} {
		_, err = crd.Upgrade([]byte(bad))
		require.Error(t, err)
	}
}

// The schema of a definition that kube-apiserver has stored is in force, and survives a write of the
// definition.
func TestStoredByKubernetes(t *testing.T) {
	st := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	_, err := st.Create(t.Context(), "/apiextensions.k8s.io/customresourcedefinitions/things.example.com", []byte(storedByKubernetes), store.WriteOptions{})
	require.NoError(t, err)
	c := start(t, apiserver.Options{Store: st})
	const things, definition = "/apis/example.com/v1/namespaces/default/things", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
	thing := tree{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": tree{"name": "a"}, "spec": "kept", "other": "pruned"}
	c.eventually("the definition is served", func() bool { return c.try("GET", things, nil).Code == 200 })
	got := c.do("POST", things, thing, 201)
	require.Equal(t, "kept", got["spec"])
	require.NotContains(t, got, "other")
	c.do("PATCH", definition, tree{"metadata": tree{"labels": tree{"a": "b"}}}, 200, "Content-Type", "application/merge-patch+json")
	kv, _, err := st.Get(t.Context(), "/apiextensions.k8s.io/customresourcedefinitions/things.example.com")
	require.NoError(t, err)
	require.Contains(t, string(kv.Value), `"openAPIV3Schema"`)
	require.Contains(t, string(kv.Value), `"apiextensions.k8s.io/v1"`)
}

func FuzzUpgrade(f *testing.F) {
	f.Add([]byte(storedByKubernetes))
	f.Add([]byte(`{"apiVersion":"apiextensions.k8s.io/v1beta1","spec":{"version":{},"versions":[{"additionalPrinterColumns":[1]}],"conversion":[]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := crd.Upgrade(data)
		if err != nil {
			return
		}
		again, err := crd.Upgrade(value)
		require.NoError(t, err)
		require.Equal(t, string(value), string(again))
	})
}

package schema_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

func TestParseGroupVersion(t *testing.T) {
	for text, want := range map[string]schema.GroupVersion{
		"":           {},
		"/":          {},
		"v1":         {Version: "v1"},
		"apps/v1":    {Group: "apps", Version: "v1"},
		"/v1":        {Version: "v1"},
		"apps/":      {Group: "apps"},
		"a.b.c/v2a1": {Group: "a.b.c", Version: "v2a1"},
	} {
		got, err := schema.ParseGroupVersion(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := schema.ParseGroupVersion("a/b/c")
	require.ErrorIs(t, err, schema.ErrInvalidGroupVersion)
}

func TestAPIVersionAndKindGoBothWays(t *testing.T) {
	for _, gvk := range []schema.GroupVersionKind{
		{},
		{Version: "v1", Kind: "Pod"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		require.Equal(t, gvk, schema.FromAPIVersionAndKind(gvk.ToAPIVersionAndKind()))
	}
	require.Equal(t, schema.GroupVersionKind{Kind: "X"}, schema.FromAPIVersionAndKind("a/b/c", "X"))
	require.Equal(t, "v1", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}.APIVersion())
}

func TestParts(t *testing.T) {
	gvk := schema.GroupVersion{Group: "apps", Version: "v1"}.WithKind("Deployment")
	require.Equal(t, schema.GroupKind{Group: "apps", Kind: "Deployment"}, gvk.GroupKind())
	require.Equal(t, gvk, gvk.GroupKind().WithVersion("v1"))
	require.Equal(t, gvk, gvk.GroupVersion().WithKind("Deployment"))
	gvr := schema.GroupVersion{Group: "apps", Version: "v1"}.WithResource("deployments")
	require.Equal(t, gvr, gvr.GroupResource().WithVersion("v1"))
	require.Equal(t, gvr, gvr.GroupVersion().WithResource("deployments"))
	for _, empty := range []bool{
		schema.GroupVersion{}.Empty(), schema.GroupKind{}.Empty(), schema.GroupResource{}.Empty(),
		schema.GroupVersionKind{}.Empty(), schema.GroupVersionResource{}.Empty(),
	} {
		require.True(t, empty)
	}
	require.False(t, gvk.Empty())
}

func TestStrings(t *testing.T) {
	require.Equal(t, "Pod", schema.GroupKind{Kind: "Pod"}.String())
	require.Equal(t, "Deployment.apps", schema.GroupKind{Group: "apps", Kind: "Deployment"}.String())
	require.Equal(t, "pods", schema.GroupResource{Resource: "pods"}.String())
	require.Equal(t, "deployments.apps", schema.GroupResource{Group: "apps", Resource: "deployments"}.String())
	require.Equal(t, "/v1, Kind=Pod", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}.String())
	require.Equal(t, "apps/v1, Resource=deployments", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}.String())
}

func TestArguments(t *testing.T) {
	gvr, gr := schema.ParseResourceArg("deployments.v1.apps")
	require.Equal(t, &schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, gvr)
	require.Equal(t, schema.GroupResource{Group: "v1.apps", Resource: "deployments"}, gr)
	gvr, gr = schema.ParseResourceArg("pods")
	require.Nil(t, gvr)
	require.Equal(t, schema.GroupResource{Resource: "pods"}, gr)
	gvk, gk := schema.ParseKindArg("Ingress.v1.networking.k8s.io")
	require.Equal(t, "networking.k8s.io", gvk.Group)
	require.Equal(t, schema.GroupKind{Group: "v1.networking.k8s.io", Kind: "Ingress"}, gk)
}

func TestCompareVersionsIsATotalOrderByMaturity(t *testing.T) {
	best := []string{"v12", "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "", "bar", "foo1", "v", "v1x"}
	for i, a := range best {
		for j, b := range best {
			c := schema.CompareVersions(a, b)
			require.Equal(t, i < j, c > 0, "%q %q", a, b)
			require.Equal(t, i == j, c == 0, "%q %q", a, b)
		}
	}
	shuffled := slices.Clone(best)
	slices.Sort(shuffled)
	slices.SortFunc(shuffled, func(a, b string) int { return schema.CompareVersions(b, a) })
	require.Equal(t, best, shuffled)
}

func FuzzParseGroupVersion(f *testing.F) {
	f.Add("apps/v1")
	f.Add("v1")
	f.Fuzz(func(t *testing.T, s string) {
		gv, err := schema.ParseGroupVersion(s)
		if err != nil {
			return
		}
		again, err := schema.ParseGroupVersion(gv.String())
		if err != nil || again != gv {
			t.Fatalf("%q: %v then %v, %v", s, gv, again, err)
		}
	})
}

func ExampleParseGroupVersion() {
	gv, err := schema.ParseGroupVersion("apps/v1")
	fmt.Println(gv.WithKind("Deployment"), err)
	fmt.Println(gv.WithResource("deployments").GroupResource())
	// Output:
	// apps/v1, Kind=Deployment <nil>
	// deployments.apps
}

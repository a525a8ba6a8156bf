package interop

import (
	stdjson "encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// Our discovery finds on our server what client-go's finds there: the same preferred resources, with the same
// names and verbs.
func TestPreferredResourcesAgree(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	widgets := serveWidgets(t, c)
	type resource struct {
		kind, singular string
		namespaced     bool
		verbs, short   []string
	}
	theirs, ours := map[schema.GroupVersionResource]resource{}, map[schema.GroupVersionResource]resource{}
	// Either may query the server before the custom resource is published.
	eventually(t, "both find the custom resource", func() bool {
		lists, err := clientset(t, clientGo(c, jsonType)).Discovery().ServerPreferredResources()
		require.NoError(t, err)
		for _, l := range lists {
			gv, err := schema.ParseGroupVersion(l.GroupVersion)
			require.NoError(t, err)
			for _, r := range l.APIResources {
				theirs[gv.WithResource(r.Name)] = resource{r.Kind, r.SingularName, r.Namespaced, r.Verbs, r.ShortNames}
			}
		}
		cat, err := discovery.New(c.Conn(), discovery.Options{}).Catalog(t.Context())
		require.NoError(t, err)
		for _, r := range cat.Preferred() {
			ours[r.GVR] = resource{r.GVK.Kind, r.Singular, r.Namespaced, r.Verbs, r.ShortNames}
		}
		return theirs[widgets].kind == "Widget" && ours[widgets].kind == "Widget"
	})
	require.Greater(t, len(ours), 60)
	require.Equal(t, theirs, ours)
}

// The OpenAPI documents are listed and read, and the schema of a kind is found in them, a custom resource's
// too.
func TestSchemasOfKinds(t *testing.T) {
	c := controllertest.Start(t, controllertest.Options{})
	widgets := serveWidgets(t, c)
	d := discovery.New(c.Conn(), discovery.Options{})
	var paths map[string]string
	// Documents of custom resources are published a little after these are served.
	eventually(t, "the document of the custom resource", func() bool {
		var err error
		paths, err = d.OpenAPIPaths(t.Context())
		require.NoError(t, err)
		return paths["apis/a.test/v1"] != ""
	})
	require.Contains(t, paths, "api/v1")
	require.Contains(t, paths, "apis/apps/v1")
	for gvk, field := range map[schema.GroupVersionKind]string{
		widgets.GroupVersion().WithKind("Widget"):                    "spec",
		{Group: "apps", Version: "v1", Kind: "Deployment"}:           "spec",
		{Version: "v1", Kind: "ConfigMap"}:                           "binaryData",
		{Group: "batch", Version: "v1", Kind: "CronJob"}:             "status",
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}: "spec",
	} {
		raw, err := d.Schema(t.Context(), gvk)
		require.NoError(t, err, "%v", gvk)
		var s struct {
			Type       string
			Properties map[string]any
		}
		require.NoError(t, stdjson.Unmarshal(raw, &s))
		require.Equal(t, "object", s.Type, "%v", gvk)
		require.Contains(t, s.Properties, field, "%v", gvk)
	}
	_, err := d.Schema(t.Context(), widgets.GroupVersion().WithKind("Gadget"))
	require.Error(t, err)
	_, err = d.OpenAPI(t.Context(), schema.GroupVersion{Group: "no.test", Version: "v1"})
	require.Error(t, err)
}

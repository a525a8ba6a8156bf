package discovery

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
)

// server is a server with or without aggregated discovery.
type server struct {
	docs  map[string]string
	etag  string
	asked []string
	slow  time.Duration
}

func (*server) Scheme() *scheme.Scheme { return api.Scheme() }
func (*server) Stream(context.Context, *client.Request) (*client.Stream, error) {
	return nil, errors.ErrUnsupported
}

func (s *server) Do(_ context.Context, r *client.Request) (*client.Response, error) {
	s.asked = append(s.asked, r.Path)
	time.Sleep(s.slow)
	body, ok := s.docs[r.Path]
	if !ok {
		return nil, apierrors.NewServiceUnavailable("down")
	}
	if s.etag != "" && r.Header["If-None-Match"] == s.etag {
		return &client.Response{Code: 304}, nil
	}
	ct := "application/json"
	if s.etag != "" {
		ct += ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	}
	return &client.Response{Code: 200, ContentType: ct, Header: map[string]string{"Etag": s.etag}, Body: []byte(body)}, nil
}

func TestLegacy(t *testing.T) {
	s := &server{docs: map[string]string{
		"/api":  `{"versions":["v1"]}`,
		"/apis": `{"groups":[{"name":"apps","preferredVersion":{"version":"v1"},"versions":[{"version":"v1beta1"},{"version":"v1"}]},{"name":"gone.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}`,
		"/api/v1": `{"resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","shortNames":["po"],"categories":["all"],"verbs":["get","list"]},
			{"name":"pods/eviction","namespaced":true,"group":"policy","version":"v1","kind":"Eviction","verbs":["create"]}]}`,
		"/apis/apps/v1":      `{"resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","shortNames":["deploy"],"verbs":["get"]}]}`,
		"/apis/apps/v1beta1": `{"resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get"]}]}`,
	}}
	c := New(s, Options{})
	cat, err := c.Catalog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []schema.GroupVersion{{Group: "gone.io", Version: "v1"}}, cat.Stale)
	require.Equal(t, "policy", cat.Find("po")[0].Subresource("eviction").GVK.Group)
	for word, version := range map[string]string{"deploy": "v1", "Deployment": "v1", "deployments.apps": "v1", "deployments.v1beta1.apps": "v1beta1", "deployment.app": "v1"} {
		r := cat.Find(word)
		require.NotEmpty(t, r, word)
		require.Equal(t, schema.GroupVersionResource{Group: "apps", Version: version, Resource: "deployments"}, r[0].GVR, word)
	}
	require.Equal(t, "v1beta1", cat.ByKind(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v2", "v1beta1").GVR.Version)
	require.Len(t, cat.Preferred(), 2)
	require.Len(t, cat.Category("all"), 1)
	n := len(s.asked)
	_, err = c.Catalog(t.Context())
	require.NoError(t, err)
	require.Len(t, s.asked, n, "from memory")
	_, err = c.Find(t.Context(), "nothing")
	var no *NoMatchError
	require.ErrorAs(t, err, &no)
	require.Len(t, no.Stale, 1)
}

const aggregated = `{"items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","verbs":["get"]}]}]}]}`

func TestWarmStartCostsTwoEmptyAnswers(t *testing.T) {
	s := &server{etag: `"1"`, docs: map[string]string{"/api": `{"items":[]}`, "/apis": aggregated}}
	o := Options{CacheDir: t.TempDir(), CacheKey: "https://server"}
	_, err := New(s, o).Catalog(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"/api", "/apis"}, s.asked)
	s.docs = map[string]string{"/api": "would not be read", "/apis": "would not be read"}
	r, err := New(s, o).Find(t.Context(), "deployments")
	require.NoError(t, err)
	require.Equal(t, "Deployment", r.GVK.Kind)
	require.Equal(t, "v1", r.GVK.Version)
}

func TestOpenAPIV2(t *testing.T) {
	s := &server{docs: map[string]string{"/openapi/v2": `{"swagger":"2.0"}`}}
	c := New(s, Options{})
	doc, err := c.OpenAPIV2(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"swagger":"2.0"}`, string(doc))
	delete(s.docs, "/openapi/v2")
	_, err = c.OpenAPIV2(t.Context())
	require.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	require.ErrorContains(t, err, "discovery: openapi v2: ")
}

func TestANewKindIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{etag: `"1"`, slow: 10 * time.Millisecond, docs: map[string]string{"/api": `{"items":[]}`, "/apis": `{"items":[]}`}}
		c := New(s, Options{})
		gk := schema.GroupKind{Group: "apps", Kind: "Deployment"}
		_, err := c.ForKind(t.Context(), gk)
		require.True(t, IsNoMatch(err))
		s.etag, s.docs["/apis"] = `"2"`, aggregated
		time.Sleep(2 * time.Second)
		errs := make(chan error)
		n := len(s.asked)
		for range 10 {
			go func() { _, err := c.ForKind(t.Context(), gk); errs <- err }()
		}
		for range 10 {
			require.NoError(t, <-errs)
		}
		require.Len(t, s.asked, n+2, "asked once for all")
		_, err = c.ForResource(t.Context(), schema.GroupVersionResource{Group: "no", Version: "v1", Resource: "such"})
		require.True(t, IsNoMatch(err))
		_, err = c.ForResource(t.Context(), schema.GroupVersionResource{Group: "no", Version: "v1", Resource: "such"})
		require.True(t, IsNoMatch(err))
		require.Len(t, s.asked, n+2, "at most once a second")
	})
}

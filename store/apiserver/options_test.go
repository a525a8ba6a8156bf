package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/store/storetest"
)

// The options of a delete are its body, or else its query, in which uid and resourceVersion are
// preconditions.
func TestDeleteOptionsInTheQuery(t *testing.T) {
	s := start(t, apiserver.Options{})
	a := s.do("POST", configMaps, configMap("a")).ok(201)
	for query, code := range map[string]int{
		"resourceVersion=1":       409,
		"uid=another":             409,
		"gracePeriodSeconds=soon": 400,
		"gracePeriodSeconds=":     400,
		"propagationPolicy=Foo":   422,
		"dryRun=Some":             422,
		"dryRun=":                 422,
		"orphanDependents=true&propagationPolicy=Orphan": 422,
		"dryRun=All&dryRun=All":                          200,
		"dryRun=All&orphanDependents=whatever":           200,
		"dryRun=All&gracePeriodSeconds=-1":               200,
	} {
		require.Equal(t, code, s.do("DELETE", configMaps+"/a?"+query, nil).code, query)
		require.Equal(t, code, s.do("DELETE", configMaps+"?"+query, nil).code, "a collection: %s", query)
	}
	refused := s.do("DELETE", configMaps+"/a?propagationPolicy=Foo", nil).ok(422)
	require.Contains(t, refused.str("message"), `supported values: "Foreground", "Background", "Orphan", "nil"`)
	s.do("DELETE", configMaps+"/a?dryRun=All", `{"gracePeriodSeconds":0}`).ok(200)
	s.do("GET", configMaps+"/a", nil).ok(200)
	proto, err := codec.MarshalEnvelope("v1", "DeleteOptions", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("another"))}})
	require.NoError(t, err)
	s.do("DELETE", configMaps+"/a", proto, "Content-Type", "application/vnd.kubernetes.protobuf").ok(409)
	s.do("DELETE", configMaps+"/a", "dryRun: [All]", "Content-Type", "application/yaml").ok(200)
	s.do("DELETE", configMaps+"/a", "x", "Content-Type", "text/plain").ok(415)
	s.do("DELETE", fmt.Sprintf("%s/a?uid=%s&resourceVersion=%s", configMaps, a.str("metadata.uid"), a.str("metadata.resourceVersion")), nil).ok(200)
	s.do("GET", configMaps+"/a", nil).ok(404)
}

// With orphanDependents=false, the deprecated option for deleting dependents, the answer is 202: the object
// itself is not gone yet.
func TestOrphanDependents(t *testing.T) {
	s := start(t, apiserver.Options{})
	cm := configMap("a")
	cm["metadata"].(map[string]any)["finalizers"] = []string{"a.test/f"}
	s.do("POST", configMaps, cm).ok(201)
	s.do("DELETE", configMaps+"/a", `{"orphanDependents":false}`).ok(202)
	s.do("DELETE", configMaps+"/a", `{"propagationPolicy":"Background"}`).ok(200)
	s.do("POST", configMaps, configMap("b")).ok(201)
	waiting := s.do("DELETE", configMaps+"/b?orphanDependents=true", nil).ok(200)
	require.Equal(t, []any{"orphan"}, waiting.at("metadata.finalizers"))
}

// A collection is deleted object by object: a limit, a selector and a continue token restrict which, a dry
// run deletes none.
func TestDeleteCollection(t *testing.T) {
	s := start(t, apiserver.Options{})
	for i := range 5 {
		cm := configMap(fmt.Sprintf("c%d", i))
		cm["metadata"].(map[string]any)["labels"] = map[string]any{"odd": fmt.Sprint(i % 2)}
		s.do("POST", configMaps, cm).ok(201)
	}
	left := func() []string { return s.do("GET", configMaps, nil).ok(200).names() }
	require.Equal(t, []string{"c0", "c1"}, s.do("DELETE", configMaps+"?limit=2&dryRun=All", nil).ok(200).names())
	require.Len(t, s.do("DELETE", configMaps, `{"dryRun":["All"]}`).ok(200).items(), 5)
	require.Len(t, left(), 5)
	first := s.do("DELETE", configMaps+"?limit=1", nil).ok(200)
	require.Equal(t, []string{"c1", "c2", "c3", "c4"}, left())
	s.do("DELETE", configMaps+"?limit=1&continue="+first.str("metadata.continue"), nil).ok(200)
	require.Equal(t, []string{"c2", "c3", "c4"}, left())
	s.do("DELETE", configMaps+"?labelSelector=odd%3D1", nil).ok(200)
	require.Equal(t, []string{"c2", "c4"}, left())
	s.do("DELETE", configMaps+"?fieldSelector=metadata.name%3Dc4", nil).ok(200)
	require.Equal(t, []string{"c2"}, left())
	s.do("DELETE", configMaps+"?limit=1", `{"preconditions":{"uid":"another"}}`).ok(409)
	require.Equal(t, []string{"c2"}, left())
	p := pod("p")
	p["spec"].(map[string]any)["nodeName"] = "n"
	q := pod("q")
	q["spec"].(map[string]any)["nodeName"] = "n"
	q["spec"].(map[string]any)["terminationGracePeriodSeconds"] = 7
	s.do("POST", pods, p).ok(201)
	s.do("POST", pods, q).ok(201)
	s.do("DELETE", pods, nil).ok(200)
	require.EqualValues(t, 30, s.do("GET", pods+"/p", nil).ok(200).at("metadata.deletionGracePeriodSeconds"))
	require.EqualValues(t, 7, s.do("GET", pods+"/q", nil).ok(200).at("metadata.deletionGracePeriodSeconds"), "every object has its own")
}

// A client gets an encoding it accepts, or 406.
func TestAccept(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	const meta = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		accept       string
		object, list string // kinds; empty for 406
	}{
		{"", "ConfigMap", "ConfigMapList"},
		{"*", "ConfigMap", "ConfigMapList"},
		{"application/*", "", ""}, // upstream supports no range but */*
		{"text/html, */*", "ConfigMap", "ConfigMapList"},
		{"application/json;charset=utf-8", "ConfigMap", "ConfigMapList"},
		{"application/json;stream=watch", "ConfigMap", "ConfigMapList"},
		{"application/json;stream=other", "", ""},
		{"application/cbor", "", ""},
		{"text/html", "", ""},
		{"application/json;v=v1;g=meta.k8s.io", "", ""},
		{"application/json;as=Nonsense;v=v1;g=meta.k8s.io", "", ""},
		{"application/json;as=Table;v=v1;g=other", "", ""},
		{"application/json;as=Table;g=meta.k8s.io", "", ""},
		{"application/json;as=Table;v=v9;g=meta.k8s.io", "", ""},
		{"application/json;as=Table;v=v9;g=meta.k8s.io, application/json;as=Table;v=v1;g=meta.k8s.io", "Table", "Table"},
		{"application/json" + meta, "PartialObjectMetadata", ""},
		{"application/json" + meta + ",application/json", "PartialObjectMetadata", ""},
		{"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "", "PartialObjectMetadataList"},
		{"application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io", "", "PartialObjectMetadataList"},
	} {
		for path, want := range map[string]string{configMaps + "/a": c.object, configMaps: c.list} {
			got := s.do("GET", path, nil, "Accept", c.accept)
			if want == "" {
				require.Equal(t, "NotAcceptable", got.ok(406).str("reason"), "%s %s", path, c.accept)
				continue
			}
			require.Equal(t, want, got.ok(200).str("kind"), "%s %s", path, c.accept)
		}
	}
	for _, v := range []string{"v1", "v1beta1"} {
		list := s.do("GET", configMaps, nil, "Accept", "application/json;as=PartialObjectMetadataList;v="+v+";g=meta.k8s.io").ok(200)
		item := object(list.items()[0].(map[string]any))
		require.Equal(t, "PartialObjectMetadata meta.k8s.io/"+v, item.str("kind")+" "+item.str("apiVersion"), "items have kind and apiVersion")
		require.Equal(t, "a", item.str("metadata.name"))
		require.Nil(t, item["data"])
	}
	for path, accept := range map[string]string{"/openapi/v2": "text/html", "/openapi/v3": "application/yaml", "/openapi/v3/api/v1": "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"} {
		require.Equal(t, 406, s.do("GET", path, nil, "Accept", accept).code, path)
		got := s.do("GET", path, nil)
		require.Equal(t, 200, got.code)
		require.Equal(t, "Accept", got.header.Get("Vary"))
	}
	require.Equal(t, "MethodNotAllowed", s.do("POST", "/version", "{}").ok(405).str("reason"))
}

// TestOpenAPIInProtobuf: both versions of the documents are served in protobuf, under the valid media type
// and under the one that clients send; the list's URL of a document works for both.
func TestOpenAPIInProtobuf(t *testing.T) {
	s := start(t, apiserver.Options{})
	const form = "application/com.github.proto-openapi.spec.v%d%sv1.0+protobuf"
	for path, version := range map[string]int{"/openapi/v2": 2, "/openapi/v3/apis/apps/v1": 3} {
		want := fmt.Sprintf(form, version, ".")
		for _, accept := range []string{want, fmt.Sprintf(form, version, "@"), "text/html, " + want + ", application/json"} {
			got := s.do("GET", path, nil, "Accept", accept)
			require.Equal(t, 200, got.code)
			require.Equal(t, want, got.header.Get("Content-Type"), "%s %s", path, accept)
			require.NotEqual(t, byte('{'), got.body[0])
			require.Equal(t, 304, s.do("GET", path, nil, "Accept", accept, "If-None-Match", got.header.Get("Etag")).code)
		}
		require.Equal(t, "application/json", s.do("GET", path, nil, "Accept", "application/json, "+want).header.Get("Content-Type"))
		require.Equal(t, 406, s.do("GET", path, nil, "Accept", fmt.Sprintf(form, 5-version, ".")).code, "the other version")
	}
	require.Equal(t, 406, s.do("GET", "/openapi/v3", nil, "Accept", fmt.Sprintf(form, 3, ".")).code, "the list is JSON only")
	list := s.do("GET", "/openapi/v3", nil).ok(200)
	address := list["paths"].(map[string]any)["apis/apps/v1"].(map[string]any)["serverRelativeURL"].(string)
	for _, accept := range []string{"application/json", fmt.Sprintf(form, 3, ".")} {
		require.Equal(t, "public, immutable", s.do("GET", address, nil, "Accept", accept).header.Get("Cache-Control"))
	}
}

// JSON is indented for curl.
func TestPretty(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	for _, c := range []struct {
		query, agent string
		want         bool
	}{{"", "kubectl/v1", false}, {"", "curl/8.5.0", true}, {"?pretty=true", "x", true}, {"?pretty=1", "x", true}, {"?pretty=false", "curl/8.5.0", false}} {
		for _, path := range []string{configMaps + "/a", configMaps, configMaps + "/none"} {
			got := s.do("GET", path+c.query, nil, "User-Agent", c.agent)
			require.Equal(t, c.want, strings.Contains(string(got.body), "\n  \"kind\": "), "%s%s %s", path, c.query, c.agent)
		}
	}
}

// The error for an unknown field selector has the text that upstream has for the kind.
func TestFieldsThatCannotBeSelected(t *testing.T) {
	s := start(t, apiserver.Options{})
	for path, want := range map[string]string{
		configMaps:                               `"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		pods:                                     `field label not supported: spec.x`,
		"/api/v1/nodes":                          `field label not supported: spec.x`,
		"/api/v1/namespaces":                     `field label not supported: spec.x`,
		"/apis/batch/v1/namespaces/default/jobs": `field label "spec.x" not supported for batchv1.Job`,
		"/apis/resource.k8s.io/v1/resourceslices":            `field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.x`,
		"/apis/events.k8s.io/v1/namespaces/default/events":   `field label not supported: spec.x`,
		"/apis/apps/v1/namespaces/default/deployments":       `"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		"/apis/rbac.authorization.k8s.io/v1/clusterroles":    `"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`,
		"/apis/apps/v1/namespaces/default/deployments?watch": `"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`,
	} {
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		require.Equal(t, want, s.do("GET", path+sep+"fieldSelector=spec.x%3Dy", nil).ok(400).str("message"), path)
	}
	require.Equal(t, "fieldSelector metadata.name doesn't match requested name",
		s.do("GET", "/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db", nil).ok(400).str("message"))
}

// stuck is a store whose keys below a prefix cannot be listed until released.
type stuck struct {
	store.Store
	prefix   string
	released chan struct{}
}

func (s *stuck) List(ctx context.Context, prefix string, o store.ListOptions) (store.ListResult, error) {
	if strings.HasPrefix(prefix, s.prefix) {
		select {
		case <-s.released:
		case <-ctx.Done():
			return store.ListResult{}, ctx.Err()
		}
	}
	return s.Store.List(ctx, prefix, o)
}

// While a watch cache is being filled lists and watches do not hang: they get an error that asks for a retry.
// Reads of single objects and writes need no cache.
func TestRequestsWhileACacheIsFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stuck{Store: memory.New(memory.Options{}), prefix: "/configmaps/", released: make(chan struct{})}
		s := start(t, apiserver.Options{Store: st})
		s.do("POST", configMaps, configMap("a")).ok(201)
		for _, path := range []string{configMaps, configMaps + "?limit=1", configMaps + "?resourceVersion=0", configMaps + "?watch=1", configMaps + "?watch=1&resourceVersion=1"} {
			begun := time.Now()
			got := s.do("GET", path, nil)
			require.Equal(t, "TooManyRequests", got.ok(http.StatusTooManyRequests).str("reason"), path)
			require.Equal(t, "1", got.header.Get("Retry-After"), path)
			require.Equal(t, 3*time.Second, time.Since(begun), path)
		}
		s.do("GET", configMaps+"/a", nil).ok(200)
		s.do("PUT", configMaps+"/a", configMap("a", "k", "v")).ok(200)
		close(st.released)
		require.Equal(t, []string{"a"}, s.do("GET", configMaps, nil).ok(200).names())
		s.stop()
	})
}

// listed counts the lists of a prefix.
type listed struct {
	store.Store
	prefix string
	n      atomic.Int32
}

func (l *listed) List(ctx context.Context, prefix string, o store.ListOptions) (store.ListResult, error) {
	if strings.HasPrefix(prefix, l.prefix) {
		l.n.Add(1)
	}
	return l.Store.List(ctx, prefix, o)
}

// Lists in pages or at a version show that one state whatever is written meanwhile, also of a resource that
// is never written; a store that reports progress is not read for them, an older etcd once for all pages.
func TestPagesOfOneState(t *testing.T) {
	for _, backend := range []string{"memory", "etcd"} {
		t.Run(backend, func(t *testing.T) {
			st := &listed{prefix: "/configmaps/"}
			if backend == "memory" {
				st.Store = memory.New(memory.Options{})
			} else {
				if testing.Short() {
					t.Skip("starts etcd")
				}
				st.Store = openEtcd(t, storetest.StartEtcd(t))
			}
			s := start(t, apiserver.Options{Store: st})
			for i := range 10 {
				s.do("POST", configMaps, configMap(fmt.Sprintf("c%d", i))).ok(201)
			}
			want := s.do("GET", configMaps, nil).ok(200).names()
			s.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"elsewhere"}}`).ok(201)
			at := s.do("GET", configMaps+"?limit=3", nil).ok(200)
			before := st.n.Load()
			got := at.names()
			for page := at; page.str("metadata.continue") != ""; {
				s.do("PATCH", "/api/v1/namespaces/elsewhere", fmt.Sprintf(`{"metadata":{"labels":{"at":"%d"}}}`, len(got)), "Content-Type", "application/merge-patch+json").ok(200)
				page = s.do("GET", configMaps+"?limit=3&continue="+page.str("metadata.continue"), nil).ok(200)
				require.Equal(t, at.str("metadata.resourceVersion"), page.str("metadata.resourceVersion"))
				got = append(got, page.names()...)
			}
			require.Equal(t, want, got)
			exact := configMaps + "?resourceVersionMatch=Exact&resourceVersion="
			elsewhere := s.do("GET", "/api/v1/namespaces/elsewhere", nil).ok(200).str("metadata.resourceVersion")
			s.do("DELETE", configMaps+"/c0", nil).ok(200)
			require.Equal(t, want, s.do("GET", exact+elsewhere, nil).ok(200).names())
			require.Equal(t, want, s.do("GET", exact+at.str("metadata.resourceVersion"), nil).ok(200).names())
			require.Equal(t, want[1:], s.do("GET", configMaps, nil).ok(200).names())
			got, page := nil, object{}
			for { // pages of a list that began before the deletion still have the object
				path := exact + elsewhere + "&limit=4"
				if c := page.str("metadata.continue"); c != "" {
					path = configMaps + "?limit=4&continue=" + c
				}
				page = s.do("GET", path, nil).ok(200)
				got = append(got, page.names()...)
				if page.str("metadata.continue") == "" {
					break
				}
			}
			require.Equal(t, want, got)
			if st.Capabilities().Progress {
				require.Equal(t, before, st.n.Load(), "the store has been read")
			} else {
				require.LessOrEqual(t, int(st.n.Load()-before), 4, "one read for each state, not for each page")
			}
		})
	}
}

// The admission chain consists of Options.Admission and Options.Secure: one in Options.Registry would be
// replaced, so it is refused.
func TestRegistryAdmissionIsRefused(t *testing.T) {
	_, err := apiserver.New(apiserver.Options{Registry: registry.Options{
		Admission: func(registry.Access) ([]admission.Plugin, error) { return nil, nil }}})
	require.ErrorContains(t, err, "Options.Registry.Admission must be nil")
}

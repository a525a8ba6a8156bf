package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
)

const (
	boatsPath = "/apis/harbour.example.com/v1/namespaces/default/boats"
	boatCRD   = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"boats.harbour.example.com"},
"spec":{"group":"harbour.example.com","scope":"Namespaced","names":{"plural":"boats","kind":"Boat"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.oars","statusReplicasPath":".status.oars"}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
	"spec":{"type":"object","properties":{"masts":{"type":"integer","minimum":1,"default":1},"oars":{"type":"integer"},"name":{"type":"string"}}},
	"status":{"type":"object","properties":{"oars":{"type":"integer"}}}}}}}]}}`
)

// serveBoats defines a custom resource and waits until it is served.
func serveBoats(t testing.TB, s *server) {
	s.do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", boatCRD).ok(201)
	require.Eventually(t, func() bool { return s.do("GET", boatsPath, nil).code == 200 }, time.Minute, time.Millisecond)
}

// asCBOR sends JSON as CBOR and returns the response, which must be CBOR, as JSON.
func (s *server) asCBOR(method, path string, body any, headers ...string) *answer {
	s.t.Helper()
	typ := "application/cbor"
	if method == "PATCH" {
		typ = "application/apply-patch+cbor"
	}
	if body != nil {
		text, err := json.Marshal(body)
		require.NoError(s.t, err)
		data, err := cbor.FromJSON(text)
		require.NoError(s.t, err)
		body = data
	}
	a := s.do(method, path, body, append([]string{"Content-Type", typ, "Accept", "application/cbor"}, headers...)...)
	require.Equal(s.t, "application/cbor", a.header.Get("Content-Type"), "%s %s: %d %s", method, path, a.code, a.body)
	require.True(s.t, cbor.IsCBOR(a.body))
	text, err := cbor.ToJSON(a.body)
	require.NoError(s.t, err)
	a.body = text
	return a
}

// state is a list without its resourceVersion, which writes of other kinds raise.
func state(a *answer) object {
	list := a.ok(200)
	meta := list["metadata"].(map[string]any)
	delete(meta, "resourceVersion")
	delete(meta, "continue")
	return list
}

func TestCBOR(t *testing.T) {
	s := start(t, apiserver.Options{CBOR: true})
	serveBoats(t, s)
	boat := func(name string) object {
		return object{"apiVersion": "harbour.example.com/v1", "kind": "Boat", "metadata": map[string]any{"name": name}, "spec": map[string]any{"oars": 2}}
	}
	for path, make := range map[string]func(string) object{
		configMaps: func(name string) object { return configMap(name, "k", "é\x00") },
		pods:       pod,
		boatsPath:  boat,
	} {
		t.Run(make("x").str("kind"), func(t *testing.T) {
			created := s.asCBOR("POST", path, make("a")).ok(201)
			require.Equal(t, s.do("GET", path+"/a", nil).ok(200), created)
			require.Equal(t, created, s.asCBOR("GET", path+"/a", nil).ok(200))
			s.do("GET", path, nil).ok(200) // a consistent read, after which the cache knows what was written
			require.Equal(t, created, s.asCBOR("GET", path+"/a?resourceVersion=0", nil).ok(200))
			s.do("POST", path, make("b")).ok(201)

			created["metadata"].(map[string]any)["labels"] = map[string]any{"by": "cbor"}
			updated := s.asCBOR("PUT", path+"/a", created).ok(200)
			require.Equal(t, "cbor", updated.str("metadata.labels.by"))
			applied := make("a")
			applied["metadata"].(map[string]any)["annotations"] = map[string]any{"applied": "yes"}
			delete(applied, "spec")
			delete(applied, "data")
			got := s.asCBOR("PATCH", path+"/a?fieldManager=m", applied).ok(200)
			require.Equal(t, "yes", got.str("metadata.annotations.applied"))
			merged := s.asCBOR("PATCH", path+"/a", nil, "Content-Type", "application/merge-patch+json")
			require.Equal(t, 400, merged.code) // no body; the error is CBOR
			labelled := s.do("PATCH", path+"/a", `{"metadata":{"labels":{"by":"json"}}}`, "Content-Type", "application/merge-patch+json", "Accept", "application/cbor")
			require.Equal(t, "application/cbor", labelled.header.Get("Content-Type"))

			require.Equal(t, state(s.do("GET", path, nil)), state(s.asCBOR("GET", path, nil)))
			require.Equal(t, state(s.do("GET", path+"?limit=1", nil)), state(s.asCBOR("GET", path+"?limit=1", nil)))
			require.Equal(t, state(s.do("GET", path+"?labelSelector=no", nil)), state(s.asCBOR("GET", path+"?labelSelector=no", nil)))

			meta := ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
			require.Equal(t, state(s.do("GET", path, nil, "Accept", "application/json"+meta)), state(s.asCBOR("GET", path, nil, "Accept", "application/cbor"+meta)))
			table := ";as=Table;g=meta.k8s.io;v=v1"
			s.do("GET", path, nil, "Accept", "application/cbor"+table).ok(406)
			require.Equal(t, "Table", s.do("GET", path, nil, "Accept", "application/cbor"+table+",application/json"+table).ok(200).str("kind"))

			missing := s.asCBOR("GET", path+"/none", nil).ok(404)
			require.Equal(t, "NotFound", missing.str("reason"))
			unknown := s.asCBOR("POST", path+"?fieldValidation=Strict", object{"apiVersion": created["apiVersion"], "kind": created["kind"], "metadata": map[string]any{"name": "x"}, "zap": 1}).ok(400)
			require.Contains(t, unknown.str("message"), "zap")
			s.do("POST", path, []byte{0xd9, 0xd9, 0xf7, 0xff}, "Content-Type", "application/cbor").ok(400)
			// A duplicate key.
			s.do("POST", path, []byte{0xd9, 0xd9, 0xf7, 0xa2, 0x41, 'a', 0, 0x41, 'a', 0}, "Content-Type", "application/cbor").ok(400)
			s.do("PATCH", path+"/a?fieldManager=m", []byte{0xa1}, "Content-Type", "application/apply-patch+cbor").ok(400)

			stale := s.asCBOR("DELETE", path+"/b", object{"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": map[string]any{"uid": "other"}}).ok(409)
			require.Equal(t, "Conflict", stale.str("reason"))
			s.asCBOR("DELETE", path+"/b", object{"gracePeriodSeconds": 0}).ok(200)
			require.Equal(t, []string{"a"}, s.asCBOR("GET", path, nil).ok(200).names())
		})
	}
	require.EqualValues(t, 2, s.asCBOR("GET", boatsPath+"/a/scale", nil).ok(200).at("spec.replicas"))
	require.EqualValues(t, 5, s.asCBOR("PATCH", boatsPath+"/a/scale?fieldManager=m&force=1",
		object{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": 5}}).ok(200).at("spec.replicas"))
	require.Equal(t, "APIResourceList", s.asCBOR("GET", "/api/v1", nil).ok(200).str("kind"))
	require.Equal(t, "NotAcceptable", s.do("GET", configMaps, nil, "Accept", "text/html").ok(406).str("reason"))
	require.Contains(t, s.do("GET", configMaps, nil, "Accept", "text/html").ok(406).str("message"), "application/cbor")
}

var versions = regexp.MustCompile(`"resourceVersion":"\d+"`)

// A watch is a sequence of items, of the same events as in JSON.
func TestCBORWatch(t *testing.T) {
	s := start(t, apiserver.Options{CBOR: true})
	serveBoats(t, s)
	s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	s.do("POST", boatsPath, `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"a"}}`).ok(201)
	const meta = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	for _, path := range []string{configMaps, boatsPath} {
		for _, as := range []string{"", meta} {
			query := "?watch=1&timeoutSeconds=60&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1"
			first := func(media, typ string) (out []string) {
				w := s.open("GET", path+query, nil, "Accept", media+as)
				defer w.Body.Close()
				require.Equal(t, typ, w.Header.Get("Content-Type"))
				body := w.Body
				if media == cbor.MediaType {
					body = cbor.Lines(body)
				}
				for lines := bufio.NewScanner(body); len(out) < 2 && lines.Scan(); {
					out = append(out, versions.ReplaceAllString(lines.Text(), `"resourceVersion":""`))
				}
				return out
			}
			// The initial events of two watches that begin one after the other end at different resource
			// versions.
			want, got := first("application/json", "application/json"), first("application/cbor", "application/cbor-seq")
			require.Len(t, got, 2, "an object and a bookmark")
			for i := range got {
				require.JSONEq(t, want[i], got[i])
			}
		}
	}
	require.Equal(t, 406, s.do("GET", configMaps+"?watch=1", nil, "Accept", "application/cbor;as=Table;g=meta.k8s.io;v=v1").code)
}

// Custom resources are stored as CBOR with the feature on, and read in either form, with it on or off.
func TestCBORStored(t *testing.T) {
	st := memory.New(memory.Options{})
	stored := func(name string) []byte {
		kv, _, err := st.Get(context.Background(), "/harbour.example.com/boats/default/"+name)
		require.NoError(t, err)
		return kv.Value
	}
	create := func(s *server, name string) {
		s.do("POST", boatsPath, `{"apiVersion":"harbour.example.com/v1","kind":"Boat","metadata":{"name":"`+name+`"},"spec":{"oars":3}}`).ok(201)
	}
	names := func(s *server) []string { return s.do("GET", boatsPath, nil).ok(200).names() }

	on := start(t, apiserver.Options{Store: st, CBOR: true})
	serveBoats(t, on)
	create(on, "a")
	require.True(t, cbor.IsCBOR(stored("a")))
	text, err := cbor.ToJSON(stored("a"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"oars":3`)
	on.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	kv, _, err := st.Get(context.Background(), "/configmaps/default/a")
	require.NoError(t, err)
	require.False(t, cbor.IsCBOR(kv.Value), "built-in kinds are stored as before")
	on.stop()

	off := start(t, apiserver.Options{Store: st})
	require.Eventually(t, func() bool { return off.do("GET", boatsPath, nil).code == 200 }, time.Minute, time.Millisecond)
	create(off, "b")
	require.False(t, cbor.IsCBOR(stored("b")))
	require.Equal(t, []string{"a", "b"}, names(off))
	require.EqualValues(t, 3, off.do("GET", boatsPath+"/a", nil).ok(200).at("spec.oars"))
	off.do("PATCH", boatsPath+"/a", `{"spec":{"oars":4}}`, "Content-Type", "application/merge-patch+json").ok(200)
	require.False(t, cbor.IsCBOR(stored("a")))
	off.stop()

	again := start(t, apiserver.Options{Store: st, CBOR: true})
	require.Eventually(t, func() bool { return again.do("GET", boatsPath, nil).code == 200 }, time.Minute, time.Millisecond)
	require.Equal(t, []string{"a", "b"}, names(again))
	again.do("PATCH", boatsPath+"/b", `{"spec":{"oars":5}}`, "Content-Type", "application/merge-patch+json").ok(200)
	require.True(t, cbor.IsCBOR(stored("b")))
	require.EqualValues(t, 4, again.asCBOR("GET", boatsPath+"/a", nil).ok(200).at("spec.oars"))
}

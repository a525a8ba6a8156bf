package apiserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
)

var configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const unsafeOption = "ignoreStoreReadErrorWithClusterBreakingPotential"

// spoil stores bytes that cannot be decoded as a ConfigMap, in place of the one of that revision, and returns
// their key.
func (s *server) spoil(st store.Store, name string, revision int64) string {
	key := s.Registry().Resource(configMapsGVR).Key(types.NamespacedName{Namespace: "default", Name: name})
	_, err := st.Update(context.Background(), key, []byte("k8s\x00no protobuf at all"), revision, store.WriteOptions{})
	require.NoError(s.t, err)
	return key
}

// careful starts a server that takes the user from a header and allows only root to delete undecodable
// objects.
func careful(t *testing.T, o apiserver.Options) *server {
	o.Authenticator = authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
		return &authn.Response{User: &authn.User{Name: r.Header.Get("Test-User")}}, true, nil
	})
	o.Authorizer = authz.Func(func(_ context.Context, a authz.Attributes) (authz.Decision, string, error) {
		if a.Verb == "unsafe-delete-ignore-read-errors" && (a.User.Name != "root" || a.Resource != "configmaps" || a.Namespace != "default" || a.Name == "") {
			return authz.NoOpinion, "", nil
		}
		return authz.Allow, "", nil
	})
	return start(t, o)
}

func TestUnreadableObjects(t *testing.T) {
	st := memory.New(memory.Options{})
	defer st.Close()
	s := careful(t, apiserver.Options{Store: st, UnsafeDelete: true, Admission: []admission.Plugin{&plugin{}}})
	for _, name := range []string{"a", "good"} {
		cm := configMap(name)
		cm["metadata"].(map[string]any)["finalizers"] = []string{"example.com/never"}
		s.do("POST", configMaps, cm).ok(201)
	}
	from := s.do("GET", configMaps, nil).ok(200).str("metadata.resourceVersion")
	keys := []string{s.spoil(st, "a", store.AnyRevision), s.spoil(st, "refused", store.Absent)}

	// The error of a read names them.
	got := s.do("GET", configMaps+"/a", nil).ok(500)
	require.Equal(t, "StorageReadError", got.str("reason"))
	require.Equal(t, "a", got.str("details.name"))
	s.do("GET", configMaps+"/good", nil).ok(200)
	for _, accept := range []string{"application/json", "application/vnd.kubernetes.protobuf;q=0.1,application/json", "application/yaml,application/json;q=0.1",
		"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"} {
		for _, query := range []string{"", "?resourceVersion=0"} {
			list := s.do("GET", configMaps+query, nil, "Accept", accept)
			require.Equal(t, 500, list.code, accept)
			require.Contains(t, string(list.body), "failed to read one or more configmaps from the storage", accept)
			require.Contains(t, string(list.body), keys[0], accept)
			require.Contains(t, string(list.body), keys[1], accept)
		}
	}
	list := s.do("GET", configMaps, nil).ok(500)
	require.Equal(t, "StorageReadError", list.str("reason"))
	causes := list.at("details.causes").([]any)
	require.Len(t, causes, 2)
	for i, c := range causes {
		require.Equal(t, "UnexpectedServerResponse", object(c.(map[string]any)).str("reason"))
		require.Equal(t, keys[i], object(c.(map[string]any)).str("field"))
	}
	s.do("GET", configMaps+"?limit=1&fieldSelector=metadata.name%3Dgood", nil).ok(200)
	watch := s.watch(configMaps + "?watch=1&resourceVersion=" + from)
	require.Equal(t, "StorageReadError", watch.expect("ERROR", "").str("object.reason"))
	require.Nil(t, watch.next())

	// Only the option deletes one.
	require.Equal(t, "StorageReadError", s.do("DELETE", configMaps+"/a", nil).ok(500).str("reason"))
	s.do("PUT", configMaps+"/a", configMap("a")).ok(500)
	s.do("DELETE", configMaps, nil).ok(500)
	s.do("GET", configMaps+"/good", nil).ok(200)
	unsafe := "?" + unsafeOption + "=true"
	s.do("DELETE", configMaps+"/a?"+unsafeOption+"=false", nil, "Test-User", "root").ok(500)
	no := s.do("DELETE", configMaps+"/a"+unsafe, nil, "Test-User", "ann").ok(403)
	require.Contains(t, no.str("message"), `User "ann" cannot unsafe-delete-ignore-read-errors resource "configmaps" in API group "" in the namespace "default"`)
	for _, other := range []string{"dryRun", "propagationPolicy", "orphanDependents", "gracePeriodSeconds", "preconditions"} {
		values := map[string]any{"dryRun": []string{"All"}, "propagationPolicy": "Orphan", "orphanDependents": true, "gracePeriodSeconds": 0, "preconditions": object{}}
		no := s.do("DELETE", configMaps+"/a", object{unsafeOption: true, other: values[other]}, "Test-User", "root").ok(422)
		require.Contains(t, no.str("message"), unsafeOption+": Invalid value: true: cannot be set together with ."+other)
	}
	no = s.do("DELETE", configMaps+unsafe, nil, "Test-User", "root").ok(422)
	require.Contains(t, no.str("message"), "is not allowed with DELETECOLLECTION")
	for _, name := range []string{"good", "missing"} {
		no := s.do("DELETE", configMaps+"/"+name+unsafe, nil, "Test-User", "root").ok(422)
		require.Contains(t, no.str("message"), "is exclusively used to delete corrupt object(s), try again by removing this option")
	}
	s.do("GET", configMaps+"/a", nil).ok(500)

	watch = s.watch(configMaps + "?watch=1&resourceVersion=" + s.do("GET", configMaps+"?fieldSelector=metadata.name%3Dgood", nil).ok(200).str("metadata.resourceVersion"))
	gone := s.do("DELETE", configMaps+"/a"+unsafe, nil, "Test-User", "root").ok(200)
	require.Equal(t, "Success", gone.str("status"))
	require.Equal(t, "a", gone.str("details.name"))
	require.Equal(t, "ConfigMap", gone.str("details.kind"))
	s.do("GET", configMaps+"/a", nil).ok(404)
	require.Equal(t, "StorageReadError", watch.expect("ERROR", "").str("object.reason"), "a watch gets an error in place of the last state")
	// Admission is skipped.
	s.do("DELETE", configMaps+"/refused", object{unsafeOption: true}, "Test-User", "root").ok(200)
	require.Equal(t, []string{"good"}, s.do("GET", configMaps, nil).ok(200).names())
	s.do("POST", configMaps, configMap("a")).ok(201)
}

// Stored bytes that cannot be decoded are never passed through to a client, also not by a server that has
// decoded nothing of the kind yet.
func TestUnreadableObjectsAsProtobuf(t *testing.T) {
	st := memory.New(memory.Options{})
	defer st.Close()
	const proto = "application/vnd.kubernetes.protobuf"
	s := start(t, apiserver.Options{Store: st})
	for name, value := range map[string]string{"good": "", "body": "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\xff\xff\xff\xff\x1a\x00\"\x00", "envelope": "k8s\x00no protobuf at all"} {
		if s.do("POST", configMaps, configMap(name)).ok(201); value != "" {
			_, err := st.Update(t.Context(), s.Registry().Resource(configMapsGVR).Key(types.NamespacedName{Namespace: "default", Name: name}), []byte(value), store.AnyRevision, store.WriteOptions{})
			require.NoError(t, err)
		}
	}
	for name, code := range map[string]int{"good": 200, "body": 500, "envelope": 500} {
		for _, version := range []string{"", "?resourceVersion=0"} { // from the store, and from a cache
			cold := start(t, apiserver.Options{Store: st})
			got := cold.do("GET", configMaps+"/"+name+version, nil, "Accept", proto)
			require.Equal(t, code, got.code, name+version)
			require.Equal(t, code, cold.do("GET", configMaps+"/"+name+version, nil, "Accept", proto+";as=PartialObjectMetadata;v=v1;g=meta.k8s.io").code, name+version)
		}
	}
	require.Equal(t, 500, start(t, apiserver.Options{Store: st}).do("GET", configMaps, nil, "Accept", proto).code)
}

// Without Options.UnsafeDelete the option is ignored.
func TestUnsafeDeleteIsOff(t *testing.T) {
	st := memory.New(memory.Options{})
	defer st.Close()
	s := careful(t, apiserver.Options{Store: st})
	s.do("POST", configMaps, configMap("a")).ok(201)
	s.do("POST", configMaps, configMap("b")).ok(201)
	s.spoil(st, "a", store.AnyRevision)
	query := url.Values{unsafeOption: {"true"}}.Encode()
	s.do("DELETE", configMaps+"/a?"+query, nil, "Test-User", "root").ok(500)
	s.do("DELETE", configMaps+"/b?dryRun=All&"+query, nil, "Test-User", "ann").ok(200)
	s.do("DELETE", configMaps+"/b?"+query, nil, "Test-User", "ann").ok(200)
}

// The error of a list names a hundred and says that there are more.
func TestManyUnreadableObjects(t *testing.T) {
	st := memory.New(memory.Options{})
	defer st.Close()
	s := start(t, apiserver.Options{Store: st})
	for i := range 103 {
		_, err := st.Create(t.Context(), s.Registry().Resource(configMapsGVR).Key(types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("a%03d", i)}), []byte("{"), store.WriteOptions{})
		require.NoError(t, err)
	}
	causes := s.do("GET", configMaps, nil).ok(500).at("details.causes").([]any)
	require.Len(t, causes, 101)
	require.Equal(t, "FieldValueTooMany", object(causes[100].(map[string]any)).str("reason"))
	require.Equal(t, "too many errors, the list is truncated", object(causes[100].(map[string]any)).str("message"))
}

// The parts of the server that watch a resource get the objects that can be decoded.
func TestUnreadableObjectsStopNoLoop(t *testing.T) {
	st := memory.New(memory.Options{})
	defer st.Close()
	s := start(t, apiserver.Options{Store: st})
	s.do("POST", configMaps, configMap("a")).ok(201)
	s.do("POST", configMaps, configMap("b")).ok(201)
	s.spoil(st, "a", store.AnyRevision)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	err := s.Access().Watch(ctx, configMapsGVR, "default", func(e registry.Event) error {
		if e.InitialEnd {
			cancel()
			return ctx.Err()
		}
		seen = append(seen, e.Object.GetName())
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"b"}, seen)
}

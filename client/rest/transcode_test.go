package rest_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// exchanges is a transport that records the media types of requests and replies.
type exchanges struct {
	next http.RoundTripper
	seen [][3]string
}

func (e *exchanges) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.next.RoundTrip(r)
	if err == nil {
		e.seen = append(e.seen, [3]string{r.Method, r.Header.Get("Content-Type"), resp.Header.Get("Content-Type")})
	}
	return resp, err
}

// With CBOR preferred, bodies that would be JSON are CBOR, invisibly to callers; a server that has it
// disabled gets JSON, after one refusal.
func TestCBOR(t *testing.T) {
	const (
		json, seq = "application/json", "application/cbor-seq"
		bin       = cbor.MediaType
		applyJSON = string(types.ApplyYAMLPatchType)
		applyBin  = string(types.ApplyCBORPatchType)
		merge     = string(types.MergePatchType)
	)
	for name, c := range map[string]struct {
		on   bool
		want [][3]string
	}{
		"on": {true, [][3]string{{"POST", bin, bin}, {"POST", bin, bin}, {"GET", "", bin}, {"GET", "", bin}, {"PATCH", merge, bin}, {"PATCH", applyBin, bin}, {"GET", "", seq}, {"GET", "", bin}, {"DELETE", bin, bin}}},
		"off": {false, [][3]string{{"POST", bin, json}, {"POST", json, json}, {"POST", json, json}, {"GET", "", json}, {"GET", "", json}, {"PATCH", merge, json}, {"PATCH", applyJSON, json},
			{"GET", "", json}, {"GET", "", json}, {"DELETE", json, json}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{CBOR: c.on}})
			var traffic exchanges
			cfg := s.Config()
			cfg.Wrap = func(next http.RoundTripper) http.RoundTripper {
				traffic.next = next
				return &traffic
			}
			conn := s.ConnWith(t, cfg, rest.Options{CBOR: cbor.Transcoder{}})
			maps := dynamic.For(conn, configMaps)
			obj := &metav1.Unstructured{Fields: map[string]any{"data": map[string]any{"k": "v"}}}
			obj.APIVersion, obj.Kind, obj.Namespace, obj.Name = "v1", "ConfigMap", "default", "a"
			made, err := maps.Create(t.Context(), obj)
			require.NoError(t, err)
			_, err = maps.Create(t.Context(), obj)
			require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
			key := metav1.KeyOf(obj)
			got, err := maps.Get(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, made, got)
			list, err := maps.List(t.Context(), client.ListOptions{Namespace: "default"})
			require.NoError(t, err)
			require.Len(t, list.Items, 1)
			require.Equal(t, made.Fields, list.Items[0].Fields)
			_, err = maps.Patch(t.Context(), key, client.Patch{Type: types.MergePatchType, Data: []byte(`{"data":{"k":"w"}}`)}, client.PatchOptions{})
			require.NoError(t, err)
			got, err = maps.Patch(t.Context(), key, client.Patch{Type: types.ApplyYAMLPatchType, Data: []byte(`{"apiVersion":"v1","kind":"ConfigMap","data":{"l":"x"}}`)}, client.PatchOptions{FieldManager: "m"})
			require.NoError(t, err)
			require.Equal(t, map[string]any{"k": "w", "l": "x"}, got.Fields["data"])
			for ev, err := range maps.Watch(t.Context(), client.WatchOptions{Namespace: "default", ResourceVersion: made.ResourceVersion}) {
				require.NoError(t, err)
				require.Equal(t, client.Modified, ev.Type)
				require.Equal(t, "a", ev.Object.Name)
				break
			}
			_, err = maps.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "none"})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
			require.NoError(t, maps.Delete(t.Context(), key, client.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
			require.Equal(t, c.want, traffic.seen)
		})
	}
}

// Types that have a protobuf form are still sent as protobuf, and requests that are not for resources are
// unchanged.
func TestCBORIsForJSONOnly(t *testing.T) {
	var accepts []string
	s := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{CBOR: true}, Wrap: func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			accepts = append(accepts, r.Header.Get("Accept"))
			h.ServeHTTP(w, r)
		})
	}})
	conn := s.Conn(t, rest.Options{CBOR: cbor.Transcoder{}})
	_, err := client.For[*corev1.ConfigMap](conn).List(t.Context(), client.ListOptions{})
	require.NoError(t, err)
	_, err = conn.Do(t.Context(), &client.Request{Path: "/version"})
	require.NoError(t, err)
	require.Equal(t, []string{"application/vnd.kubernetes.protobuf,application/cbor,application/json", "application/json"}, accepts)
}

// A reply that claims to be CBOR and is not is an error, not an object.
func TestCBORThatIsNone(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/cbor")
		if r.URL.Query().Has("watch") {
			w.Header().Set("Content-Type", "application/cbor-seq")
		}
		io.WriteString(w, "\xff\xff")
	}, func(t *testing.T, s *clienttest.Server) {
		conn := s.Conn(t, rest.Options{CBOR: cbor.Transcoder{}, Retries: -1})
		maps := dynamic.For(conn, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
		_, err := maps.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"})
		require.ErrorContains(t, err, "cbor")
		w, err := maps.WatchEncoded(t.Context(), client.EncodedWatchOptions{})
		require.NoError(t, err)
		_, err = w.Next()
		require.Error(t, err)
		require.False(t, errors.Is(err, io.EOF))
		require.NoError(t, w.Close())
	})
}

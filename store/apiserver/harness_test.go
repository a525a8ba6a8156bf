package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// server is a running server and a client for it.
type server struct {
	*apiserver.Server
	t      testing.TB
	client *http.Client
	stop   func()
}

// start runs a server over an in-memory network until the test ends.
func start(t testing.TB, o apiserver.Options) *server {
	t.Helper()
	s, err := apiserver.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	l := pipenet.New()
	done := make(chan struct{}, 2)
	go func() {
		_ = s.Run(ctx)
		done <- struct{}{}
	}()
	go func() {
		_ = s.Serve(ctx, l, nil)
		done <- struct{}{}
	}()
	transport := &http.Transport{DialContext: l.Dial, DisableCompression: true}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		<-done
		transport.CloseIdleConnections()
		<-done
	}
	t.Cleanup(stop)
	<-s.Ready()
	return &server{Server: s, t: t, client: &http.Client{Transport: transport}, stop: stop}
}

// startCluster is start with the objects every cluster has.
func startCluster(t testing.TB, o apiserver.Options) *server {
	t.Helper()
	o.StartHook = controlplane.Bookkeeping(controlplane.BookkeepingOptions{})
	return start(t, o)
}

// answer is a response with its whole body.
type answer struct {
	t      testing.TB
	code   int
	header http.Header
	body   []byte
}

// do sends a request. The body may be nil, a string, bytes, or anything that encodes to JSON. Headers come in
// pairs.
func (s *server) do(method, path string, body any, headers ...string) *answer {
	s.t.Helper()
	resp := s.open(method, path, body, headers...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return &answer{t: s.t, code: resp.StatusCode, header: resp.Header, body: b}
}

// open sends a request and returns the response with its body unread.
func (s *server) open(method, path string, body any, headers ...string) *http.Response {
	s.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	case []byte:
		in = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		require.NoError(s.t, err)
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequest(method, "http://server"+path, in)
	require.NoError(s.t, err)
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("User-Agent", "test/1")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(r)
	require.NoError(s.t, err)
	return resp
}

// ok checks the status code and returns the body's JSON.
func (a *answer) ok(code int) object {
	a.t.Helper()
	require.Equal(a.t, code, a.code, "%s", a.body)
	var o object
	require.NoError(a.t, json.Unmarshal(a.body, &o), "%s", a.body)
	return o
}

// object is the JSON of an API object.
type object map[string]any

// at returns the value at a path such as "metadata.name", or nil.
func (o object) at(path string) any {
	var v any = map[string]any(o)
	for _, p := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[p]
		default:
			return nil
		}
	}
	return v
}

func (o object) str(path string) string {
	s, _ := o.at(path).(string)
	return s
}

func (o object) items() []any {
	items, _ := o["items"].([]any)
	return items
}

func (o object) names() []string {
	out := []string{}
	for _, i := range o.items() {
		out = append(out, object(i.(map[string]any)).str("metadata.name"))
	}
	return out
}

func configMap(name string, data ...string) object {
	d := map[string]any{}
	for i := 0; i+1 < len(data); i += 2 {
		d[data[i]] = data[i+1]
	}
	return object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": d}
}

func pod(name string) object {
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "app:1"}}}}
}

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	pods       = "/api/v1/namespaces/default/pods"
)

// load reads a JSON file of recorded data.
func load(t testing.TB, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into))
}

// reviews are stand-ins for the computed resources of an assembled control plane.
func reviews(t testing.TB) []apiserver.Computed {
	s, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	var out []apiserver.Computed
	for _, i := range s.All() {
		if i.HasVerb("create") && !i.HasVerb("list") && i.GVR.Resource != "bindings" {
			out = append(out, apiserver.Computed{Info: i, Create: func(_ context.Context, _ string, obj metav1.Object) (metav1.Object, error) { return obj, nil }})
		}
	}
	return out
}

package nodestream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// withoutTLS reaches a node over HTTP.
type withoutTLS struct{}

// RoundTrip implements http.RoundTripper.
func (withoutTLS) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

// onlySPDY refuses WebSockets, as old nodes do.
type onlySPDY struct{ t *testing.T }

// RoundTrip implements http.RoundTripper.
func (o onlySPDY) RoundTrip(r *http.Request) (*http.Response, error) {
	require.Equal(o.t, "SPDY/3.1", r.Header.Get("Upgrade"))
	return withoutTLS{}.RoundTrip(r)
}

// besideNode runs an API server with a node n and a running pod p on it. declare sets the node's feature.
func besideNode(t *testing.T, o apiserver.Options, at string) (s *apiserver.Server, declare func(feature string)) {
	node, err := url.Parse(at)
	require.NoError(t, err)
	s, err = apiserver.New(o)
	require.NoError(t, err)
	go func() { _ = s.Run(t.Context()) }()
	<-s.Ready()
	send := func(method, path, kind, body string) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Less(t, w.Code, 300, "%s", w.Body)
	}
	const plain, patch = "application/json", "application/merge-patch+json"
	send("POST", "/api/v1/nodes", plain, fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":%q}],
		"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, node.Hostname(), node.Port()))
	send("POST", "/api/v1/namespaces/default/pods", plain, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`)
	send("PATCH", "/api/v1/namespaces/default/pods/p/status", patch, `{"status":{"phase":"Running"}}`)
	return s, func(feature string) {
		send("PATCH", "/api/v1/nodes/n/status", patch, fmt.Sprintf(`{"status":{"declaredFeatures":[%q]}}`, feature))
	}
}

// TestThroughAnAPIServerThatTranslates: the WebSockets of a client reach a node that does not declare that it
// serves them, over SPDY.
func TestThroughAnAPIServerThatTranslates(t *testing.T) {
	s, _ := besideNode(t, apiserver.Options{Nodes: onlySPDY{t}}, serve(t))
	l := pipenet.New()
	go func() { _ = s.Serve(t.Context(), l, nil) }()
	conn, err := rest.New(rest.Config{Host: "http://memory", Dial: l.Dial}, rest.Options{})
	require.NoError(t, err)
	defer conn.Close()
	pod := types.NamespacedName{Namespace: "default", Name: "p"}
	exec := func(o stream.Options, command ...string) error {
		o.Command, o.Protocol = command, stream.WebSocket
		return stream.Exec(within(t), conn, pod, o)
	}

	var out, errOut bytes.Buffer
	text := strings.Repeat("x", 200_000)
	require.NoError(t, exec(stream.Options{Stdin: strings.NewReader(text), Stdout: &out}, "cat"))
	require.Equal(t, text, out.String())
	err = exec(stream.Options{Stderr: &errOut}, "fail")
	var exit *stream.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.Code)
	require.Equal(t, "no\n", errOut.String())
	require.ErrorContains(t, exec(stream.Options{Stdout: io.Discard}, "error"), "broken")
	sizes := make(chan stream.Size, 1)
	sizes <- stream.Size{Width: 80, Height: 24}
	out.Reset()
	require.NoError(t, exec(stream.Options{Stdout: &out, TTY: true, Sizes: sizes}, "size"))
	require.Equal(t, "80x24", out.String())

	f, err := stream.Forward(within(t), conn, pod, stream.WebSocket)
	require.NoError(t, err)
	defer f.Close()
	for port, want := range map[int]string{80: "80:ping", 8080: "8080:ping"} {
		c, err := f.Dial(within(t), port)
		require.NoError(t, err)
		_, err = io.WriteString(c, "ping")
		require.NoError(t, err)
		require.NoError(t, c.(interface{ CloseWrite() error }).CloseWrite())
		b, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
}

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

// overHTTP reaches a node without TLS, and refuses WebSockets, as old nodes do.
type overHTTP struct{ t *testing.T }

// RoundTrip implements http.RoundTripper.
func (o overHTTP) RoundTrip(r *http.Request) (*http.Response, error) {
	require.Equal(o.t, "SPDY/3.1", r.Header.Get("Upgrade"))
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return http.DefaultTransport.RoundTrip(r)
}

// TestThroughAnAPIServerThatTranslates: the WebSockets of a client reach a node that does not declare that it
// serves them, over SPDY.
func TestThroughAnAPIServerThatTranslates(t *testing.T) {
	node, err := url.Parse(serve(t))
	require.NoError(t, err)
	s, err := apiserver.New(apiserver.Options{Nodes: overHTTP{t}})
	require.NoError(t, err)
	l := pipenet.New()
	go func() { _ = s.Run(t.Context()) }()
	go func() { _ = s.Serve(t.Context(), l, nil) }()
	<-s.Ready()
	create := func(path, body string) {
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Equal(t, 201, w.Code, "%s", w.Body)
	}
	create("/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":%q}],
		"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, node.Hostname(), node.Port()))
	create("/api/v1/namespaces/default/pods", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`)
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

package apiserver_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// exec upgrades a connection and copies bytes in both directions between client and kubelet.
func TestUpgradedConnections(t *testing.T) {
	backend := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "SPDY/3.1" {
			http.Error(w, "an upgrade is needed", http.StatusBadRequest)
			return
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(buf, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: %s\r\n\r\n", r.Header.Get("X-Stream-Protocol-Version"))
		_ = buf.Flush()
		line, _ := buf.ReadString('\n')
		fmt.Fprintf(buf, "%s echo %s", r.URL.Path, line)
		_ = buf.Flush()
	}))
	t.Cleanup(backend.Close)
	u, err := url.Parse(backend.URL)
	require.NoError(t, err)
	s := start(t, apiserver.Options{Nodes: backend.Client().Transport})
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	p := pod("p")
	p["spec"].(map[string]any)["nodeName"] = "n1"
	s.do("POST", pods, p).ok(201)
	s.do("POST", "/api/v1/nodes", fmt.Sprintf(`{"metadata":{"name":"n1"},"status":{"addresses":[{"type":"InternalIP","address":%q}],"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, u.Hostname(), u.Port())).ok(201)

	r, err := http.NewRequest("POST", front.URL+pods+"/p/exec?command=sh&stdin=1&stdout=1", nil)
	require.NoError(t, err)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "SPDY/3.1")
	r.Header.Set("X-Stream-Protocol-Version", "v4.channel.k8s.io")
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
	require.Equal(t, "v4.channel.k8s.io", resp.Header.Get("X-Stream-Protocol-Version"))
	conn := resp.Body.(io.ReadWriter)
	fmt.Fprintln(conn, "hello")
	line, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "/exec/default/p/c echo hello\n", line)

	require.Equal(t, 400, s.do("GET", pods+"/p/exec?command=sh", nil).code, "without an upgrade")
}

package apiserver_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// logs is a kubelet with one log.
type logs string

func (l logs) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch {
	case r.Header.Get("Upgrade") != "":
		http.Error(w, "no upgrade here", http.StatusBadRequest)
	case r.URL.Query().Get("tailLines") == "0":
		http.Error(w, "nothing there", http.StatusBadRequest)
	default:
		_, _ = io.WriteString(w, string(l))
	}
	return w.Result(), nil
}

func TestLogsOverWebSockets(t *testing.T) {
	text := logs(strings.Repeat("a line\n", 10_000))
	s := start(t, apiserver.Options{Nodes: text})
	front := httptest.NewServer(s)
	t.Cleanup(front.Close)
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`).ok(201)
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`).ok(201)
	dial := func(query, origin string, protocols ...string) (*websocket.Conn, *http.Response, error) {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		return websocket.Dial(t.Context(), front.URL+pods+"/p/log"+query, &websocket.DialOptions{Subprotocols: protocols, HTTPHeader: header})
	}
	for protocol, kind := range map[string]websocket.MessageType{"": websocket.MessageBinary, "binary.k8s.io": websocket.MessageBinary, "base64.binary.k8s.io": websocket.MessageText} {
		var protocols []string
		if protocol != "" {
			protocols = []string{protocol}
		}
		c, _, err := dial("", "", protocols...)
		require.NoError(t, err)
		require.Equal(t, protocol, c.Subprotocol())
		c.SetReadLimit(1 << 20)
		var got strings.Builder
		for first := true; ; first = false {
			typ, b, err := c.Read(context.Background())
			if err != nil {
				require.Equal(t, websocket.StatusNormalClosure, websocket.CloseStatus(err), "%v", err)
				break
			}
			require.Equal(t, kind, typ)
			require.Equal(t, first, len(b) == 0, "an empty message marks the beginning of the log")
			if kind == websocket.MessageText {
				b, err = base64.StdEncoding.DecodeString(string(b))
				require.NoError(t, err)
			}
			got.Write(b)
		}
		require.Equal(t, string(text), got.String())
	}
	for _, c := range []struct {
		query, origin string
		code          int
	}{{"?tailLines=0", "", 400}, {"?container=absent", "", 400}, {"", "http://localhost", 101}} {
		conn, resp, err := dial(c.query, c.origin)
		require.Equal(t, c.code, resp.StatusCode, fmt.Sprint(c, err))
		if conn != nil {
			_ = conn.CloseNow()
		}
	}
}

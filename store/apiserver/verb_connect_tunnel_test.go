package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

const tunnel = "SPDY/3.1+portforward.k8s.io"

// TestTunnelsToOldNodes carries the bytes of SPDY between a WebSocket and a node that speaks SPDY only, here
// one that sends back what it gets.
func TestTunnelsToOldNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var codes []int
		s, n := besideOldNode(t, apiserver.Metrics{Tunnelled: func(code int) { codes = append(codes, code) }})
		ws, _, err := s.socket(t, "portforward?ports=80", tunnel)
		require.NoError(t, err)
		require.Equal(t, tunnel, ws.Subprotocol())
		require.Equal(t, "POST /portForward/default/p?port=80", n.path)
		require.Equal(t, "portforward.k8s.io", n.asked.Get("X-Stream-Protocol-Version"))
		require.Empty(t, n.asked.Get("Authorization"))
		conn := websocket.NetConn(t.Context(), ws, websocket.MessageBinary)
		text := strings.Repeat("0123456789", 50_000)
		go func() { _, _ = io.WriteString(conn, text) }()
		back := make([]byte, len(text))
		_, err = io.ReadFull(conn, back)
		require.NoError(t, err)
		require.Equal(t, text, string(back))
		require.NoError(t, conn.Close())
		synctest.Wait()
		require.EqualValues(t, 1, n.ended.Load(), "the node sees the end")

		_, resp, err := s.socket(t, "portforward?ports=404", tunnel)
		require.Error(t, err)
		b, _ := io.ReadAll(resp.Body)
		require.Equal(t, http.StatusNotFound, resp.StatusCode)
		require.Equal(t, "pod does not exist\n", string(b), "the node's response")
		require.Equal(t, []int{101, 404}, codes)

		require.NoError(t, n.net.Close())
		_, resp, err = s.socket(t, "portforward", tunnel)
		require.Error(t, err)
		b, _ = io.ReadAll(resp.Body)
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
		require.Contains(t, string(b), `"message":"error dialing backend: `)
	})
}

// TestPeersOfTunnels: a peer that stalls stalls the other, and nothing is left of a tunnel, which synctest
// checks.
func TestPeersOfTunnels(t *testing.T) {
	for name, client := range map[string]func(t *testing.T, ws *websocket.Conn){
		"vanishes": func(t *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() },
		"sends text": func(t *testing.T, ws *websocket.Conn) {
			require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte("x")))
		},
		"reads nothing": func(t *testing.T, ws *websocket.Conn) { // so that the echo waits
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sent := 0
			for ; ws.Write(ctx, websocket.MessageBinary, make([]byte, 32<<10)) == nil; sent += 32 << 10 {
			}
			require.Less(t, sent, 32<<20)
		},
		"does nothing": func(t *testing.T, ws *websocket.Conn) {
			began := time.Now()
			_, _, err := ws.Read(context.Background())
			require.Error(t, err)
			require.Equal(t, 4*time.Hour, time.Since(began))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, n := besideOldNode(t, apiserver.Metrics{})
				ws, _, err := s.socket(t, "portforward", tunnel)
				require.NoError(t, err)
				synctest.Wait()
				client(t, ws)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				require.EqualValues(t, 1, n.ended.Load())
			})
		})
	}
}

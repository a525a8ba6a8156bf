package apiserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/moby/spdystream"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// oldNode is the server of a kubelet that speaks SPDY only. The command of a process says what it does.
type oldNode struct {
	net     *pipenet.Listener
	asked   http.Header // of the last request
	path    string
	written atomic.Int64 // by flood
	ended   atomic.Int32 // processes
}

const exit7 = `{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}`

// RoundTrip sends a request to the node, without TLS.
func (n *oldNode) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return (&http.Transport{DialContext: n.net.Dial, DisableKeepAlives: true}).RoundTrip(r)
}

func (n *oldNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked, n.path = r.Header.Clone(), r.Method+" "+r.URL.RequestURI()
	command := r.URL.Query()["command"]
	if slices.Contains(command, "absent") || r.URL.Query().Get("port") == "404" {
		http.Error(w, "pod does not exist", http.StatusNotFound)
		return
	}
	if r.Header.Get("Upgrade") != "SPDY/3.1" {
		http.Error(w, "SPDY only", http.StatusBadRequest)
		return
	}
	protocols := strings.Split(r.Header.Get("X-Stream-Protocol-Version"), ",")
	w.Header().Set("X-Stream-Protocol-Version", protocols[0])
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.WriteHeader(http.StatusSwitchingProtocols)
	raw, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer n.ended.Add(1)
	defer raw.Close()
	if protocols[0] == "portforward.k8s.io" {
		_, _ = io.Copy(raw, rw)
		return
	}
	n.process(raw, command[0], r.URL.Query())
}

// process opens no stream itself, but accepts those of the query.
func (n *oldNode) process(raw net.Conn, command string, q map[string][]string) {
	if command == "mute" {
		_, _ = io.Copy(io.Discard, raw)
		return
	}
	conn, err := spdystream.NewConnection(raw, true)
	if err != nil {
		return
	}
	by, end := acceptStreams(conn, q)
	defer end()
	defer raw.Close()
	if by == nil {
		return
	}
	finish := func(status string) {
		_, _ = io.WriteString(by["error"], status)
		for _, s := range by {
			_ = s.Close()
		}
		<-conn.CloseChan()
	}
	switch command {
	case "cat":
		_, _ = io.Copy(by["stdout"], by["stdin"])
		_, _ = io.WriteString(by["stderr"], "end of input")
		finish(exit7)
	case "size":
		b := make([]byte, 100)
		size, _ := by["resize"].Read(b)
		_, _ = by["stdout"].Write(b[:size])
		finish(`{"status":"Success"}`)
	case "broken":
		finish(`{"status":"Failure","reason":"InternalError","code":500,"message":"Internal error occurred: no such file"}`)
	case "die":
		_, _ = io.WriteString(by["stdout"], "last words")
	case "flood":
		for {
			if k, err := by["stdout"].Write(make([]byte, 32<<10)); err != nil {
				return
			} else {
				n.written.Add(int64(k))
			}
		}
	case "nosy": // sends on streams that are the client's
		go func() {
			for range 1000 {
				for _, s := range by {
					_, _ = s.Write(make([]byte, 1000))
				}
			}
		}()
		<-conn.CloseChan()
	default: // deaf
		select {
		case <-conn.CloseChan():
		case <-time.After(6 * time.Hour): // it has not seen the end either
		}
	}
}

// acceptStreams waits until the client has opened the streams of the query, which it returns by name, unless
// the connection ends before. end waits for the goroutines of a connection that has been closed.
func acceptStreams(conn *spdystream.Connection, q map[string][]string) (by map[string]*spdystream.Stream, end func()) {
	opened := make(chan *spdystream.Stream, 8)
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn.Serve(func(s *spdystream.Stream) {
			_ = s.SendReply(http.Header{}, false)
			opened <- s
		})
	}()
	need := 1
	for _, name := range []string{"input", "output", "error", "tty"} {
		if len(q[name]) > 0 && (name != "error" || len(q["tty"]) == 0) {
			need++
		}
	}
	by = map[string]*spdystream.Stream{}
	end = func() {
		for _, s := range by {
			_ = s.Reset()
		}
		<-served
	}
	for len(by) < need {
		select {
		case s := <-opened:
			by[s.Headers().Get("streamType")] = s
		case <-conn.CloseChan():
			return nil, end
		}
	}
	return by, end
}

// besideOldNode runs a server with a node that declares the features, and a pod p on it.
func besideOldNode(t *testing.T, m apiserver.Metrics, features ...string) (*server, *oldNode) {
	n := &oldNode{net: pipenet.New()}
	node := &http.Server{Handler: n}
	served := make(chan struct{})
	go func() { defer close(served); _ = node.Serve(n.net) }()
	t.Cleanup(func() { _ = node.Close(); <-served })
	s := start(t, apiserver.Options{Nodes: n, Metrics: m})
	declared := ""
	if len(features) > 0 {
		declared = fmt.Sprintf(`"declaredFeatures":[%q],`, strings.Join(features, `","`))
	}
	s.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n"},"status":{`+declared+`"addresses":[{"type":"InternalIP","address":"10.0.0.9"}]}}`).ok(201)
	s.do("POST", pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"x"}]}}`).ok(201)
	return s, n
}

// socket opens a WebSocket to a subresource of the pod.
func (s *server) socket(t *testing.T, path string, protocols ...string) (*websocket.Conn, *http.Response, error) {
	ws, resp, err := websocket.Dial(t.Context(), "http://server"+pods+"/p/"+path, &websocket.DialOptions{
		HTTPClient: s.client, Subprotocols: protocols, HTTPHeader: http.Header{"Origin": {"https://elsewhere"}, "Authorization": {"Bearer secret"}}})
	if err == nil {
		t.Cleanup(func() { _ = ws.CloseNow() })
		ws.SetReadLimit(1 << 20)
	}
	return ws, resp, err
}

// send sends messages.
func send(t *testing.T, ws *websocket.Conn, messages ...string) {
	for _, m := range messages {
		require.NoError(t, ws.Write(t.Context(), websocket.MessageBinary, []byte(m)))
	}
}

// receive returns what comes on each channel until the connection ends.
func receive(t *testing.T, ws *websocket.Conn) (channels map[byte]string, first byte, status websocket.StatusCode) {
	channels, got := map[byte]string{}, map[byte]*bytes.Buffer{}
	for n := 0; ; n++ {
		_, m, err := ws.Read(context.Background())
		if err != nil {
			for c, b := range got {
				channels[c] = b.String()
			}
			return channels, first, websocket.CloseStatus(err)
		}
		require.NotEmpty(t, m)
		if n == 0 {
			require.Len(t, m, 1, "an empty message marks the beginning")
			first = m[0]
		}
		if got[m[0]] == nil {
			got[m[0]] = &bytes.Buffer{}
		}
		got[m[0]].Write(m[1:])
	}
}

const v5 = "v5.channel.k8s.io"

// TestWebSocketsToOldNodes runs processes on a node that knows no WebSockets of version 5.
func TestWebSocketsToOldNodes(t *testing.T) {
	internal := func(text string) string {
		return fmt.Sprintf(`{"metadata":{},"status":"Failure","message":%q,"reason":"InternalError","details":{"causes":[{"message":%q}]},"code":500}`, "Internal error occurred: "+text, text)
	}
	long := strings.Repeat("0123456789", 50_000)
	for _, c := range []struct {
		name, path, asks string
		send             []string
		first            byte
		want             map[byte]string
		code             int
	}{
		{"input ends", "exec?command=cat&stdin=true&stdout=true&stderr=true", "/exec/default/p/c?command=cat&error=1&input=1&output=1",
			[]string{"\x00hello ", "", "\x09unknown", "\x07", "\x04no terminal", "\x00" + long, "\xff\x01", "\xff\x00", "\x00late"}, 1,
			map[byte]string{1: "hello " + long, 2: "end of input", 3: exit7}, 200},
		{"terminal", "exec?stdout=true&tty=true&stderr=true&command=size", "/exec/default/p/c?command=size&error=1&output=1&tty=1",
			[]string{"\x04" + `{"Width":80,"Height":24}`}, 1, map[byte]string{1: `{"Width":80,"Height":24}`, 3: `{"status":"Success"}`}, 200},
		{"failure", "exec?command=broken&stderr=1", "/exec/default/p/c?command=broken&error=1", nil, 2,
			map[byte]string{2: "", 3: `{"status":"Failure","reason":"InternalError","code":500,"message":"Internal error occurred: no such file"}`}, 500},
		{"refusal", "exec?command=absent&stdin=1", "/exec/default/p/c?command=absent&input=1", nil, 3,
			map[byte]string{3: internal("unable to upgrade connection: pod does not exist")}, 500},
		{"node dies", "exec?command=die&stdout=1&stdin=1", "/exec/default/p/c?command=die&input=1&output=1", []string{"\x00more"}, 1,
			map[byte]string{1: "last words", 3: internal("the connection to the node ended without the status of the process: unexpected EOF")}, 500},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var codes []int
				streams := map[string]bool{}
				s, n := besideOldNode(t, apiserver.Metrics{Translated: func(code int) { codes = append(codes, code) }, Streamed: func(of string, translated bool) { streams[of] = translated }})
				ws, _, err := s.socket(t, c.path, "v4.channel.k8s.io", v5)
				require.NoError(t, err)
				require.Equal(t, v5, ws.Subprotocol())
				if c.name == "node dies" {
					synctest.Wait() // before the client writes
				} else {
					send(t, ws, c.send...)
				}
				got, first, status := receive(t, ws)
				require.Equal(t, websocket.StatusNormalClosure, status)
				require.Equal(t, c.want, got)
				require.Equal(t, c.first, first)
				synctest.Wait()
				require.Equal(t, []int{c.code}, codes)
				require.Equal(t, map[string]bool{strings.Split(c.path, "?")[0]: true}, streams)
				require.Equal(t, "POST "+c.asks, n.path)
				require.Equal(t, "v4.channel.k8s.io", n.asked.Get("X-Stream-Protocol-Version"))
				for _, name := range []string{"Authorization", "Origin", "Sec-Websocket-Key"} {
					require.Empty(t, n.asked.Get(name), name)
				}
			})
		})
	}
}

// TestPeersOfTranslatedStreams: whatever a client or a node does, memory is bounded, and when either has gone
// nothing of the session is left, which synctest checks.
func TestPeersOfTranslatedStreams(t *testing.T) {
	for _, c := range []struct {
		name, command string
		idle, late    time.Duration // before the client acts, and until the node notices
		client        func(t *testing.T, ws *websocket.Conn)
	}{
		{"client vanishes while the node accepts nothing", "mute", 0, 0, func(t *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		{"client vanishes without a word of the process", "deaf", 0, 0, func(t *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		{"client leaves", "deaf", 0, 0, func(t *testing.T, ws *websocket.Conn) { _ = ws.Close(websocket.StatusNormalClosure, "") }},
		{"client names an unknown channel to close", "deaf", 0, 0, func(t *testing.T, ws *websocket.Conn) {
			send(t, ws, "\xff\x63")
			_, _, _ = receive(t, ws)
		}},
		{"client closes no channel", "deaf", 0, 0, func(t *testing.T, ws *websocket.Conn) {
			send(t, ws, "\xff")
			_, _, _ = receive(t, ws)
		}},
		{"client reads nothing, and vanishes", "flood", time.Hour, 0, func(t *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		{"client reads nothing, for ever", "flood", 5 * time.Hour, 0, func(t *testing.T, ws *websocket.Conn) {}},
		{"process reads nothing", "deaf", 0, 6 * time.Hour, func(t *testing.T, ws *websocket.Conn) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sent := 0
			for ; ws.Write(ctx, websocket.MessageBinary, make([]byte, 32<<10)) == nil; sent += 32 << 10 {
			}
			require.Less(t, sent, 32<<20)
		}},
		{"node sends where it must not", "nosy", 0, 0, func(t *testing.T, ws *websocket.Conn) { _ = ws.CloseNow() }},
		{"nothing happens", "deaf", 0, 0, func(t *testing.T, ws *websocket.Conn) {
			began := time.Now()
			_, _, _ = receive(t, ws)
			require.Equal(t, 4*time.Hour, time.Since(began))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := 0
				s, n := besideOldNode(t, apiserver.Metrics{Translated: func(int) { ended++ }})
				ws, _, err := s.socket(t, "exec?stdin=1&stdout=1&command="+c.command, v5)
				require.NoError(t, err)
				synctest.Wait()
				written := n.written.Load()
				require.Less(t, written, int64(32<<20))
				time.Sleep(c.idle)
				require.Equal(t, written, n.written.Load(), "the process waits for the client")
				c.client(t, ws)
				time.Sleep(c.late + 10*time.Second)
				synctest.Wait()
				require.Equal(t, 1, ended)
				require.EqualValues(t, 1, n.ended.Load(), "the node knows")
			})
		})
	}
}

// TestShutdownEndsTranslatedStreams.
func TestShutdownEndsTranslatedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := besideOldNode(t, apiserver.Metrics{})
		ws, _, err := s.socket(t, "exec?stdout=1&command=deaf", v5)
		require.NoError(t, err)
		synctest.Wait()
		go s.stop()
		_, _, _ = receive(t, ws)
		synctest.Wait()
		require.EqualValues(t, 1, n.ended.Load())
	})
}

// TestWebSocketsThatNodesServe: requests that a node serves itself, or that no protocol of this server is
// for, arrive as they are.
func TestWebSocketsThatNodesServe(t *testing.T) {
	for _, c := range []struct{ feature, path, protocol string }{
		{"ExtendWebSocketsToKubelet", "exec?command=cat&stdout=1", v5},
		{"ExtendWebSocketsToKubelet", "portforward", "SPDY/3.1+portforward.k8s.io"},
		{"", "exec?command=cat&stdout=1", "v4.channel.k8s.io"},
		{"", "portforward?ports=80", "v4.channel.k8s.io"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var features []string
			if c.feature != "" {
				features = []string{c.feature}
			}
			translated := map[bool]int{}
			s, n := besideOldNode(t, apiserver.Metrics{Streamed: func(_ string, t bool) { translated[t]++ }}, features...)
			_, resp, err := s.socket(t, c.path, c.protocol)
			require.Error(t, err)
			b, _ := io.ReadAll(resp.Body)
			require.Equal(t, "SPDY only\n", string(b))
			require.Equal(t, "websocket", n.asked.Get("Upgrade"))
			require.Equal(t, c.protocol, n.asked.Get("Sec-Websocket-Protocol"))
			require.Equal(t, map[bool]int{c.feature == "": 1}, translated)
		})
	}
}

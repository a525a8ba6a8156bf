package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/moby/spdystream"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/client/stream"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// node is a server that runs "processes": exec copies stdin to stdout, writes "err" to stderr and ends with
// code 7.
type node struct {
	refuseWebSocket bool
	mu              sync.Mutex
	sizes           []stream.Size
	query           string
}

const status7 = `{"metadata":{},"status":"Failure","message":"command terminated with exit code 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}`

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.query = r.URL.RawQuery
	n.mu.Unlock()
	switch {
	case strings.Contains(r.URL.Path, "/absent/"):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(404)
		answer := apierrors.NewNotFound(struct{ Group, Resource string }{"", "pods"}, "absent").Status()
		answer.Kind, answer.APIVersion = "Status", "v1"
		_ = json.NewEncoder(w).Encode(answer)
	case strings.HasSuffix(r.URL.Path, "/log"):
		for i := range 3 {
			fmt.Fprintf(w, "line %d\n", i)
		}
		io.WriteString(w, "unfinished")
	case r.Header.Get("Upgrade") == "websocket":
		if n.refuseWebSocket {
			http.Error(w, "no websockets here", http.StatusForbidden)
			return
		}
		n.webSocket(w, r)
	default:
		n.spdy(w, r)
	}
}

func (n *node) webSocket(w http.ResponseWriter, r *http.Request) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v5.channel.k8s.io", "SPDY/3.1+portforward.k8s.io"}, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ctx := context.Background()
	if strings.HasPrefix(ws.Subprotocol(), "SPDY") {
		n.forward(websocket.NetConn(ctx, ws, websocket.MessageBinary))
		return
	}
	for {
		_, msg, err := ws.Read(ctx)
		if err != nil {
			return
		}
		switch msg[0] {
		case 0:
			msg[0] = 1
			_ = ws.Write(ctx, websocket.MessageBinary, msg)
		case 4:
			var s stream.Size
			_ = json.Unmarshal(msg[1:], &s)
			n.mu.Lock()
			n.sizes = append(n.sizes, s)
			n.mu.Unlock()
		case 255:
			_ = ws.Write(ctx, websocket.MessageBinary, []byte("\x02err"))
			_ = ws.Write(ctx, websocket.MessageBinary, append([]byte{3}, status7...))
			ws.Close(websocket.StatusNormalClosure, "")
			return
		}
	}
}

func (n *node) spdy(w http.ResponseWriter, r *http.Request) {
	version, _, _ := strings.Cut(r.Header.Get("X-Stream-Protocol-Version"), ",")
	w.Header().Set("X-Stream-Protocol-Version", version)
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "SPDY/3.1")
	w.WriteHeader(http.StatusSwitchingProtocols)
	raw, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	raw = hijacked{raw, rw.Reader}
	if version == "portforward.k8s.io" {
		n.forward(raw)
		return
	}
	conn, err := spdystream.NewConnection(raw, true)
	if err != nil {
		return
	}
	streams := make(chan *spdystream.Stream, 8)
	go conn.Serve(func(s *spdystream.Stream) {
		_ = s.SendReply(http.Header{}, false)
		streams <- s
	})
	by := map[string]*spdystream.Stream{}
	for len(by) < 4 {
		s := <-streams
		by[s.Headers().Get("streamType")] = s
	}
	_, _ = io.Copy(by["stdout"], by["stdin"])
	_ = by["stdin"].Reset() // what is left of it
	_ = by["stdout"].Close()
	_, _ = by["stderr"].Write([]byte("err"))
	_ = by["stderr"].Close()
	_, _ = by["error"].Write([]byte(status7))
	_ = by["error"].Close()
	<-conn.CloseChan()
	raw.Close()
}

// hijacked reads first what the HTTP server has read already.
type hijacked struct {
	net.Conn
	r io.Reader
}

func (h hijacked) Read(p []byte) (int, error) { return h.r.Read(p) }

// forward echoes on every port but 1.
func (n *node) forward(raw net.Conn) {
	conn, err := spdystream.NewConnection(raw, true)
	if err != nil {
		return
	}
	var mu sync.Mutex
	errs := map[string]*spdystream.Stream{}
	conn.Serve(func(s *spdystream.Stream) {
		id := s.Headers().Get("requestID")
		mu.Lock()
		if s.Headers().Get("streamType") == "error" {
			errs[id] = s
		}
		e := errs[id]
		mu.Unlock()
		// The client opens the stream of data when it has the reply for that of the error.
		_ = s.SendReply(http.Header{}, false)
		if e == s {
			return
		}
		go func() {
			if s.Headers().Get("port") == "1" {
				_, _ = e.Write([]byte("nobody listens"))
				_ = e.Close()
				return
			}
			_, _ = io.Copy(s, s)
			_ = s.Close()
			_ = e.Close()
		}()
	})
	raw.Close()
}

var pod = types.NamespacedName{Namespace: "default", Name: "p"}

func start(t *testing.T, n *node) *rest.Conn {
	s := clienttest.Start(t, clienttest.Options{Handler: n})
	return s.Conn(t, rest.Options{})
}

func TestExec(t *testing.T) {
	for _, tc := range []struct {
		name   string
		proto  stream.Protocol
		refuse bool
	}{{"websocket", stream.Auto, false}, {"fall back", stream.Auto, true}, {"spdy", stream.SPDY, false}} {
		t.Run(tc.name, func(t *testing.T) {
			n := &node{refuseWebSocket: tc.refuse}
			c := start(t, n)
			var out, errs bytes.Buffer
			in := strings.Repeat("0123456789", 20_000)
			err := stream.Exec(t.Context(), c, pod, stream.Options{
				Container: "c", Command: []string{"sh", "-c", "cat; exit 7"}, Stdin: strings.NewReader(in), Stdout: &out, Stderr: &errs, Protocol: tc.proto,
			})
			var exit *stream.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, 7, exit.Code)
			require.Equal(t, in, out.String())
			require.Equal(t, "err", errs.String())
			require.Equal(t, "command=sh&command=-c&command=cat%3B+exit+7&container=c&stderr=true&stdin=true&stdout=true", n.query)
		})
	}
}

func TestExecErrors(t *testing.T) {
	c := start(t, &node{})
	absent := types.NamespacedName{Namespace: "default", Name: "absent"}
	err := stream.Exec(t.Context(), c, absent, stream.Options{Command: []string{"x"}, Stdout: io.Discard})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	require.Error(t, stream.Exec(t.Context(), c, pod, stream.Options{Stdout: io.Discard}))
	require.Error(t, stream.Exec(t.Context(), c, pod, stream.Options{Command: []string{"x"}}))
	require.Error(t, stream.Attach(t.Context(), c, pod, stream.Options{TTY: true, Stderr: io.Discard}))
	for _, p := range []stream.Protocol{stream.WebSocket, stream.SPDY} {
		ctx, cancel := context.WithCancel(t.Context())
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "x") }()
		err = stream.Attach(ctx, c, pod, stream.Options{Stdin: r, Stdout: onWrite(cancel), Stderr: io.Discard, Protocol: p})
		require.ErrorIs(t, err, context.Canceled)
		_ = w.Close()
	}
}

// onWrite is a writer that calls a function instead.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestResize(t *testing.T) {
	n := &node{}
	c := start(t, n)
	sizes := make(chan stream.Size)
	r, w := io.Pipe()
	go func() {
		sizes <- stream.Size{Width: 80, Height: 24}
		sizes <- stream.Size{Width: 100, Height: 30}
		close(sizes)
		w.Close()
	}()
	_ = stream.Attach(t.Context(), c, pod, stream.Options{Stdin: r, Stdout: io.Discard, TTY: true, Sizes: sizes})
	n.mu.Lock()
	defer n.mu.Unlock()
	require.Contains(t, n.sizes, stream.Size{Width: 80, Height: 24})
}

func TestForward(t *testing.T) {
	for _, proto := range []stream.Protocol{stream.WebSocket, stream.SPDY} {
		t.Run(fmt.Sprint(proto), func(t *testing.T) {
			c := start(t, &node{})
			f, err := stream.Forward(t.Context(), c, pod, proto)
			require.NoError(t, err)
			defer f.Close()
			l := pipenet.New()
			served := make(chan error, 1)
			go func() { served <- f.Serve(l, 80) }()
			var wg sync.WaitGroup
			for i := range 10 {
				wg.Go(func() {
					conn, err := l.Dial(t.Context(), "", "")
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					want := bytes.Repeat([]byte{byte('a' + i)}, 1<<20)
					go func() {
						_, _ = conn.Write(want)
						_ = conn.(interface{ CloseWrite() error }).CloseWrite()
					}()
					got, err := io.ReadAll(conn)
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("connection %d: %d bytes, %v", i, len(got), err)
					}
				})
			}
			wg.Wait()
			conn, err := f.Dial(t.Context(), 1)
			require.NoError(t, err)
			_, err = conn.Read(make([]byte, 1))
			var pe *stream.PortError
			require.ErrorAs(t, err, &pe)
			conn.Close()
			require.NoError(t, f.Close())
			require.NoError(t, <-served)
			_, err = f.Dial(t.Context(), 80)
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
}

// The error of a forward is the server's, not that of the libraries in between.
func TestForwardToAnAbsentPod(t *testing.T) {
	for _, proto := range []stream.Protocol{stream.Auto, stream.WebSocket, stream.SPDY} {
		_, err := stream.Forward(t.Context(), start(t, &node{}), types.NamespacedName{Namespace: "default", Name: "absent"}, proto)
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.EqualError(t, err, `stream: portforward default/absent: pods "absent" not found`)
	}
}

func TestLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		c := start(t, n)
		var lines []string
		for l, err := range stream.LogLines(t.Context(), c, pod, stream.LogOptions{Follow: true, Tail: new(int64(3)), Since: 1500 * time.Millisecond, Timestamps: true}) {
			require.NoError(t, err)
			lines = append(lines, l)
		}
		require.Equal(t, []string{"line 0", "line 1", "line 2", "unfinished"}, lines)
		require.Equal(t, "follow=true&sinceSeconds=2&tailLines=3&timestamps=true", n.query)
		_, err := stream.Logs(t.Context(), c, pod, stream.LogOptions{Since: time.Second, SinceTime: time.Now()})
		require.Error(t, err)
	})
}

// TestForwardEndsWithUnreadData: data that is not read keeps no Forwarder from closing.
func TestForwardEndsWithUnreadData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := stream.Forward(t.Context(), start(t, &node{}), pod, stream.SPDY)
		require.NoError(t, err)
		conn, err := f.Dial(t.Context(), 80)
		require.NoError(t, err)
		_, err = conn.Write(make([]byte, 1000))
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, f.Close())
	})
}

// TestExecEndsWithItsOutput: a process whose output cannot be written is left at once, even if it continues.
func TestExecEndsWithItsOutput(t *testing.T) {
	for _, p := range []stream.Protocol{stream.WebSocket, stream.SPDY} {
		synctest.Test(t, func(t *testing.T) {
			in, more := io.Pipe()
			defer more.Close()
			go func() {
				for range 1000 {
					if _, err := more.Write(make([]byte, 1000)); err != nil {
						return
					}
				}
			}()
			out, closed := io.Pipe()
			require.NoError(t, out.CloseWithError(io.ErrShortWrite))
			err := stream.Attach(t.Context(), start(t, &node{}), pod, stream.Options{Stdin: in, Stdout: closed, Stderr: io.Discard, Protocol: p})
			require.ErrorIs(t, err, io.ErrShortWrite)
			in.Close()
		})
	}
}

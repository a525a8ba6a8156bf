package stream

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestSlowPeersStayConnected keeps connections whose peer does not reply to a ping, or does not read what is
// written, for a while.
func TestSlowPeersStayConnected(t *testing.T) {
	for _, c := range []struct {
		name        string
		reply, read time.Duration // what the peer sends is late, and how long it does not read
		ended       bool
	}{
		{"late reply", 50 * time.Second, 0, false},
		{"no reply", 70 * time.Second, 0, true},
		// Not at a multiple of 5 s: a ping that waits for the end of a write gives up after that time, and
		// one that gets its turn at the same moment ends the connection.
		{"late reader", 0, 52 * time.Second, false},
		{"no reader", 0, 70 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				dialer := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}}
				go servePeer(t.Context(), far, c.reply, c.read)
				ws, _, err := websocket.Dial(t.Context(), "ws://peer/", &websocket.DialOptions{HTTPClient: dialer})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); keepAlive(ctx, ws) }()
				go func() { _, _, _ = ws.Read(ctx) }()
				written := make(chan error, 1)
				go func() { written <- ws.Write(ctx, websocket.MessageBinary, make([]byte, 1<<20)) }()
				time.Sleep(2 * time.Minute)
				select {
				case <-ended:
					require.True(t, c.ended)
				default:
					require.False(t, c.ended)
					require.NoError(t, <-written)
				}
				cancel()
				ws.CloseNow()
				<-ended
			})
		})
	}
}

// servePeer is the other end. What it sends after the handshake arrives later, and it reads late.
func servePeer(ctx context.Context, conn net.Conn, reply, read time.Duration) {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	late := &lateWriter{Conn: conn, pause: reply, chunks: make(chan []byte, 100)}
	defer close(late.chunks)
	peer, err := websocket.Accept(&onPipe{late, http.Header{}}, r, nil)
	if err != nil {
		return
	}
	defer peer.CloseNow()
	peer.SetReadLimit(2 << 20)
	go late.run()
	time.Sleep(read)
	for err == nil {
		_, _, err = peer.Read(ctx)
	}
}

// lateWriter passes the first write on at once and all others later, like a network with much in its buffers.
type lateWriter struct {
	net.Conn
	pause  time.Duration
	begun  bool
	chunks chan []byte
}

func (l *lateWriter) Write(p []byte) (int, error) {
	if !l.begun {
		l.begun = true
		return l.Conn.Write(p)
	}
	l.chunks <- bytes.Clone(p)
	return len(p), nil
}

func (l *lateWriter) run() {
	time.Sleep(l.pause)
	for p := range l.chunks {
		_, _ = l.Conn.Write(p)
	}
}

// onPipe is a response to a request that was read from a pipe.
type onPipe struct {
	net.Conn
	header http.Header
}

func (p *onPipe) Header() http.Header { return p.header }

func (p *onPipe) WriteHeader(status int) {
	var head bytes.Buffer
	_ = (&http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: p.header}).Write(&head)
	_, _ = p.Write(head.Bytes())
}

func (p *onPipe) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return p.Conn, bufio.NewReadWriter(bufio.NewReader(p.Conn), bufio.NewWriter(p.Conn)), nil
}

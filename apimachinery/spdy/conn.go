// Package spdy is the client's side of SPDY/3.1 as nodes speak it, for what lies on both sides of the API
// server and for the kubelet at its container runtime: [Conn] opens streams, [Conn.Run] carries those of a
// process, [Outcome] is how that ended, and [Conn.OpenPort] connects to a port. Its tests are in
// client/stream, store/apiserver and controllers/internal/nodestream.
package spdy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/moby/spdystream"
)

// patience is how long the peer may take to accept a stream.
const patience = 30 * time.Second

// upgraded is an upgraded connection as a net.Conn. Deadlines are not supported.
type upgraded struct{ io.ReadWriteCloser }

type address struct{}

func (address) Network() string { return "upgraded" }
func (address) String() string  { return "upgraded" }

func (upgraded) LocalAddr() net.Addr              { return address{} }
func (upgraded) RemoteAddr() net.Addr             { return address{} }
func (upgraded) SetDeadline(time.Time) error      { return nil }
func (upgraded) SetReadDeadline(time.Time) error  { return nil }
func (upgraded) SetWriteDeadline(time.Time) error { return nil }

// Conn is a connection on which this side opens the streams. What the peer sends is read no faster than the
// streams are read.
type Conn struct {
	conn *spdystream.Connection
	raw  io.Closer
	done chan struct{}
	// reports are being read of ports.
	reports sync.WaitGroup

	mu      sync.Mutex
	aborted bool
	streams map[*Stream]struct{}
	ports   int // how many connections to ports have been opened
}

// New runs SPDY over a connection, which it owns. Conn.End must be called unless New fails.
func New(raw io.ReadWriteCloser) (*Conn, error) {
	over, ok := raw.(net.Conn)
	if !ok {
		over = upgraded{raw}
	}
	conn, err := spdystream.NewConnection(over, false)
	if err != nil {
		raw.Close()
		return nil, err
	}
	c := &Conn{conn: conn, raw: raw, done: make(chan struct{}), streams: map[*Stream]struct{}{}}
	go func() {
		defer close(c.done)
		// A reset also frees what the peer has sent on a stream of its own, which is not read.
		conn.Serve(func(st *spdystream.Stream) { _ = st.Reset() })
	}()
	return c, nil
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Abort closes the connection and all its streams, without waiting.
func (c *Conn) Abort() {
	c.raw.Close()
	c.mu.Lock()
	c.aborted = true
	streams := c.streams
	c.streams = nil
	c.mu.Unlock()
	for st := range streams {
		// What the peer has sent and is not read would keep the connection from ending.
		_ = st.Stream.Reset()
	}
}

// End closes the connection and returns when its goroutines have.
func (c *Conn) End() {
	c.Abort()
	<-c.done
	c.reports.Wait()
}

// Stream is one stream of a connection.
type Stream struct {
	*spdystream.Stream
	conn *Conn
}

// Reset ends both directions.
func (s *Stream) Reset() error {
	s.conn.mu.Lock()
	delete(s.conn.streams, s)
	s.conn.mu.Unlock()
	return s.Stream.Reset()
}

// Open opens a stream, and returns when the peer has accepted it.
func (c *Conn) Open(headers http.Header) (*Stream, error) {
	st, err := c.conn.CreateStream(headers, nil, false)
	if err != nil {
		return nil, err
	}
	s := &Stream{Stream: st, conn: c}
	if err := c.accepted(st); err != nil {
		_ = st.Reset()
		return nil, err
	}
	c.mu.Lock()
	aborted := c.aborted
	if !aborted {
		c.streams[s] = struct{}{}
	}
	c.mu.Unlock()
	if aborted {
		_ = st.Reset()
		return nil, net.ErrClosed
	}
	return s, nil
}

// accepted waits until the peer has accepted a stream.
func (c *Conn) accepted(st *spdystream.Stream) error {
	// A wait does not end with the connection, and cannot be cancelled.
	const step = 100 * time.Millisecond
	for waited := time.Duration(0); waited < patience; waited += step {
		if err := st.WaitTimeout(step); !errors.Is(err, spdystream.ErrTimeout) {
			return err
		}
		select {
		case <-c.done:
			return fmt.Errorf("the connection ended before a stream was accepted: %w", io.ErrUnexpectedEOF)
		default:
		}
	}
	return spdystream.ErrTimeout
}

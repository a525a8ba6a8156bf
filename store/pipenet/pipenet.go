// Package pipenet is a network in memory: a net.Listener to which Dial connects.
// Connections are buffered, honor deadlines, and wait only on condition variables and package time, so that
// servers and clients that share a [Listener] work inside a testing/synctest bubble, TLS and HTTP/2 included.
// It has no goroutines.
package pipenet

import (
	"context"
	"net"
	"sync"
)

// Listener accepts the connections that its Dial makes. The zero value is not usable; see [New].
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// New returns a listener. Closing it does not close its connections.
func New() *Listener { return &Listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept waits for a Dial.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and Dial fail with net.ErrClosed.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr is a fixed address, "pipe".
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial connects to the listener and returns when the connection has been accepted. Its signature fits
// http.Transport.DialContext and rest.Config.Dial; network and address are ignored.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := Pair()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: addr{}, Err: net.ErrClosed}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }

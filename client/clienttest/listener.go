// Package clienttest connects clients and servers inside one process, without a network: an in-memory
// listener that works in testing/synctest bubbles, and a real API server behind it.
package clienttest

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Listener is a net.Listener whose connections are made with Dial. Unlike those of net.Pipe its connections
// buffer writes, as the kernel's do. Everything in it works in a bubble, and nothing in it starts a goroutine.
type Listener struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a new listener.
func Listen() *Listener {
	return &Listener{accept: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that were made stay.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr{} }

// Dial connects to the listener, whatever the address. It fits rest.Config.Dial.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := Pipe()
	select {
	case l.accept <- far:
		return near, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: addr{}, Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: addr{}, Err: ctx.Err()}
	}
}

type addr struct{}

func (addr) Network() string { return "memory" }
func (addr) String() string  { return "127.0.0.1:0" }

// Pipe returns the two ends of a connection. Each direction holds up to 64 KiB that were written and not read yet.
func Pipe() (net.Conn, net.Conn) {
	a, b := newStream(), newStream()
	return &end{in: a, out: b}, &end{in: b, out: a}
}

const pipeBuffer = 64 << 10

// stream is one direction.
type stream struct {
	mu     sync.Mutex
	buf    []byte
	wrote  bool // the writing end is closed
	read   bool // the reading end is closed
	change chan struct{}
}

func newStream() *stream { return &stream{change: make(chan struct{})} }

// changed wakes everyone who waits; the lock is held.
func (s *stream) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// deadline is a point in time that can be moved while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	at    time.Time
	moved chan struct{}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	d.at = t
	if d.moved != nil {
		close(d.moved)
		d.moved = nil
	}
	d.mu.Unlock()
}

func (d *deadline) get() (time.Time, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.moved == nil {
		d.moved = make(chan struct{})
	}
	return d.at, d.moved
}

// end is one end of a connection.
type end struct {
	in, out             *stream
	readLine, writeLine deadline
}

// wait blocks until something changes, or the deadline passes.
func wait(change <-chan struct{}, d *deadline) error {
	at, moved := d.get()
	if at.IsZero() {
		select {
		case <-change:
		case <-moved:
		}
		return nil
	}
	left := time.Until(at)
	if left <= 0 {
		return os.ErrDeadlineExceeded
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-change:
	case <-moved:
	case <-t.C:
	}
	return nil
}

// Read implements net.Conn.
func (e *end) Read(p []byte) (int, error) {
	for {
		if at, _ := e.readLine.get(); !at.IsZero() && time.Until(at) <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		s := e.in
		s.mu.Lock()
		switch {
		case s.read:
			s.mu.Unlock()
			return 0, net.ErrClosed
		case len(s.buf) > 0:
			n := copy(p, s.buf)
			if s.buf = s.buf[n:]; len(s.buf) == 0 {
				s.buf = nil
			}
			s.changed()
			s.mu.Unlock()
			return n, nil
		case s.wrote:
			s.mu.Unlock()
			return 0, io.EOF
		}
		change := s.change
		s.mu.Unlock()
		if len(p) == 0 {
			return 0, nil
		}
		if err := wait(change, &e.readLine); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (e *end) Write(p []byte) (int, error) {
	total := 0
	for {
		if at, _ := e.writeLine.get(); !at.IsZero() && time.Until(at) <= 0 {
			return total, os.ErrDeadlineExceeded
		}
		s := e.out
		s.mu.Lock()
		if s.wrote {
			s.mu.Unlock()
			return total, net.ErrClosed
		}
		if s.read {
			s.mu.Unlock()
			return total, io.ErrClosedPipe
		}
		if n := min(len(p), pipeBuffer-len(s.buf)); n > 0 || len(p) == 0 {
			s.buf = append(s.buf, p[:n]...)
			p = p[n:]
			total += n
			s.changed()
		}
		change := s.change
		s.mu.Unlock()
		if len(p) == 0 {
			return total, nil
		}
		if err := wait(change, &e.writeLine); err != nil {
			return total, err
		}
	}
}

// Close implements net.Conn. What was written can still be read by the other end.
func (e *end) Close() error {
	for _, s := range []*stream{e.in, e.out} {
		s.mu.Lock()
		if s == e.in {
			s.read = true
			s.buf = nil
		} else {
			s.wrote = true
		}
		s.changed()
		s.mu.Unlock()
	}
	return nil
}

// CloseWrite ends the outgoing direction: the other end reads io.EOF.
func (e *end) CloseWrite() error {
	e.out.mu.Lock()
	defer e.out.mu.Unlock()
	e.out.wrote = true
	e.out.changed()
	return nil
}

// LocalAddr implements net.Conn.
func (e *end) LocalAddr() net.Addr { return addr{} }

// RemoteAddr implements net.Conn.
func (e *end) RemoteAddr() net.Addr { return addr{} }

// SetDeadline implements net.Conn.
func (e *end) SetDeadline(t time.Time) error {
	e.readLine.set(t)
	e.writeLine.set(t)
	return nil
}

// SetReadDeadline implements net.Conn.
func (e *end) SetReadDeadline(t time.Time) error {
	e.readLine.set(t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (e *end) SetWriteDeadline(t time.Time) error {
	e.writeLine.set(t)
	return nil
}

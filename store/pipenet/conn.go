package pipenet

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// bufferSize is how many bytes one side may write before the other has read them.
const bufferSize = 64 << 10

// Pair returns two connected ends.
func Pair() (a, b net.Conn) {
	x, y := newStream(), newStream()
	return &conn{in: x, out: y}, &conn{in: y, out: x}
}

// stream carries bytes in one direction.
type stream struct {
	mu     sync.Mutex
	change sync.Cond // of anything below
	data   []byte    // data[from:] has been written and not read
	from   int
	sealed bool // the writer closes: writes fail
	ended  bool // the writer has closed: reads return the rest, then io.EOF
	broken bool // the reader has closed: writes fail
	read   deadline
	write  deadline
}

func newStream() *stream {
	s := &stream{}
	s.change.L = &s.mu
	return s
}

// deadline is a point in time after which an operation fails. Guarded by stream.mu.
type deadline struct {
	timer   *time.Timer
	set     uint64 // counts settings, so that a timer that was replaced has no effect
	expired bool
}

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.set++
	d.expired = false
	if !t.IsZero() {
		if wait := time.Until(t); wait <= 0 {
			d.expired = true
		} else {
			set := d.set
			d.timer = time.AfterFunc(wait, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if d.set == set {
					d.expired = true
					s.change.Broadcast()
				}
			})
		}
	}
	s.change.Broadcast()
}

func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.broken:
			return 0, io.ErrClosedPipe
		case s.read.expired:
			return 0, os.ErrDeadlineExceeded
		case s.from < len(s.data):
			n := copy(p, s.data[s.from:])
			s.from += n
			if s.from == len(s.data) {
				s.data, s.from = s.data[:0], 0
			}
			s.change.Broadcast()
			return n, nil
		case s.ended:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		s.change.Wait()
	}
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for {
		switch {
		case s.sealed || s.broken:
			return written, io.ErrClosedPipe
		case s.write.expired:
			return written, os.ErrDeadlineExceeded
		case len(p) == 0:
			return written, nil
		}
		if room := bufferSize - (len(s.data) - s.from); room > 0 {
			n := min(room, len(p))
			if s.from > 0 && len(s.data)+n > cap(s.data) {
				s.data = s.data[:copy(s.data, s.data[s.from:])]
				s.from = 0
			}
			s.data = append(s.data, p[:n]...)
			p = p[n:]
			written += n
			s.change.Broadcast()
			continue
		}
		s.change.Wait()
	}
}

func (s *stream) seal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	s.change.Broadcast()
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed, s.ended = true, true
	s.change.Broadcast()
}

func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken, s.data, s.from = true, nil, 0
	s.change.Broadcast()
}

// conn is one end.
type conn struct{ in, out *stream }

func (c *conn) Read(p []byte) (int, error)  { return c.in.Read(p) }
func (c *conn) Write(p []byte) (int, error) { return c.out.Write(p) }

// Close ends both directions. The other side can still read what was written.
func (c *conn) Close() error {
	// In this order: neither can be written what follows from the end of the reads here, nor be read what the
	// other side writes because of the end.
	c.out.seal()
	c.in.abandon()
	c.out.end()
	_ = c.SetDeadline(time.Time{}) // stops the timers
	return nil
}

// CloseWrite ends this direction only.
func (c *conn) CloseWrite() error {
	c.out.end()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return addr{} }
func (c *conn) RemoteAddr() net.Addr { return addr{} }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.read, t)
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.write, t)
	return nil
}

// Unread returns how many bytes have been written and not read on a connection made by this package, both
// directions together. It is 0 for any other connection.
func Unread(c net.Conn) int {
	p, ok := c.(*conn)
	if !ok {
		return 0
	}
	return p.in.unread() + p.out.unread()
}

func (s *stream) unread() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.data) - s.from
}

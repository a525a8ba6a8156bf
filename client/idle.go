package client

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// idleTimer reads a stream and closes it when no byte has been received for limit while a read waited. Every
// byte counts, so a large event on a slow connection is not silence.
//
// A timer that has fired does not prove silence: if the process was stopped or had no processor, as under
// load, the timer fires before the data received meanwhile is read. So the reader gets a grace period to do
// that first. How late the timer's goroutine runs says how long goroutines wait for a processor now: what has
// been sent passes through some of them before it is read, those of the server included if it is in the same
// process. The grace period is several times the delay, and while delays are so long that it would be longer
// than limit, the stream is not closed.
type idleTimer struct {
	body  io.ReadCloser
	limit time.Duration
	reads atomic.Int64 // that returned data

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool
	seen    int64 // reads when the timer was set
	due     time.Time
	grace   time.Duration // since the timer fired without a read before it; zero if it has not
	closed  bool
}

func newIdleTimer(limit time.Duration, body io.ReadCloser) *idleTimer {
	s := &idleTimer{body: body, limit: limit}
	s.timer = time.AfterFunc(limit, s.fire)
	s.timer.Stop()
	return s
}

// Read implements io.Reader.
func (s *idleTimer) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.reads.Add(1)
	}
	return n, err
}

// begin starts the wait for an event.
func (s *idleTimer) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	s.reset()
}

// end ends the wait and reports whether the stream was closed for silence.
func (s *idleTimer) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
	s.timer.Stop()
	return s.closed
}

// reset restarts the timer after a read. The last quarter of limit is the grace period.
func (s *idleTimer) reset() {
	s.seen, s.grace = s.reads.Load(), 0
	s.wait(s.limit - s.limit/4)
}

func (s *idleTimer) wait(d time.Duration) {
	s.due = time.Now().Add(d)
	s.timer.Reset(d)
}

func (s *idleTimer) fire() {
	if s.expired(time.Now()) {
		s.body.Close()
	}
}

// goroutinesBetween is about how many goroutines an event passes through from the server's timer of
// bookmarks to the reader.
const goroutinesBetween = 8

// expired reports whether the stream must be closed, and sets the timer if not.
func (s *idleTimer) expired(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	needed := max(s.limit/4, goroutinesBetween*now.Sub(s.due))
	switch {
	case !s.waiting:
	case s.reads.Load() != s.seen:
		s.reset()
	case s.grace < needed:
		s.grace = min(needed, s.limit)
		s.wait(s.grace)
	default:
		s.closed = true
	}
	return s.closed
}

package client

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// silence reads a stream and closes it when no byte has been received for limit while a read waited. Every
// byte counts, so a large event on a slow connection is not silence.
//
// A timer that has fired does not prove silence: if the process was stopped or had no processor, as under
// load, the timer fires before the data received meanwhile is read. So the reader gets a grace period to do
// that first.
type silence struct {
	body  io.ReadCloser
	limit time.Duration
	reads atomic.Int64 // that returned data

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool
	seen    int64 // reads when the timer was set
	grace   bool  // it has fired once without a read since
	closed  bool
}

func newSilence(limit time.Duration, body io.ReadCloser) *silence {
	s := &silence{body: body, limit: limit}
	s.timer = time.AfterFunc(limit, s.fire)
	s.timer.Stop()
	return s
}

// Read implements io.Reader.
func (s *silence) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.reads.Add(1)
	}
	return n, err
}

// begin starts the wait for an event.
func (s *silence) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	s.reset()
}

// end ends the wait and reports whether the stream was closed for silence.
func (s *silence) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
	s.timer.Stop()
	return s.closed
}

// reset restarts the timer after a read. The last quarter of limit is the grace period.
func (s *silence) reset() {
	s.seen, s.grace = s.reads.Load(), false
	s.timer.Reset(s.limit - s.limit/4)
}

func (s *silence) fire() {
	if s.expired() {
		s.body.Close()
	}
}

// expired reports whether the stream must be closed, and sets the timer if not.
func (s *silence) expired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.waiting:
	case s.reads.Load() != s.seen:
		s.reset()
	case !s.grace:
		s.grace = true
		s.timer.Reset(s.limit / 4)
	default:
		s.closed = true
	}
	return s.closed
}

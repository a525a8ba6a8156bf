package client

import (
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// silence reads a stream and closes it when nothing has come for too long while a read waited. Any byte
// counts, so that a large event on a slow line is no silence.
//
// A timer that has fired is no proof by itself: when the program was stopped or had no processor, as under
// load, the timer fires before what has come meanwhile is read. So the reader gets time to do that first.
type silence struct {
	body  io.ReadCloser
	most  time.Duration
	reads atomic.Int64 // that brought something

	mu      sync.Mutex
	timer   *time.Timer
	waiting bool
	seen    int64 // reads when the timer was set
	doubted bool  // it has fired, and nothing had come
	dead    bool
}

func newSilence(most time.Duration, body io.ReadCloser) *silence {
	s := &silence{body: body, most: most}
	s.timer = time.AfterFunc(most, s.fire)
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

// end ends it and reports whether the stream was closed for silence.
func (s *silence) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
	s.timer.Stop()
	return s.dead
}

// reset begins the time again after a sign of life. The last fourth of the time is for the doubt.
func (s *silence) reset() {
	s.seen, s.doubted = s.reads.Load(), false
	s.timer.Reset(s.most - s.most/4)
}

func (s *silence) fire() {
	if s.expired() {
		s.body.Close()
	}
}

// expired reports whether the stream is to be closed, and sets the timer if not.
func (s *silence) expired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.waiting:
	case s.reads.Load() != s.seen:
		s.reset()
	case !s.doubted:
		s.doubted = true
		s.timer.Reset(s.most / 4)
	default:
		s.dead = true
	}
	return s.dead
}

package apiserver

import (
	"slices"
	"sync"
)

// limits counts the requests being served and rejects those over the limits.
type limits struct {
	mu         sync.Mutex
	reading    int // short requests that only read
	writing    int
	long       int
	maxReading int // negative: no bound
	maxWriting int
	waiting    []idleWait
}

// idleWait is a wait for the end of all requests, or of all but long ones.
type idleWait struct {
	long bool
	done chan struct{}
}

func (l *limits) init(reading, writing int) { l.maxReading, l.maxWriting = reading, writing }

// flight is how a request is counted.
type flight uint8

const (
	flightReading flight = iota
	flightWriting
	flightLong
)

// enter counts a request, or reports false if there are too many.
func (l *limits) enter(f flight, exempt bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f {
	case flightReading:
		if l.maxReading >= 0 && l.reading >= l.maxReading && !exempt {
			return false
		}
		l.reading++
	case flightWriting:
		if l.maxWriting >= 0 && l.writing >= l.maxWriting && !exempt {
			return false
		}
		l.writing++
	default:
		l.long++
	}
	return true
}

func (l *limits) leave(f flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f {
	case flightReading:
		l.reading--
	case flightWriting:
		l.writing--
	default:
		l.long--
	}
	l.waiting = slices.DeleteFunc(l.waiting, func(w idleWait) bool {
		if l.count(w.long) > 0 {
			return false
		}
		close(w.done)
		return true
	})
}

// count is the number of requests being served, long-running ones included or not. Called with mu held.
func (l *limits) count(long bool) int {
	if long {
		return l.reading + l.writing + l.long
	}
	return l.reading + l.writing
}

// idle returns a channel that is closed when no request is being served, long-running ones included or not.
func (l *limits) idle(long bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := idleWait{long: long, done: make(chan struct{})}
	if l.count(long) == 0 {
		close(w.done)
	} else {
		l.waiting = append(l.waiting, w)
	}
	return w.done
}

// flight classifies the request.
func (r *request) flight() flight {
	switch {
	case r.info.longRunning():
		return flightLong
	case r.info.Verb == "get" || r.info.Verb == "list" || r.info.Verb == "head" || r.info.Verb == "options":
		return flightReading
	}
	return flightWriting
}

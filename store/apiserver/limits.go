package apiserver

import "sync"

// limits counts the requests being served and turns away what is too much.
type limits struct {
	mu            sync.Mutex
	reading       int // short requests that only read
	writing       int
	long          int
	maxReading    int // negative: no bound
	maxWriting    int
	idleRequested chan struct{} // closed at zero; nil until idle is called
}

func (l *limits) init(reading, writing int) { l.maxReading, l.maxWriting = reading, writing }

// flight says how a request is counted.
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
	if l.idleRequested != nil && l.reading+l.writing+l.long == 0 {
		close(l.idleRequested)
		l.idleRequested = nil
	}
}

// idle returns a channel that is closed when no request is being served.
func (l *limits) idle() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{})
	if l.reading+l.writing+l.long == 0 {
		close(c)
	} else {
		l.idleRequested = c
	}
	return c
}

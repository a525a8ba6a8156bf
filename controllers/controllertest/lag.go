package controllertest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Lag serves the request and delivers all that the response consists of, in order, d later than the server
// writes it: a client that watches is d behind, but loses nothing. [Cluster.Settle] counts what is on its way
// as delivered.
func Lag(d time.Duration) Effect {
	return lag(func() time.Duration { return d }, new(atomic.Int64))
}

// lag is [Lag] with the delay of each call of the ResponseWriter, and counts in pending what is on its way.
func lag(delay func() time.Duration, pending *atomic.Int64) Effect {
	return func(w http.ResponseWriter, r *http.Request, next http.HandlerFunc) {
		ctx, drop := context.WithCancel(r.Context())
		late := &lateReply{
			header: http.Header{}, delay: delay, pending: pending, end: ctx.Done(), ready: make(chan lateStep), sent: make(chan struct{}),
		}
		go late.deliver(w)
		complete := false
		defer func() {
			if !complete { // it panics: nothing more arrives
				drop()
			}
			close(late.ready)
			<-late.sent
			drop()
		}()
		next(late, r)
		complete = true
	}
}

// lateReply is a response that is delivered later.
type lateReply struct {
	header  http.Header
	delay   func() time.Duration
	pending *atomic.Int64   // steps that are waiting
	end     <-chan struct{} // closed when nothing more arrives
	ready   chan lateStep
	sent    chan struct{} // closed when no more is delivered
}

// lateStep is a call of the ResponseWriter that is due at a time.
type lateStep struct {
	due time.Time
	do  func(w http.ResponseWriter)
}

// deliver makes the calls when they are due.
func (l *lateReply) deliver(w http.ResponseWriter) {
	defer close(l.sent)
	var waiting []lateStep
	defer func() { l.pending.Add(-int64(len(waiting))) }()
	more := true // until the handler has returned
	for ready := l.ready; more || len(waiting) > 0; {
		var due <-chan time.Time
		if len(waiting) > 0 {
			due = time.After(time.Until(waiting[0].due))
		}
		select {
		case step, ok := <-ready:
			if !ok {
				more, ready = false, nil
				continue
			}
			waiting = append(waiting, step)
			l.pending.Add(1)
		case <-due:
			waiting[0].do(w)
			waiting = waiting[1:]
			l.pending.Add(-1)
		case <-l.end:
			for more { // the handler may still write
				_, more = <-ready
			}
			return
		}
	}
}

func (l *lateReply) later(do func(w http.ResponseWriter)) {
	l.ready <- lateStep{time.Now().Add(l.delay()), do}
}

func (l *lateReply) Header() http.Header { return l.header }

func (l *lateReply) WriteHeader(code int) {
	header := l.header.Clone()
	l.later(func(w http.ResponseWriter) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(code)
	})
}

func (l *lateReply) Write(p []byte) (int, error) {
	if l.ended() {
		return 0, net.ErrClosed
	}
	header, data := l.header.Clone(), append([]byte(nil), p...)
	l.later(func(w http.ResponseWriter) {
		maps.Copy(w.Header(), header) // without effect after the first one
		_, _ = w.Write(data)          // the handler learns of the end by its context
	})
	return len(p), nil
}

// FlushError is what http.ResponseController calls.
func (l *lateReply) FlushError() error {
	l.later(func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() })
	if l.ended() {
		return net.ErrClosed
	}
	return nil
}

func (l *lateReply) ended() bool {
	select {
	case <-l.end:
		return true
	default:
		return false
	}
}

package apiserver

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// ServeHTTP serves a request. The steps below are the whole path up to the verb.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	begun := time.Now()
	t := &tally{ResponseWriter: w}
	r := &request{Request: hr, server: s, w: t, begun: begun}
	if hr.URL.RawQuery != "" {
		r.query = hr.URL.Query()
	} else {
		r.query = noQuery
	}
	r.info = parseRequest(hr, r.query)
	if hr.Method != http.MethodGet {
		makeRoom()
	}
	defer r.served()
	defer s.finish(r, t)
	defer s.guard(r, t)
	if hr.ContentLength != 0 && r.flight() != flightLong {
		defer r.boundRest(w)
	}
	r.setStandardHeaders()
	if s.opts.ShutdownSendRetryAfter && s.lifecycle.has(ending) && !isProbe(r.info.Path) {
		t.Header().Set("Connection", "close") // with HTTP/2 net/http sends GOAWAY
		r.fail(apierrors.NewTooManyRequests("The apiserver is shutting down, please try again later.", 5))
		return
	}
	if !s.responseHeaders.apply(r) {
		return
	}
	if !s.authenticate(r) || !s.impersonate(r) {
		return
	}
	f := r.flight()
	if !s.admitFlow(r, f) {
		return
	}
	defer s.releaseFlow(r, f)
	if !s.authorize(r) {
		return
	}
	if f != flightLong {
		timeout, err := r.timeout()
		if err != nil {
			r.fail(err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r.Request = r.WithContext(ctx)
		if hr.ContentLength != 0 { // no verb waits longer than that for a body
			stop := context.AfterFunc(ctx, func() {
				r.whileServed(func() {
					if !r.bodyHere.Load() {
						_ = http.NewResponseController(w).SetReadDeadline(begun)
					}
				})
			})
			defer stop()
		}
	}
	s.dispatch(r)
}

var noQuery = url.Values{}

// makeRoom grows the goroutine's stack at once to what most writes come to need. HTTP/2 serves each request
// on a new goroutine, whose stack would otherwise grow in steps, the later ones deep in a decoder, and every
// step adjusts every frame.
//
//go:noinline
func makeRoom() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

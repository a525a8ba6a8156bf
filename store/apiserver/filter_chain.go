package apiserver

import (
	"context"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// ServeHTTP serves a request. The steps below, and then those of serveIdentified, are the whole path up to
// the verb.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	begun := time.Now()
	rec := &responseRecorder{ResponseWriter: w}
	r := &request{Request: hr, server: s, w: rec, begun: begun}
	if hr.URL.RawQuery != "" {
		r.query = hr.URL.Query()
	} else {
		r.query = noQuery
	}
	r.info = parseRequest(hr, r.query)
	if hr.Method != http.MethodGet {
		growStack()
	}
	defer r.finish()
	defer s.measure(r, rec)
	defer r.completeAudit()
	defer s.recoverPanic(r, rec)
	if hr.ContentLength != 0 && r.flight() != flightLong {
		defer r.limitUnreadBody(w)
	}
	r.setStandardHeaders()
	if s.opts.ShutdownSendRetryAfter && s.lifecycle.has(ending) && !isProbe(r.info.Path) {
		rec.Header().Set("Connection", "close") // with HTTP/2 net/http sends GOAWAY
		r.fail(apierrors.NewTooManyRequests("The apiserver is shutting down, please try again later.", 5))
		return
	}
	if !s.responseHeaders.apply(r) {
		return
	}
	if !s.identifyCaller(r, rec) {
		return
	}
	if intercept := s.opts.Intercept; intercept != nil {
		intercept(r.w, r.Request, func(w http.ResponseWriter, hr *http.Request) {
			r.w, r.Request = w, hr
			s.serveIdentified(r, w)
		})
		return
	}
	s.serveIdentified(r, w)
}

// identifyCaller finds out who sends the request, and begins its record.
func (s *Server) identifyCaller(r *request, rec *responseRecorder) bool {
	l := r.lap()
	known := s.authenticate(r, rec)
	l.passed(FilterAuthentication)
	if !known || !s.beginAudit(r, rec) {
		return false
	}
	l.passed(FilterAudit)
	if !s.impersonate(r) {
		return false
	}
	l.passed(FilterImpersonation)
	return true
}

// serveIdentified passes a request whose caller is known on to its verb.
func (s *Server) serveIdentified(r *request, w http.ResponseWriter) {
	f, l := r.flight(), r.lap()
	if !s.admitFlow(r, f) {
		return
	}
	defer s.releaseFlow(r, f)
	l.passed(FilterFlowControl)
	if !s.authorize(r) {
		return
	}
	l.passed(FilterAuthorization)
	if f != flightLong {
		timeout, err := r.timeout()
		if err != nil {
			r.fail(err)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		defer cancel()
		r.Request = r.WithContext(ctx)
		if r.ContentLength != 0 { // no verb waits longer for a body
			stop := context.AfterFunc(ctx, func() {
				r.whileServed(func() {
					if !r.bodyComplete.Load() {
						_ = http.NewResponseController(w).SetReadDeadline(r.begun)
					}
				})
			})
			defer stop()
		}
	}
	s.dispatch(r)
}

var noQuery = url.Values{}

// growStack grows the goroutine's stack at once to the size that most writes need. HTTP/2 serves each request
// on a new goroutine, whose stack would otherwise grow in steps, the later ones deep in a decoder, and every
// step adjusts every frame.
//
//go:noinline
func growStack() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

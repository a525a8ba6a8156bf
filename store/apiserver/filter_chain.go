package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// ServeHTTP answers a request. The steps below are the whole path; what follows authorization is the
// verb's.
func (s *Server) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	begun := time.Now()
	t := &tally{ResponseWriter: w}
	r := &request{Request: hr, server: s, w: t, begun: begun}
	if hr.URL.RawQuery != "" {
		r.query = hr.URL.Query()
	} else {
		r.query = noQuery
	}
	r.info = requestInfo(hr, r.query)
	if hr.Method != http.MethodGet {
		makeRoom()
	}
	defer r.served()
	defer s.finish(r, t)
	defer s.guard(r, t)
	if hr.ContentLength != 0 && r.flight() != flightLong {
		defer r.boundRest(w)
	}
	r.audit()
	if s.refusing.Load() && !probes(r.info.Path) {
		t.Header().Set("Connection", "close") // HTTP/2 says so too, in its own way
		r.fail(apierrors.NewTooManyRequests("The apiserver is shutting down, please try again later.", 5))
		return
	}
	if !s.policy.apply(r) {
		return
	}
	if !s.authenticate(r) || !s.impersonate(r) {
		return
	}
	f := r.flight()
	if !s.enter(r, f) {
		return
	}
	defer s.leave(r, f)
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

// boundRest bounds how long net/http waits for a body that was not asked for: it reads a little of it before
// it answers.
func (r *request) boundRest(w http.ResponseWriter) {
	if !r.bodyHere.Load() {
		_ = http.NewResponseController(w).SetReadDeadline(r.begun.Add(r.server.options.RequestTimeout))
	}
}

var noQuery = url.Values{}

// probes reports whether a path is for those who watch over the server, until its end.
func probes(path string) bool {
	for _, p := range []string{"/readyz", "/livez", "/healthz", "/metrics"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// makeRoom grows the goroutine's stack at once to what most writes come to need. HTTP/2 serves each request
// on a new goroutine, whose stack would otherwise grow in steps, the later ones deep in a decoder, and every
// step adjusts every frame.
//
//go:noinline
func makeRoom() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

// timeout is the time a request gets: the server's, or less if the client says so.
func (r *request) timeout() (time.Duration, error) {
	most := r.server.options.RequestTimeout
	text := r.query.Get("timeout")
	if text == "" {
		return most, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %q is not a duration", text))
	}
	if d == 0 {
		return most, nil
	}
	return min(d, most), nil
}

// tally is a ResponseWriter that remembers what was answered.
type tally struct {
	http.ResponseWriter
	code  int
	bytes int64
}

func (t *tally) WriteHeader(code int) {
	if t.code == 0 {
		t.code = code
	}
	t.ResponseWriter.WriteHeader(code)
}

func (t *tally) Write(b []byte) (int, error) {
	if t.code == 0 {
		t.code = http.StatusOK
	}
	n, err := t.ResponseWriter.Write(b)
	t.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far, also through a writer around ours that only unwraps.
func (t *tally) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController reach the connection.
func (t *tally) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// guard turns a panic into a 500. A handler that gave up on purpose goes on doing so.
func (s *Server) guard(r *request, t *tally) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.logger.Error("a request panicked", "method", r.Method, "path", r.info.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if t.code != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	r.fail(apierrors.NewInternalError(errors.New("the server failed on this request")))
}

func (s *Server) finish(r *request, t *tally) {
	if hook := s.options.Metrics.Request; hook != nil {
		m := r.measurement()
		m.Code, m.Elapsed, m.Outside, m.Bytes, m.BodyBytes = t.code, time.Since(r.begun), r.outside+r.seat.Waited(), t.bytes, int64(len(r.body))
		hook(m)
	}
}

// audit gives the request an id, which the client may have chosen, and sets the headers that every answer
// has.
func (r *request) audit() {
	id := r.Header.Get("Audit-Id")
	if id == "" || len(id) > 64 {
		id = newAuditID()
	}
	h := r.w.Header()
	h["Audit-Id"] = []string{id}
	h["Cache-Control"] = cacheControl
}

var cacheControl = []string{"no-cache, private"}

// everyone is who callers are to a server without an authenticator.
var everyone = &authn.User{Name: "system:unsecured", Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}}

// authenticate finds out who asks.
func (s *Server) authenticate(r *request) bool {
	user := everyone
	if a := s.options.Authenticator; a != nil {
		var err error
		if user, err = s.identify(a, r.Request); user == nil {
			if err != nil {
				s.logger.Info("authentication failed", "path", r.info.Path, "err", err)
			}
			if r.ProtoMajor == 2 {
				r.w.Header().Set("Connection", "close") // so that a caller without credentials pays for a connection each time, not for a stream
			}
			r.fail(apierrors.NewUnauthorized("Unauthorized"))
			return false
		}
	}
	r.Request = r.WithContext(authn.WithUser(r.Context(), user))
	if s.options.Authenticator != nil {
		r.Header.Del("Authorization") // no handler or backend needs the credential
	}
	return true
}

// identify asks an authenticator. The user is nil if it does not know the caller.
func (s *Server) identify(a authn.Authenticator, hr *http.Request) (user *authn.User, err error) {
	if hook := s.options.Metrics.Authenticated; hook != nil {
		defer func(asked time.Time) { hook(hr, user, err, time.Since(asked)) }(time.Now())
	}
	resp, ok, err := a.Authenticate(hr)
	if err != nil || !ok || resp == nil {
		return nil, err
	}
	return resp.User, nil
}

// impersonate lets a caller who may do so act as somebody else.
func (s *Server) impersonate(r *request) bool {
	asked := false
	for h := range r.Header {
		asked = asked || strings.HasPrefix(h, "Impersonate-")
	}
	if !asked {
		return true
	}
	name := r.Header.Get("Impersonate-User")
	groups, uid := r.Header["Impersonate-Group"], r.Header.Get("Impersonate-Uid")
	extra := map[string][]string{}
	for h, v := range r.Header {
		if key, ok := strings.CutPrefix(h, "Impersonate-Extra-"); ok {
			key = strings.ToLower(key)
			if k, err := url.PathUnescape(key); err == nil {
				key = k
			}
			extra[key] = v
		}
	}
	if name == "" {
		if len(groups) > 0 || uid != "" || len(extra) > 0 {
			r.fail(apierrors.NewBadRequest("requests that impersonate groups, a uid or extra fields must impersonate a user too"))
			return false
		}
		return true
	}
	caller := authn.UserFrom(r.Context())
	if err := s.mayImpersonate(r, caller, name, uid, groups, extra); err != nil {
		r.fail(err)
		return false
	}
	r.Header.Del("Impersonate-User")
	r.Header.Del("Impersonate-Group")
	r.Header.Del("Impersonate-Uid")
	for h := range r.Header {
		if strings.HasPrefix(h, "Impersonate-Extra-") {
			r.Header.Del(h)
		}
	}
	r.Request = r.WithContext(authn.WithUser(r.Context(), impersonated(name, uid, groups, extra)))
	return true
}

func impersonated(name, uid string, groups []string, extra map[string][]string) *authn.User {
	u := &authn.User{Name: name, UID: uid, Groups: slices.Clone(groups)}
	if len(extra) > 0 {
		u.Extra = extra
	}
	if account, ok := strings.CutPrefix(name, authn.ServiceAccountPrefix); ok && len(groups) == 0 {
		ns, _, _ := strings.Cut(account, ":")
		u.Groups = append(u.Groups, authn.GroupServiceAccounts, authn.GroupServiceAccounts+":"+ns)
	}
	switch {
	case name == authn.Anonymous:
		if !slices.Contains(u.Groups, authn.GroupUnauthenticated) {
			u.Groups = append(u.Groups, authn.GroupUnauthenticated)
		}
	case !slices.Contains(u.Groups, authn.GroupAuthenticated) && !slices.Contains(u.Groups, authn.GroupUnauthenticated):
		u.Groups = append(u.Groups, authn.GroupAuthenticated)
	}
	return u
}

func (s *Server) mayImpersonate(r *request, caller *authn.User, name, uid string, groups []string, extra map[string][]string) error {
	check := func(group, resource, subresource, namespace, name string) error {
		a := authz.Attributes{User: caller, Verb: "impersonate", ResourceRequest: true, APIGroup: group, APIVersion: "v1",
			Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
		d, reason, err := s.decide(r.Context(), a)
		if d == authz.Allow {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, name,
			errors.New(forbidden(a, reason, err)))
	}
	if account, ok := strings.CutPrefix(name, authn.ServiceAccountPrefix); ok {
		ns, sa, _ := strings.Cut(account, ":")
		if err := check("", "serviceaccounts", "", ns, sa); err != nil {
			return err
		}
	} else if err := check("", "users", "", "", name); err != nil {
		return err
	}
	for _, g := range groups {
		if err := check("", "groups", "", "", g); err != nil {
			return err
		}
	}
	if uid != "" {
		if err := check("authentication.k8s.io", "uids", "", "", uid); err != nil {
			return err
		}
	}
	for k, values := range extra {
		for _, v := range values {
			if err := check("authentication.k8s.io", "userextras", k, "", v); err != nil {
				return err
			}
		}
	}
	return nil
}

// flight says how the request is counted.
func (r *request) flight() flight {
	switch {
	case r.info.long():
		return flightLong
	case r.info.Verb == "get" || r.info.Verb == "list" || r.info.Verb == "head" || r.info.Verb == "options":
		return flightReading
	}
	return flightWriting
}

// authorize finds out whether the caller may.
func (s *Server) authorize(r *request) bool {
	if s.options.Authorizer == nil {
		return true
	}
	a := r.attributes()
	switch a.Verb {
	case "list", "watch", "deletecollection":
		a.FieldSelector, a.LabelSelector = r.query.Get("fieldSelector"), r.query.Get("labelSelector")
	}
	if err := r.permitted(r.Context(), a); err != nil {
		r.fail(err)
		return false
	}
	return true
}

// mayCreate finds out whether the caller of an update or a patch may make the object, because it is missing,
// or that of a WebSocket what it is for.
func (r *request) mayCreate(ctx context.Context) error {
	a := r.attributes()
	a.Verb = "create"
	return r.permitted(ctx, a)
}

// permitted returns why a caller may not do what a says: a 403, or a 500 if no authorizer could decide, so
// that asking again may help.
func (r *request) permitted(ctx context.Context, a authz.Attributes) error {
	d, reason, err := r.server.permit(ctx, a)
	switch {
	case d == authz.Allow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(fmt.Errorf("authorization: %w", err))
	case !a.ResourceRequest:
		return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(forbidden(a, reason, nil)))
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}, a.Name, errors.New(forbidden(a, reason, nil)))
}

// attributes are what decisions about the request are made of, but for selectors.
func (r *request) attributes() authz.Attributes {
	return authz.Attributes{
		User: authn.UserFrom(r.Context()), Verb: r.info.Verb, ResourceRequest: r.info.Resource, Path: r.info.Path,
		APIGroup: r.info.GVR.Group, APIVersion: r.info.GVR.Version, Resource: r.info.GVR.Resource,
		Subresource: r.info.Subresource, Namespace: r.info.Namespace, Name: r.info.Name,
	}
}

// permit decides about a whole request.
func (s *Server) permit(ctx context.Context, a authz.Attributes) (d authz.Decision, reason string, err error) {
	if hook := s.options.Metrics.Authorized; hook != nil {
		defer func(asked time.Time) { hook(d, err, time.Since(asked)) }(time.Now())
	}
	return s.decide(ctx, a)
}

func (s *Server) decide(ctx context.Context, a authz.Attributes) (authz.Decision, string, error) {
	if s.options.Authorizer == nil {
		return authz.Allow, "", nil
	}
	return s.options.Authorizer.Authorize(ctx, a)
}

// forbidden says who may not do what, in the words tools look for.
func forbidden(a authz.Attributes, reason string, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "User %s cannot %s ", strconv.Quote(a.User.Name), a.Verb)
	if !a.ResourceRequest {
		fmt.Fprintf(&b, "path %s", strconv.Quote(a.Path))
	} else {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		fmt.Fprintf(&b, "resource %s in API group %s", strconv.Quote(resource), strconv.Quote(a.APIGroup))
		if a.Namespace != "" && a.Resource != "namespaces" {
			fmt.Fprintf(&b, " in the namespace %s", strconv.Quote(a.Namespace))
		} else {
			b.WriteString(" at the cluster scope")
		}
	}
	if reason != "" {
		b.WriteString(": " + reason)
	}
	if err != nil && reason == "" {
		b.WriteString(": " + err.Error())
	}
	return b.String()
}

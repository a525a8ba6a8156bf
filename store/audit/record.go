package audit

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// maxUserAgent is the length in bytes to which user agents are truncated.
const maxUserAgent = 1024

// Annotations by which the decision about a request is recorded.
const (
	DecisionAnnotation = "authorization.k8s.io/decision"
	ReasonAnnotation   = "authorization.k8s.io/reason"
)

// Record collects what is known of one request and passes its events on. A nil Record is that of a request
// that is not recorded; its methods do nothing. All methods may be called concurrently.
type Record struct {
	options  *Options
	decision Decision

	mu     sync.Mutex
	event  auditv1.Event
	shared bool // an event with these annotations has been passed on
	ended  bool
}

// Begin returns the record of a request that arrived at received, or nil if the policy records nothing of it.
// a.User is the authenticated user, nil if there is none.
func (o *Options) Begin(r *http.Request, received time.Time, id string, a *authz.Attributes) *Record {
	if o.Policy == nil || o.Backend == nil {
		return nil
	}
	d := o.Policy.Decide(a)
	if o.Metrics.Level != nil {
		o.Metrics.Level(d.Level)
	}
	if d.Level == auditv1.LevelNone {
		return nil
	}
	rec := &Record{options: o, decision: d}
	e := &rec.event
	e.SetGroupVersionKind(auditv1.GroupVersion.WithKind("Event"))
	e.Level, e.AuditID, e.RequestURI, e.Verb = d.Level, types.UID(id), r.URL.RequestURI(), a.Verb
	e.RequestReceivedTimestamp = metav1.NewMicroTime(received)
	e.SourceIPs = sourceIPs(r)
	if e.UserAgent = r.UserAgent(); len(e.UserAgent) > maxUserAgent {
		e.UserAgent = strings.ToValidUTF8(e.UserAgent[:maxUserAgent], "") + "...TRUNCATED"
	}
	if a.User != nil {
		e.User = userInfo(a.User)
	}
	if a.ResourceRequest {
		e.ObjectRef = &auditv1.ObjectReference{Namespace: a.Namespace, Name: a.Name, Resource: a.Resource,
			Subresource: a.Subresource, APIGroup: a.APIGroup, APIVersion: a.APIVersion}
	}
	return rec
}

// userInfo shares what the user has, which is immutable.
func userInfo(u *authn.User) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.Name, UID: u.UID, Groups: u.Groups}
	if len(u.Extra) > 0 {
		info.Extra = make(map[string]authenticationv1.ExtraValue, len(u.Extra))
		for k, v := range u.Extra {
			info.Extra[k] = v
		}
	}
	return info
}

// sourceIPs returns the addresses of the client and of proxies, as the headers have them, and that of the
// connection.
func sourceIPs(r *http.Request) (ips []string) {
	add := func(text string) {
		if a, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil {
			ips = append(ips, a.Unmap().String())
		}
	}
	if forwarded := r.Header.Get("X-Forwarded-For"); forwarded != "" {
		for part := range strings.SplitSeq(forwarded, ",") {
			add(part)
		}
	}
	if real := r.Header.Get("X-Real-Ip"); real != "" {
		n := len(ips)
		if add(real); len(ips) > n && slices.Contains(ips[:n], ips[n]) {
			ips = ips[:n]
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	n := len(ips)
	if add(host); n > 0 && len(ips) > n && ips[n] == ips[n-1] {
		ips = ips[:n]
	}
	return ips
}

// Wants reports whether the bodies of requests (with LevelRequest) or of responses (with
// LevelRequestResponse) are recorded.
func (r *Record) Wants(level auditv1.Level) bool {
	return r != nil && slices.Index(levels, r.decision.Level) >= slices.Index(levels, level)
}

// Annotate adds an annotation. The first value of a key stays.
func (r *Record) Annotate(key, value string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, has := r.event.Annotations[key]; has || r.ended {
		return
	}
	switch {
	case r.event.Annotations == nil:
		r.event.Annotations = make(map[string]string, 2)
	case r.shared:
		r.event.Annotations = maps.Clone(r.event.Annotations)
	}
	r.shared = false
	r.event.Annotations[key] = value
}

// Impersonated records the user as whom the request is served, and the verb by which that is allowed; it is
// empty if the caller may impersonate this user whatever the request does.
func (r *Record) Impersonated(u *authn.User, constraint string) {
	if r == nil {
		return
	}
	info := userInfo(u)
	r.change(func(e *auditv1.Event) {
		if e.ImpersonatedUser = &info; constraint != "" {
			e.AuthenticationMetadata = &auditv1.AuthenticationMetadata{ImpersonationConstraint: constraint}
		}
	})
}

// Reference records what the body of the request says about its object, where the path does not say it.
func (r *Record) Reference(m *metav1.ObjectMeta) {
	if r == nil {
		return
	}
	r.change(func(e *auditv1.Event) {
		ref := auditv1.ObjectReference{}
		if e.ObjectRef != nil {
			ref = *e.ObjectRef
		}
		setEmpty(&ref.Namespace, m.Namespace)
		setEmpty(&ref.Name, m.Name)
		setEmpty(&ref.UID, m.UID)
		setEmpty(&ref.ResourceVersion, m.ResourceVersion)
		e.ObjectRef = &ref
	})
}

func setEmpty[S ~string](p *S, v S) {
	if *p == "" {
		*p = v
	}
}

// RequestBody records the object of the request, JSON that must not be changed afterwards, at the levels that
// have it.
func (r *Record) RequestBody(object []byte) {
	if r.Wants(auditv1.LevelRequest) {
		object = r.shown(object)
		r.change(func(e *auditv1.Event) { e.RequestObject = &metav1.RawExtension{Raw: object} })
	}
}

// ResponseBody records the object of the response as RequestBody does that of the request.
func (r *Record) ResponseBody(object []byte) {
	if r.Wants(auditv1.LevelRequestResponse) {
		object = r.shown(object)
		r.change(func(e *auditv1.Event) { e.ResponseObject = &metav1.RawExtension{Raw: object} })
	}
}

func (r *Record) shown(object []byte) []byte {
	if r.decision.OmitManagedFields {
		return withoutManagedFields(object)
	}
	return object
}

// Status records the Status that is the response, except for its list metadata.
func (r *Record) Status(s *metav1.Status) {
	if r == nil {
		return
	}
	r.change(func(e *auditv1.Event) {
		e.ResponseStatus = &metav1.Status{Status: s.Status, Message: s.Message, Reason: s.Reason, Details: s.Details, Code: s.Code}
	})
}

func (r *Record) change(f func(*auditv1.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		f(&r.event)
	}
}

// Received passes on the event of the stage RequestReceived. An error refuses the request.
func (r *Record) Received(ctx context.Context) error {
	if r == nil {
		return nil
	}
	err := r.send(ctx, auditv1.StageRequestReceived)
	if err != nil && r.options.Metrics.Rejected != nil {
		r.options.Metrics.Rejected()
	}
	return err
}

// Responding records the code of a response whose header is being written, and, if it is that of a
// long-running request, passes on the event of the stage ResponseStarted.
func (r *Record) Responding(ctx context.Context, code int, long bool) {
	if r == nil {
		return
	}
	r.change(func(e *auditv1.Event) {
		s := metav1.Status{}
		if e.ResponseStatus != nil {
			s = *e.ResponseStatus
		}
		s.Code = int32(code)
		e.ResponseStatus = &s
	})
	if long {
		_ = r.send(ctx, auditv1.StageResponseStarted) // reported by the backend; the request has begun
	}
}

// Complete passes on the event of the stage ResponseComplete, and that of ResponseStarted before it if it is
// missing, unless Panicked was called. Later calls of all methods do nothing.
func (r *Record) Complete(ctx context.Context, long bool) {
	if r == nil {
		return
	}
	none := false
	r.change(func(e *auditv1.Event) {
		if none = e.ResponseStatus == nil; none {
			e.ResponseStatus = &metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"}
		}
	})
	if none && long {
		_ = r.send(ctx, auditv1.StageResponseStarted)
	}
	r.end(ctx, auditv1.StageResponseComplete)
}

// Panicked passes on the event of the stage Panic.
func (r *Record) Panicked(ctx context.Context, p any) {
	if r == nil {
		return
	}
	r.Status(&metav1.Status{Code: http.StatusInternalServerError, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonInternalError, Message: fmt.Sprintf("APIServer panic'd: %v", p)})
	r.end(ctx, auditv1.StagePanic)
}

func (r *Record) end(ctx context.Context, s auditv1.Stage) {
	_ = r.send(ctx, s) // reported by the backend; the request has been served
	r.Drop()
}

// Drop ends the record without another event.
func (r *Record) Drop() {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// send passes on an event of the stage, unless the policy omits it.
func (r *Record) send(ctx context.Context, s auditv1.Stage) error {
	r.mu.Lock()
	if r.ended || r.decision.Omits(s) {
		r.mu.Unlock()
		return nil
	}
	e := r.event
	r.shared = true
	r.mu.Unlock()
	e.Stage = s
	if e.StageTimestamp = e.RequestReceivedTimestamp; s != auditv1.StageRequestReceived {
		e.StageTimestamp = metav1.NowMicro()
	}
	if r.options.Metrics.Event != nil {
		r.options.Metrics.Event()
	}
	return r.options.Backend.Record(context.WithoutCancel(ctx), &e)
}

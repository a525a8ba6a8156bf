package apiserver

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/audit"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/cache"
)

// beginAudit begins the record of a request whose user is known, or fails a request that must be recorded and
// cannot be.
func (s *Server) beginAudit(r *request, rec *responseRecorder) bool {
	if !s.newRecord(r) {
		return true
	}
	long := r.info.longRunning()
	rec.begun = func(code int) { r.audit.Responding(r.Context(), code, long) }
	err := r.audit.Received(r.Context())
	if err == nil {
		return true
	}
	s.logger.Error("recording a request failed: it is refused", "path", r.info.Path, "err", err)
	r.audit.Drop()
	r.fail(apierrors.NewInternalError(errors.New("failed to store audit event")))
	return false
}

// auditUnauthenticated records a request whose caller is not known: one event, at the stage ResponseStarted.
func (s *Server) auditUnauthenticated(r *request, rec *responseRecorder) {
	if s.newRecord(r) {
		rec.begun = func(code int) {
			r.audit.Responding(r.Context(), code, true)
			r.audit.Drop()
		}
	}
}

// newRecord sets the record of a request, and reports whether it has one.
func (s *Server) newRecord(r *request) bool {
	if s.opts.Audit.Policy == nil {
		return false
	}
	a := r.attributes()
	r.audit = s.opts.Audit.Begin(r.Request, r.begun, r.w.Header().Get(auditv1.HeaderAuditID), &a)
	for _, n := range r.notes {
		r.audit.Annotate(n.Key, n.Value)
	}
	return r.audit != nil
}

// completeAudit records the end of a request.
func (r *request) completeAudit() {
	r.auditTimes()
	r.audit.Complete(r.Context(), r.info.longRunning())
}

// slowRequest is the time after which the record of a request says what took it.
const slowRequest = 500 * time.Millisecond

// auditTimes records what a slow request has waited for.
func (r *request) auditTimes() {
	if r.audit == nil || r.info.Verb == "watch" {
		return
	}
	total := time.Since(r.begun)
	if total <= slowRequest {
		return
	}
	for _, part := range []struct {
		name string
		took time.Duration
	}{
		{"authentication", r.took.authentication}, {"impersonation", r.took.impersonation}, {"apf-queue-wait", r.seat.Waited()}, {"authorization", r.took.authorization},
		{"mutating-webhook", r.webhookWait.Mutating}, {"validating-webhook", r.webhookWait.Validating}, {"total", total},
	} {
		if part.took > 0 {
			r.audit.Annotate("apiserver.latency.k8s.io/"+part.name, part.took.String())
		}
	}
}

// annotate returns the function by which admission adds to the record; nil if there is none.
func (r *request) annotate() func(key, value string) {
	if r.audit == nil {
		return nil
	}
	return r.audit.Annotate
}

// auditDecision records the decision of the authorizer.
func (r *request) auditDecision(d authz.Decision, reason string, err error) {
	switch {
	case r.audit == nil:
		return
	case d == authz.Allow:
		r.audit.Annotate(audit.DecisionAnnotation, "allow")
	case err != nil:
		reason = "internal error"
	default:
		r.audit.Annotate(audit.DecisionAnnotation, "forbid")
	}
	r.audit.Annotate(audit.ReasonAnnotation, reason)
}

// auditBody records the decoded body of a request, before it is defaulted or changed.
func (r *request) auditBody(obj any, gvk schema.GroupVersionKind) {
	if r.audit == nil {
		return
	}
	if o, ok := obj.(metav1.Object); ok {
		r.audit.Reference(metav1.MetaOf(o))
	}
	if !r.audit.Wants(auditv1.LevelRequest) {
		return
	}
	if k, ok := obj.(interface {
		kindGetter
		SetGroupVersionKind(schema.GroupVersionKind)
	}); ok && k.GroupVersionKind().Kind == "" {
		k.SetGroupVersionKind(gvk)
	}
	r.auditEncoded(r.audit.RequestBody, obj)
}

// auditPatch records a patch, as JSON whatever its form was.
func (r *request) auditPatch(p *patchRequest) {
	if !r.audit.Wants(auditv1.LevelRequest) {
		return
	}
	data := p.data
	var err error
	switch p.kind {
	case types.ApplyYAMLPatchType:
		data, err = codec.YAMLToJSON(data)
	case types.ApplyCBORPatchType:
		data, err = cbor.ToJSON(data)
	}
	if err == nil && codec.Valid(data) {
		r.audit.RequestBody(data) // others are refused with an error that names what is wrong
	}
}

// auditResponse records the object of the response, which v is.
func (r *request) auditResponse(v any) {
	if r.audit.Wants(auditv1.LevelRequestResponse) {
		r.auditEncoded(r.audit.ResponseBody, v)
	}
}

// auditCached records the JSON of an object of the cache, in two pieces.
func (r *request) auditCached(head, body []byte) {
	if r.audit.Wants(auditv1.LevelRequestResponse) {
		r.audit.ResponseBody(slices.Concat(head, body))
	}
}

// auditProto records an object of the cache that is sent in protobuf.
func (r *request) auditProto(rt *route, o *cache.Object) error {
	if !r.audit.Wants(auditv1.LevelRequestResponse) {
		return nil
	}
	body, err := rt.res.JSON(r.Context(), o)
	if err != nil {
		return err
	}
	head := rt.res.JSONHead()
	if len(head) > 0 {
		body = body[1:]
	}
	r.auditCached(head, body)
	return nil
}

// auditList records a list of objects of the cache.
func (r *request) auditList(rt *route, h codec.ListHeader, p *page, meta bool) error {
	if !r.audit.Wants(auditv1.LevelRequestResponse) {
		return nil
	}
	items, _, err := r.listItems(rt, output{media: mediaJSON, version: "v1"}, p, meta)
	if err != nil {
		return err
	}
	var b bytesWriter
	if err := codec.WriteListJSON(&b, h, withErrors(items)); err != nil {
		return err
	}
	r.audit.ResponseBody(b)
	return nil
}

// auditEncoded records the JSON of an object.
func (r *request) auditEncoded(record func([]byte), obj any) {
	b, err := codec.Marshal(obj)
	if err != nil {
		r.server.logger.Error("encoding an object for the audit log failed", "path", r.info.Path, "err", err)
		return
	}
	record(b)
}

// auditStatus records the Status of a response. A refused patch is part of the message; it is left out where
// bodies are not recorded.
func (r *request) auditStatus(status *metav1.Status) {
	if r.audit == nil {
		return
	}
	s := *status
	if quoted := strconv.Quote(r.refusedPatch()); len(r.body) > 0 && s.Code >= 400 && !r.audit.Wants(auditv1.LevelRequest) {
		s.Message = strings.ReplaceAll(s.Message, quoted, omittedPatch)
		if s.Details != nil {
			d := *s.Details
			d.Causes = append([]metav1.StatusCause(nil), d.Causes...)
			for i := range d.Causes {
				d.Causes[i].Message = strings.ReplaceAll(d.Causes[i].Message, quoted, omittedPatch)
			}
			s.Details = &d
		}
	}
	r.audit.Status(&s)
}

const omittedPatch = `"..."`

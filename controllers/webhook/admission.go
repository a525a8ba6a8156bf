package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"runtime/debug"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// maxBody bounds the size of a request, which contains at most two objects. It is well above the size limit
// of stored objects.
const maxBody = 16 << 20

// Mutating returns a handler that calls change to modify the object in place. It is not called for DELETE,
// which has no object to modify. Register another handler for subresources whose object is not a T, such as
// scale. An error rejects the request: an *apierrors.StatusError is returned to the client unchanged, any
// other error as 403 Forbidden with its text.
func Mutating[T metav1.Object](change func(ctx context.Context, r *Request, obj T) error) http.Handler {
	return Admission(func(ctx context.Context, r *Request, answer *admissionv1.AdmissionResponse) error {
		if len(r.Object.Raw) == 0 {
			return nil
		}
		obj, err := decode[T](r.Object.Raw)
		if err != nil {
			return badRequest(err)
		}
		before, err := codec.Marshal(obj)
		if err != nil {
			return err
		}
		if err := change(ctx, r, obj); err != nil {
			return err
		}
		after, err := codec.Marshal(obj)
		if err != nil {
			return err
		}
		patch, err := patchFor(r.Object.Raw, before, after)
		if err != nil || patch == nil {
			return err
		}
		answer.Patch, answer.PatchType = patch, new(admissionv1.PatchTypeJSONPatch)
		return nil
	})
}

// Validating returns a handler that calls check with the object of the request, or for DELETE with the object
// to be deleted. On UPDATE, [Old] returns the stored object. An error rejects the request; see [Mutating].
func Validating[T metav1.Object](check func(ctx context.Context, r *Request, obj T) error) http.Handler {
	return Admission(func(ctx context.Context, r *Request, _ *admissionv1.AdmissionResponse) error {
		raw := r.Object.Raw
		if len(raw) == 0 {
			raw = r.OldObject.Raw
		}
		obj, err := decode[T](raw)
		if err != nil {
			return badRequest(err)
		}
		return check(ctx, r, obj)
	})
}

func badRequest(err error) error { return apierrors.NewBadRequest(err.Error()) }

// Admission returns a handler of requests whose object is not decoded, for webhooks of many kinds and for
// CONNECT, and of answers with a patch of the caller's own. The answer allows the request; admit may change
// it, and its error rejects the request; see [Mutating]. Warnings and audit annotations are those of r.
func Admission(admit func(ctx context.Context, r *Request, answer *admissionv1.AdmissionResponse) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		var review admissionv1.AdmissionReview
		if !read(w, hr, &review) {
			return
		}
		if review.Request == nil || review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" {
			http.Error(w, "expected an AdmissionReview of admission.k8s.io/v1 with a request", http.StatusBadRequest)
			return
		}
		r := &Request{AdmissionRequest: review.Request}
		answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if err := guarded(hr, false, func() error { return admit(hr.Context(), r, answer) }); err != nil {
			*answer = admissionv1.AdmissionResponse{UID: review.Request.UID, Result: statusOf(err)}
		}
		answer.UID, answer.Warnings, answer.AuditAnnotations = review.Request.UID, r.warnings, r.annotations
		write(w, &admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: answer})
	})
}

// statusOf returns the status of a request rejected with err.
func statusOf(err error) *metav1.Status {
	if se, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return &se.ErrStatus
	}
	return &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: err.Error()}
}

// panics is what a Server does about the panics of one path.
type panics struct {
	path  string
	log   *slog.Logger // nil if the server has none
	count func(path string, conversion bool)
}

// panicsKey is the context key of a request's panics.
type panicsKey struct{}

// guarded calls f and turns a panic into an error. The stack is logged. Without a logger it is part of the
// error, although that is visible to clients of the API server.
func guarded(r *http.Request, conversion bool, f func() error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		p, _ := r.Context().Value(panicsKey{}).(panics)
		if p.count != nil {
			p.count(p.path, conversion)
		}
		if p.log == nil {
			err = apierrors.NewInternalError(fmt.Errorf("webhook: panic: %v\n%s", v, debug.Stack()))
			return
		}
		p.log.Error("webhook panicked", "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
		err = apierrors.NewInternalError(fmt.Errorf("webhook: panic: %v", v))
	}()
	return f()
}

// read decodes the body of a POST into review. If that fails it writes the error response and returns false.
func read(w http.ResponseWriter, r *http.Request, review any) bool {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST is allowed", http.StatusMethodNotAllowed)
		return false
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		http.Error(w, "expected application/json", http.StatusUnsupportedMediaType)
		return false
	}
	var body bytes.Buffer
	// A client may state a length that it does not send. ReadFrom needs MinRead more to see the end.
	body.Grow(int(min(max(r.ContentLength, 0), 64<<10)) + bytes.MinRead)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		code := http.StatusBadRequest
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			code = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), code)
		return false
	}
	if err := codec.Unmarshal(body.Bytes(), review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func write(w http.ResponseWriter, review any) {
	data, err := codec.Marshal(review)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data)
}

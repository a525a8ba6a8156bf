package webhook

import (
	"fmt"
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Request is an admission request. It is not safe for concurrent use and must not be used after the handler
// has returned.
type Request struct {
	// AdmissionRequest is the request as received: the operation, the resource, the user, the raw objects.
	*admissionv1.AdmissionRequest
	warnings    []string
	annotations map[string]string
}

// Warn adds a warning to the response that the client of the API server receives. It should be shorter than
// 120 characters.
func (r *Request) Warn(text string) { r.warnings = append(r.warnings, text) }

// Audit adds an annotation to the audit event of the request. The API server prefixes key with the name of
// the webhook.
func (r *Request) Audit(key, value string) {
	if r.annotations == nil {
		r.annotations = map[string]string{}
	}
	r.annotations[key] = value
}

// IsDryRun reports whether the request will not be persisted; then the webhook must have no side effects.
func (r *Request) IsDryRun() bool { return r.DryRun != nil && *r.DryRun }

// Old decodes the stored object. The result is false for CREATE and CONNECT, which have none.
func Old[T metav1.Object](r *Request) (T, bool, error) {
	var none T
	if len(r.OldObject.Raw) == 0 {
		return none, false, nil
	}
	old, err := decode[T](r.OldObject.Raw)
	return old, err == nil, err
}

// decode decodes JSON into a new T, which must be a pointer to a struct.
func decode[T metav1.Object](data []byte) (T, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		var none T
		return none, fmt.Errorf("webhook: %v is not a pointer to a struct", t)
	}
	obj := reflect.New(t.Elem()).Interface().(T)
	if err := codec.Unmarshal(data, obj); err != nil {
		return obj, fmt.Errorf("webhook: decode %v: %w", t, err)
	}
	return obj, nil
}

package apierrors

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ErrModified is the usual cause of NewConflict: the resourceVersion of an update
// is not the current one. Clients look for its text.
var ErrModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// New is a failure without details. Prefer the functions for one reason.
func New(code int, reason metav1.StatusReason, message string) *StatusError {
	return &StatusError{metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(code),
		Reason:  reason,
		Message: message,
	}}
}

func (e *StatusError) about(gr schema.GroupResource, name string) *StatusError {
	e.ErrStatus.Details = &metav1.StatusDetails{Group: gr.Group, Kind: gr.Resource, Name: name}
	return e
}

func (e *StatusError) retryAfter(seconds int) *StatusError {
	if e.ErrStatus.Details == nil {
		e.ErrStatus.Details = &metav1.StatusDetails{}
	}
	e.ErrStatus.Details.RetryAfterSeconds = int32(seconds)
	return e
}

func (e *StatusError) causes(causes ...metav1.StatusCause) *StatusError {
	if e.ErrStatus.Details == nil {
		e.ErrStatus.Details = &metav1.StatusDetails{}
	}
	e.ErrStatus.Details.Causes = causes
	return e
}

// NewNotFound is 404 NotFound: pods "x" not found.
func NewNotFound(gr schema.GroupResource, name string) *StatusError {
	return New(http.StatusNotFound, metav1.StatusReasonNotFound,
		fmt.Sprintf("%s %q not found", gr, name)).about(gr, name)
}

// NewAlreadyExists is 409 AlreadyExists: pods "x" already exists.
func NewAlreadyExists(gr schema.GroupResource, name string) *StatusError {
	return New(http.StatusConflict, metav1.StatusReasonAlreadyExists,
		fmt.Sprintf("%s %q already exists", gr, name)).about(gr, name)
}

// NewGenerateNameConflict is 409 AlreadyExists for a generated name that is taken;
// the client may try again.
func NewGenerateNameConflict(gr schema.GroupResource, name string, retryAfterSeconds int) *StatusError {
	return New(http.StatusConflict, metav1.StatusReasonAlreadyExists,
		fmt.Sprintf("%s %q already exists, the server was not able to generate a unique name for the object", gr, name)).
		about(gr, name).retryAfter(retryAfterSeconds)
}

// NewConflict is 409 Conflict; err says why, usually ErrModified.
func NewConflict(gr schema.GroupResource, name string, err error) *StatusError {
	return New(http.StatusConflict, metav1.StatusReasonConflict,
		fmt.Sprintf("Operation cannot be fulfilled on %s %q: %v", gr, name, err)).about(gr, name)
}

// NewApplyConflict is 409 Conflict of a server-side apply, one cause per field.
func NewApplyConflict(causes []metav1.StatusCause, message string) *StatusError {
	return New(http.StatusConflict, metav1.StatusReasonConflict, message).causes(causes...)
}

// NewInvalid is 422 Invalid with one cause per finding:
//
//	Pod "x" is invalid: spec.containers: Required value
func NewInvalid(gk schema.GroupKind, name string, findings validation.ErrorList) *StatusError {
	message := fmt.Sprintf("%s %q is invalid", gk, name)
	if len(findings) > 0 {
		message += ": " + findings.String()
	}
	causes := make([]metav1.StatusCause, len(findings))
	for i, finding := range findings {
		causes[i] = metav1.StatusCause{
			Type:    metav1.CauseType(finding.Type),
			Message: finding.Body(),
			Field:   finding.Field,
		}
	}
	return New(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, message).
		about(schema.GroupResource{Group: gk.Group, Resource: gk.Kind}, name).causes(causes...)
}

// NewBadRequest is 400 BadRequest.
func NewBadRequest(message string) *StatusError {
	return New(http.StatusBadRequest, metav1.StatusReasonBadRequest, message)
}

// NewUnauthorized is 401 Unauthorized: the request is not authenticated.
func NewUnauthorized(message string) *StatusError {
	if message == "" {
		message = "not authorized"
	}
	return New(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, message)
}

// NewForbidden is 403 Forbidden; err says why. The resource or the name may be
// empty.
func NewForbidden(gr schema.GroupResource, name string, err error) *StatusError {
	subject, cause := "", "<nil>"
	if err != nil {
		cause = err.Error()
	}
	switch {
	case gr.Empty():
	case name == "":
		subject = gr.String() + " is "
	default:
		subject = gr.String() + " " + strconv.Quote(name) + " is "
	}
	return New(http.StatusForbidden, metav1.StatusReasonForbidden, subject+"forbidden: "+cause).about(gr, name)
}

// NewMethodNotSupported is 405 MethodNotAllowed: the resource does not have the
// verb.
func NewMethodNotSupported(gr schema.GroupResource, verb string) *StatusError {
	return New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("%s is not supported on resources of kind %q", verb, gr)).about(gr, "")
}

// NewNotAcceptable is 406 NotAcceptable: no media type the client takes.
func NewNotAcceptable(message string) *StatusError {
	return New(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

// NewUnsupportedMediaType is 415 UnsupportedMediaType: a body the server cannot
// read.
func NewUnsupportedMediaType(message string) *StatusError {
	return New(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, message)
}

// NewRequestEntityTooLarge is 413 RequestEntityTooLarge.
func NewRequestEntityTooLarge(message string) *StatusError {
	return New(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
		"Request entity too large: "+message)
}

// NewGone is 410 Gone: the item has been removed permanently.
func NewGone(message string) *StatusError {
	return New(http.StatusGone, metav1.StatusReasonGone, message)
}

// NewResourceExpired is 410 Expired: a resourceVersion or continue token too old
// to be served. The client has to list again.
func NewResourceExpired(message string) *StatusError {
	return New(http.StatusGone, metav1.StatusReasonExpired, message)
}

// NewTooManyRequests is 429 TooManyRequests. 0 seconds leave the delay to the
// client.
func NewTooManyRequests(message string, retryAfterSeconds int) *StatusError {
	return New(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, message).retryAfter(retryAfterSeconds)
}

// NewInternalError is 500 InternalError.
func NewInternalError(err error) *StatusError {
	return New(http.StatusInternalServerError, metav1.StatusReasonInternalError,
		fmt.Sprintf("Internal error occurred: %v", err)).causes(metav1.StatusCause{Message: err.Error()})
}

// NewServerTimeout is 500 ServerTimeout: the server could not do the operation in
// time and has not done it; the client may repeat it.
func NewServerTimeout(gr schema.GroupResource, operation string, retryAfterSeconds int) *StatusError {
	return New(http.StatusInternalServerError, metav1.StatusReasonServerTimeout,
		fmt.Sprintf("The %s operation against %s could not be completed at this time, please try again.", operation, gr)).
		about(gr, operation).retryAfter(retryAfterSeconds)
}

// NewStoreReadError is 500 StorageReadError: stored data cannot be read or
// decoded.
func NewStoreReadError(gr schema.GroupResource, name string, err error) *StatusError {
	return New(http.StatusInternalServerError, metav1.StatusReasonStoreReadError, err.Error()).about(gr, name)
}

// NewServiceUnavailable is 503 ServiceUnavailable.
func NewServiceUnavailable(message string) *StatusError {
	return New(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, message)
}

// NewTimeout is 504 Timeout: the request did not end in time; whether it took
// effect is not known.
func NewTimeout(message string, retryAfterSeconds int) *StatusError {
	return New(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "Timeout: "+message).retryAfter(retryAfterSeconds)
}

// NewResourceVersionTooLarge is 504 Timeout for a read at a resourceVersion the
// server has not seen yet.
func NewResourceVersionTooLarge(requested, current uint64, retryAfterSeconds int) *StatusError {
	return NewTimeout(fmt.Sprintf("Too large resource version: %d, current: %d", requested, current), retryAfterSeconds).
		causes(metav1.StatusCause{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"})
}

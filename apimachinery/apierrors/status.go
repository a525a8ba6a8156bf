package apierrors

import (
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// StatusError is a Status as an error. The Status must not be changed once the
// error has been handed out.
type StatusError struct {
	ErrStatus metav1.Status
}

// Error is the message of the Status.
func (e *StatusError) Error() string { return e.ErrStatus.Message }

// Status is the Status itself.
func (e *StatusError) Status() metav1.Status { return e.ErrStatus }

// APIStatus is implemented by errors that carry a Status.
type APIStatus interface {
	error
	Status() metav1.Status
}

// FromStatus is the error for a Status received from a server; nil for nil and
// for a Status that reports success.
func FromStatus(status *metav1.Status) error {
	if status == nil || status.Status == metav1.StatusSuccess {
		return nil
	}
	return &StatusError{ErrStatus: *status}
}

// StatusOf is the Status an error carries, itself or wrapped.
func StatusOf(err error) (metav1.Status, bool) {
	if carrier, ok := errors.AsType[APIStatus](err); ok {
		return carrier.Status(), true
	}
	return metav1.Status{}, false
}

// ToStatus is the Status an error carries; any other error becomes an internal
// error. It is what a server answers with.
func ToStatus(err error) metav1.Status {
	if status, ok := StatusOf(err); ok {
		return status
	}
	return NewInternalError(err).ErrStatus
}

// ReasonOf is the reason of the Status an error carries; empty if it carries
// none.
func ReasonOf(err error) metav1.StatusReason {
	status, _ := StatusOf(err)
	return status.Reason
}

// CodeOf is the HTTP status code of the Status an error carries; 0 if it carries
// none.
func CodeOf(err error) int {
	status, _ := StatusOf(err)
	return int(status.Code)
}

// CauseOf is the first cause of the type in the Status an error carries.
func CauseOf(err error, cause metav1.CauseType) (metav1.StatusCause, bool) {
	status, ok := StatusOf(err)
	if !ok || status.Details == nil {
		return metav1.StatusCause{}, false
	}
	for _, c := range status.Details.Causes {
		if c.Type == cause {
			return c, true
		}
	}
	return metav1.StatusCause{}, false
}

// HasCause reports whether the Status an error carries has a cause of the type.
func HasCause(err error, cause metav1.CauseType) bool {
	_, ok := CauseOf(err, cause)
	return ok
}

// RetryAfter reports whether the server requests that the request be repeated unchanged, and after how long.
func RetryAfter(err error) (time.Duration, bool) {
	status, ok := StatusOf(err)
	if !ok || status.Details == nil {
		return 0, false
	}
	seconds := status.Details.RetryAfterSeconds
	if status.Reason == metav1.StatusReasonServerTimeout || seconds > 0 {
		return time.Duration(max(seconds, 0)) * time.Second, true
	}
	return 0, false
}

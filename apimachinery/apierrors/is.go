package apierrors

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// known are the reasons of this version of the API. For any other reason the
// HTTP status code decides: servers may give finer reasons in the future.
var known = map[metav1.StatusReason]bool{
	metav1.StatusReasonUnauthorized:          true,
	metav1.StatusReasonForbidden:             true,
	metav1.StatusReasonNotFound:              true,
	metav1.StatusReasonAlreadyExists:         true,
	metav1.StatusReasonConflict:              true,
	metav1.StatusReasonGone:                  true,
	metav1.StatusReasonInvalid:               true,
	metav1.StatusReasonServerTimeout:         true,
	metav1.StatusReasonStoreReadError:        true,
	metav1.StatusReasonTimeout:               true,
	metav1.StatusReasonTooManyRequests:       true,
	metav1.StatusReasonBadRequest:            true,
	metav1.StatusReasonMethodNotAllowed:      true,
	metav1.StatusReasonNotAcceptable:         true,
	metav1.StatusReasonRequestEntityTooLarge: true,
	metav1.StatusReasonUnsupportedMediaType:  true,
	metav1.StatusReasonInternalError:         true,
	metav1.StatusReasonExpired:               true,
	metav1.StatusReasonServiceUnavailable:    true,
	ReasonFenced:                             true,
}

// ReasonFenced is the reason returned with 409 for a write by a replaced leader (see apimachinery/fence).
// It is specific to Keelson: Kubernetes does not have it.
const ReasonFenced metav1.StatusReason = "Fenced"

// IsFenced reports that the request was made by a leader that has since been replaced. It is not a conflict
// in the sense of IsConflict: retrying cannot succeed.
func IsFenced(err error) bool { return is(err, ReasonFenced, 0) }

// is reports the reason, or the code with a reason that is not known. Code 0
// means that the reason alone decides.
func is(err error, reason metav1.StatusReason, code int32) bool {
	if err == nil {
		return false
	}
	status, ok := StatusOf(err)
	if !ok {
		return false
	}
	return status.Reason == reason || code != 0 && status.Code == code && !known[status.Reason]
}

// IsNotFound reports that the object or resource does not exist.
func IsNotFound(err error) bool {
	return is(err, metav1.StatusReasonNotFound, http.StatusNotFound)
}

// IgnoreNotFound returns nil if err reports that the object does not exist, and err otherwise: for deletions,
// and for reconcilers whose object has been deleted.
func IgnoreNotFound(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

// IsAlreadyExists reports that an object of that name exists.
func IsAlreadyExists(err error) bool { return is(err, metav1.StatusReasonAlreadyExists, 0) }

// IgnoreAlreadyExists returns nil if err reports that an object of that name exists, and err otherwise.
func IgnoreAlreadyExists(err error) error {
	if IsAlreadyExists(err) {
		return nil
	}
	return err
}

// IsConflict reports that the object has changed meanwhile, or that an apply
// conflicts with another manager.
func IsConflict(err error) bool {
	return is(err, metav1.StatusReasonConflict, http.StatusConflict)
}

// IsInvalid reports that the object did not pass validation.
func IsInvalid(err error) bool {
	return is(err, metav1.StatusReasonInvalid, http.StatusUnprocessableEntity)
}

// IsGone reports that the item has been removed permanently.
func IsGone(err error) bool { return is(err, metav1.StatusReasonGone, http.StatusGone) }

// IsResourceExpired reports that a resourceVersion or continue token is too old.
func IsResourceExpired(err error) bool { return is(err, metav1.StatusReasonExpired, 0) }

// IsExpired reports either of IsResourceExpired and IsGone: list again.
func IsExpired(err error) bool { return IsResourceExpired(err) || IsGone(err) }

// IsBadRequest reports a malformed request.
func IsBadRequest(err error) bool {
	return is(err, metav1.StatusReasonBadRequest, http.StatusBadRequest)
}

// IsUnauthorized reports missing or refused credentials.
func IsUnauthorized(err error) bool {
	return is(err, metav1.StatusReasonUnauthorized, http.StatusUnauthorized)
}

// IsForbidden reports that the action is not allowed, for the user or at all.
func IsForbidden(err error) bool {
	return is(err, metav1.StatusReasonForbidden, http.StatusForbidden)
}

// IsMethodNotSupported reports that the resource does not have the verb.
func IsMethodNotSupported(err error) bool {
	return is(err, metav1.StatusReasonMethodNotAllowed, http.StatusMethodNotAllowed)
}

// IsNotAcceptable reports that the server has no media type the client takes.
func IsNotAcceptable(err error) bool {
	return is(err, metav1.StatusReasonNotAcceptable, http.StatusNotAcceptable)
}

// IsUnsupportedMediaType reports a body the server cannot read.
func IsUnsupportedMediaType(err error) bool {
	return is(err, metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
}

// IsRequestEntityTooLarge reports a body that is too large.
func IsRequestEntityTooLarge(err error) bool {
	return is(err, metav1.StatusReasonRequestEntityTooLarge, http.StatusRequestEntityTooLarge)
}

// IsTooManyRequests reports that the server throttles the client.
func IsTooManyRequests(err error) bool {
	return is(err, metav1.StatusReasonTooManyRequests, http.StatusTooManyRequests)
}

// IsTimeout reports that the request did not end in time; it may have taken
// effect.
func IsTimeout(err error) bool {
	return is(err, metav1.StatusReasonTimeout, http.StatusGatewayTimeout)
}

// IsServerTimeout reports that the server did not do the operation in time; it
// can be repeated.
func IsServerTimeout(err error) bool { return is(err, metav1.StatusReasonServerTimeout, 0) }

// IsInternalError reports a failure of the server.
func IsInternalError(err error) bool {
	return is(err, metav1.StatusReasonInternalError, http.StatusInternalServerError)
}

// IsServiceUnavailable reports that the server cannot answer now.
func IsServiceUnavailable(err error) bool {
	return is(err, metav1.StatusReasonServiceUnavailable, http.StatusServiceUnavailable)
}

// IsStoreReadError reports that stored data cannot be read.
func IsStoreReadError(err error) bool { return is(err, metav1.StatusReasonStoreReadError, 0) }

// IsUnexpectedServerError reports an answer that was not a Status.
func IsUnexpectedServerError(err error) bool {
	return HasCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IsResourceVersionTooLarge reports a read at a resourceVersion the server has
// not seen yet.
func IsResourceVersionTooLarge(err error) bool {
	return HasCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

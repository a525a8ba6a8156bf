package apierrors_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

var (
	pods        = schema.GroupResource{Resource: "pods"}
	deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}
	because     = errors.New("because")
)

var predicates = map[string]func(error) bool{
	"NotFound": apierrors.IsNotFound, "AlreadyExists": apierrors.IsAlreadyExists, "Conflict": apierrors.IsConflict, "Invalid": apierrors.IsInvalid,
	"Gone": apierrors.IsGone, "Expired": apierrors.IsResourceExpired, "BadRequest": apierrors.IsBadRequest, "Unauthorized": apierrors.IsUnauthorized,
	"Forbidden": apierrors.IsForbidden, "MethodNotAllowed": apierrors.IsMethodNotSupported, "NotAcceptable": apierrors.IsNotAcceptable,
	"UnsupportedMediaType": apierrors.IsUnsupportedMediaType, "RequestEntityTooLarge": apierrors.IsRequestEntityTooLarge,
	"TooManyRequests": apierrors.IsTooManyRequests, "Timeout": apierrors.IsTimeout, "ServerTimeout": apierrors.IsServerTimeout,
	"InternalError": apierrors.IsInternalError, "ServiceUnavailable": apierrors.IsServiceUnavailable, "StorageReadError": apierrors.IsStoreReadError,
}

func TestCodesReasonsAndMessages(t *testing.T) {
	for _, c := range []struct {
		err     *apierrors.StatusError
		code    int
		reason  string
		message string
	}{
		{apierrors.NewNotFound(pods, "x"), 404, "NotFound", `pods "x" not found`},
		{apierrors.NewNotFound(deployments, "x"), 404, "NotFound", `deployments.apps "x" not found`},
		{apierrors.NewAlreadyExists(pods, "x"), 409, "AlreadyExists", `pods "x" already exists`},
		{apierrors.NewGenerateNameConflict(pods, "x", 1), 409, "AlreadyExists", `pods "x" already exists, the server was not able to generate a unique name for the object`},
		{apierrors.NewConflict(pods, "x", apierrors.ErrModified), 409, "Conflict", `Operation cannot be fulfilled on pods "x": the object has been modified; please apply your changes to the latest version and try again`},
		{apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict}}, "conflict"), 409, "Conflict", "conflict"},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), 422, "Invalid", `Pod "x" is invalid`},
		{apierrors.NewBadRequest("no"), 400, "BadRequest", "no"},
		{apierrors.NewUnauthorized(""), 401, "Unauthorized", "not authorized"},
		{apierrors.NewUnauthorized("Unauthorized"), 401, "Unauthorized", "Unauthorized"},
		{apierrors.NewForbidden(pods, "x", because), 403, "Forbidden", `pods "x" is forbidden: because`},
		{apierrors.NewForbidden(pods, "", because), 403, "Forbidden", `pods is forbidden: because`},
		{apierrors.NewForbidden(schema.GroupResource{}, "", because), 403, "Forbidden", `forbidden: because`},
		{apierrors.NewMethodNotSupported(pods, "patch"), 405, "MethodNotAllowed", `patch is not supported on resources of kind "pods"`},
		{apierrors.NewNotAcceptable("only these"), 406, "NotAcceptable", "only these"},
		{apierrors.NewUnsupportedMediaType("what"), 415, "UnsupportedMediaType", "what"},
		{apierrors.NewRequestEntityTooLarge("limit is 3"), 413, "RequestEntityTooLarge", "Request entity too large: limit is 3"},
		{apierrors.NewGone("gone"), 410, "Gone", "gone"},
		{apierrors.NewResourceExpired("too old resource version"), 410, "Expired", "too old resource version"},
		{apierrors.NewTooManyRequests("slow down", 2), 429, "TooManyRequests", "slow down"},
		{apierrors.NewInternalError(because), 500, "InternalError", "Internal error occurred: because"},
		{apierrors.NewServerTimeout(pods, "list", 0), 500, "ServerTimeout", "The list operation against pods could not be completed at this time, please try again."},
		{apierrors.NewStoreReadError(pods, "x", because), 500, "StorageReadError", "because"},
		{apierrors.NewServiceUnavailable("away"), 503, "ServiceUnavailable", "away"},
		{apierrors.NewTimeout("late", 0), 504, "Timeout", "Timeout: late"},
		{apierrors.NewResourceVersionTooLarge(9, 5, 1), 504, "Timeout", "Timeout: Too large resource version: 9, current: 5"},
	} {
		status := c.err.Status()
		require.Equal(t, c.message, c.err.Error())
		require.Equal(t, int32(c.code), status.Code, c.message)
		require.Equal(t, metav1.StatusReason(c.reason), status.Reason, c.message)
		require.Equal(t, metav1.StatusFailure, status.Status)
		wrapped := fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", c.err))
		require.Equal(t, metav1.StatusReason(c.reason), apierrors.ReasonOf(wrapped))
		require.Equal(t, c.code, apierrors.CodeOf(wrapped))
		for reason, is := range predicates {
			require.Equal(t, reason == c.reason, is(wrapped), "%s of %s", reason, c.message)
			require.Equal(t, reason == c.reason, is(c.err), "%s of %s", reason, c.message)
		}
		require.Equal(t, c.code == 410, apierrors.IsExpired(wrapped))
	}
}

func TestPredicatesOnOtherErrors(t *testing.T) {
	for reason, is := range predicates {
		require.False(t, is(nil), reason)
		require.False(t, is(because), reason)
	}
	require.Zero(t, apierrors.CodeOf(because))
	require.False(t, apierrors.HasCause(because, ""))
}

func TestUnknownReasonsAreJudgedByTheirCode(t *testing.T) {
	require.True(t, apierrors.IsNotFound(apierrors.New(404, "Vanished", "")))
	require.True(t, apierrors.IsConflict(apierrors.New(409, "", "")))
	require.False(t, apierrors.IsNotFound(apierrors.New(404, metav1.StatusReasonForbidden, "")), "a known reason wins")
	require.False(t, apierrors.IsAlreadyExists(apierrors.New(409, "", "")), "409 alone is a conflict")
}

func TestInvalidHasOneCausePerFinding(t *testing.T) {
	spec := validation.NewPath("spec")
	err := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", validation.ErrorList{
		validation.Required(spec.Child("selector"), ""),
		validation.Invalid(spec.Child("replicas"), -1, validation.NegativeText),
	})
	require.EqualError(t, err, `Deployment.apps "web" is invalid: [spec.selector: Required value, spec.replicas: Invalid value: -1: must be greater than or equal to 0]`)
	require.Equal(t, &metav1.StatusDetails{Group: "apps", Kind: "Deployment", Name: "web", Causes: []metav1.StatusCause{
		{Type: "FieldValueRequired", Message: "Required value", Field: "spec.selector"},
		{Type: "FieldValueInvalid", Message: "Invalid value: -1: must be greater than or equal to 0", Field: "spec.replicas"},
	}}, err.Status().Details)
	require.True(t, apierrors.HasCause(err, metav1.CauseTypeFieldValueRequired))
	cause, ok := apierrors.CauseOf(fmt.Errorf("x: %w", err), metav1.CauseTypeFieldValueInvalid)
	require.True(t, ok)
	require.Equal(t, "spec.replicas", cause.Field)
}

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		err  error
		want time.Duration
		ok   bool
	}{
		{apierrors.NewTooManyRequests("", 3), 3 * time.Second, true},
		{apierrors.NewTooManyRequests("", 0), 0, false},
		{apierrors.NewServerTimeout(pods, "get", 0), 0, true},
		{apierrors.NewTimeout("", 1), time.Second, true},
		{apierrors.NewNotFound(pods, "x"), 0, false},
		{because, 0, false},
		{nil, 0, false},
	} {
		after, ok := apierrors.RetryAfter(c.err)
		require.Equal(t, c.want, after, "%v", c.err)
		require.Equal(t, c.ok, ok, "%v", c.err)
	}
}

func TestGenericServerResponse(t *testing.T) {
	for code, want := range map[int]metav1.StatusReason{
		400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 406: "NotAcceptable", 409: "Conflict", 410: "Expired",
		413: "RequestEntityTooLarge", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 502: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 418: "", 302: "",
	} {
		err := apierrors.NewGenericServerResponse(code, "GET", pods, "x", "what the proxy said", 7, true)
		require.Equal(t, want, apierrors.ReasonOf(err), "%d", code)
		require.Equal(t, code, apierrors.CodeOf(err))
		require.Contains(t, err.Error(), "(get pods x)")
		require.True(t, apierrors.IsUnexpectedServerError(err))
		after, ok := apierrors.RetryAfter(err)
		require.True(t, ok)
		require.Equal(t, 7*time.Second, after)
	}
	require.True(t, apierrors.IsAlreadyExists(apierrors.NewGenericServerResponse(409, http.MethodPost, pods, "", "", 0, false)))
	plain := apierrors.NewGenericServerResponse(500, "GET", schema.GroupResource{}, "", "oops", 0, false)
	require.EqualError(t, plain, `an error on the server ("oops") has prevented the request from succeeding`)
	require.False(t, apierrors.IsUnexpectedServerError(plain))
	require.EqualError(t, apierrors.NewGenericServerResponse(406, "GET", pods, "", "unknown", 0, false),
		"the server was unable to respond with a content type that the client supports (get pods)")
}

func TestStatusConversions(t *testing.T) {
	require.NoError(t, apierrors.FromStatus(nil))
	require.NoError(t, apierrors.FromStatus(&metav1.Status{Status: metav1.StatusSuccess}))
	original := apierrors.NewNotFound(pods, "x").Status()
	require.True(t, apierrors.IsNotFound(apierrors.FromStatus(&original)))
	require.Equal(t, original, apierrors.ToStatus(fmt.Errorf("x: %w", apierrors.FromStatus(&original))))
	require.Equal(t, int32(500), apierrors.ToStatus(because).Code)
	require.True(t, apierrors.IsResourceVersionTooLarge(apierrors.NewResourceVersionTooLarge(2, 1, 1)))
}

func ExampleIsNotFound() {
	err := fmt.Errorf("reading the template: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "template"))
	fmt.Println(err)
	fmt.Println(apierrors.IsNotFound(err), apierrors.IsConflict(err))
	// Output:
	// reading the template: configmaps "template" not found
	// true false
}

func TestIgnoreNotFound(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web", errors.New("modified"))
	require.NoError(t, apierrors.IgnoreNotFound(nil))
	require.NoError(t, apierrors.IgnoreNotFound(fmt.Errorf("read: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "web"))))
	require.Equal(t, conflict, apierrors.IgnoreNotFound(conflict))
	require.NoError(t, apierrors.IgnoreAlreadyExists(nil))
	require.NoError(t, apierrors.IgnoreAlreadyExists(apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "web")))
	require.Equal(t, conflict, apierrors.IgnoreAlreadyExists(conflict), "a conflict is no object that exists")
}

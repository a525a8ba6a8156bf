package apierrors

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// responses are reason and message for answers that carried no Status. A message
// with %q takes what the server said; an empty one is what the server said.
var responses = map[int]struct {
	reason  metav1.StatusReason
	message string
}{
	http.StatusBadRequest:           {metav1.StatusReasonBadRequest, "the server rejected our request for an unknown reason"},
	http.StatusUnauthorized:         {metav1.StatusReasonUnauthorized, "the server has asked for the client to provide credentials"},
	http.StatusForbidden:            {metav1.StatusReasonForbidden, ""},
	http.StatusNotFound:             {metav1.StatusReasonNotFound, "the server could not find the requested resource"},
	http.StatusMethodNotAllowed:     {metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource"},
	http.StatusConflict:             {metav1.StatusReasonConflict, "the server reported a conflict"},
	http.StatusUnprocessableEntity:  {metav1.StatusReasonInvalid, "the server rejected our request due to an error in our request"},
	http.StatusTooManyRequests:      {metav1.StatusReasonTooManyRequests, "the server has received too many requests and has asked us to try again later"},
	http.StatusServiceUnavailable:   {metav1.StatusReasonServiceUnavailable, "the server is currently unable to handle the request"},
	http.StatusGatewayTimeout:       {metav1.StatusReasonTimeout, "the server was unable to return a response in the time allotted, but may still be processing the request"},
	http.StatusUnsupportedMediaType: {metav1.StatusReasonUnsupportedMediaType, ""},
}

// NewGenericServerResponse is the error for an HTTP answer without a Status: from
// a proxy, say, or a server that failed early. verb is the HTTP method, body what
// the server said. unexpected adds a cause with the body, for answers that should
// have been a Status.
func NewGenericServerResponse(code int, verb string, gr schema.GroupResource, name, body string, retryAfterSeconds int, unexpected bool) *StatusError {
	reason, message := genericResponse(code, verb, body)
	switch {
	case !gr.Empty() && name != "":
		message = fmt.Sprintf("%s (%s %s %s)", message, strings.ToLower(verb), gr, name)
	case !gr.Empty():
		message = fmt.Sprintf("%s (%s %s)", message, strings.ToLower(verb), gr)
	}
	e := New(code, reason, message).about(gr, name).retryAfter(retryAfterSeconds)
	if unexpected {
		e = e.causes(metav1.StatusCause{Type: metav1.CauseTypeUnexpectedServerResponse, Message: body})
	}
	return e
}

func genericResponse(code int, verb, body string) (metav1.StatusReason, string) {
	if r, ok := responses[code]; ok {
		if code == http.StatusConflict && verb == http.MethodPost {
			r.reason = metav1.StatusReasonAlreadyExists
		}
		if r.message == "" {
			r.message = body
		}
		return r.reason, r.message
	}
	switch {
	case code == http.StatusNotAcceptable && (body == "" || body == "unknown"):
		return metav1.StatusReasonNotAcceptable, "the server was unable to respond with a content type that the client supports"
	case code == http.StatusNotAcceptable:
		return metav1.StatusReasonNotAcceptable, body
	case code == http.StatusGone:
		return metav1.StatusReasonExpired, "the requested version is not available any more"
	case code == http.StatusRequestEntityTooLarge:
		return metav1.StatusReasonRequestEntityTooLarge, "the server refuses a request that large"
	case code >= http.StatusInternalServerError:
		return metav1.StatusReasonInternalError,
			fmt.Sprintf("an error on the server (%q) has prevented the request from succeeding", body)
	}
	return metav1.StatusReasonUnknown,
		fmt.Sprintf("the server responded with the status code %d but did not return more information", code)
}

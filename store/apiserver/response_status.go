package apiserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// fail responds with the Status of err. An internal error after the request's deadline, such as that of a
// webhook call, is a timeout.
func (r *request) fail(err error) {
	status := apierrors.ToStatus(err)
	if status.Code == http.StatusInternalServerError && errors.Is(r.Context().Err(), context.DeadlineExceeded) {
		status = apierrors.ToStatus(apierrors.NewTimeout("request did not complete within the allotted timeout", 0))
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	out, _ := negotiate(r.Header.Get("Accept"), offers{proto: true, cbor: r.server.opts.CBOR, table: true, meta: true})
	out.as = asObject
	r.auditStatus(&status)
	r.send(int(status.Code), out, statusKind, &status)
}

// failAsText responds with the message of an error as text, as kube-apiserver does where another server
// serves the resource.
func (r *request) failAsText(err error) {
	status := apierrors.ToStatus(err)
	r.auditStatus(&status)
	if status.Code == http.StatusBadGateway {
		r.w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(r.w, status.Message)
		return
	}
	http.Error(r.w, status.Message, int(status.Code))
}

// succeed responds with a Status of success.
func (r *request) succeed(code int, details *metav1.StatusDetails) {
	out, err := r.accepts(offers{proto: true, table: true, meta: true})
	if err != nil {
		r.fail(err)
		return
	}
	status := metav1.Status{Status: metav1.StatusSuccess, Details: details}
	if code != http.StatusOK {
		status.Code = int32(code)
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	r.auditStatus(&status)
	r.send(code, out, statusKind, &status)
}

package rest

import (
	"errors"
	"net"
	"net/http"
	"net/url"

	"github.com/keelson-dev/keelson/client"
)

// Error reports a request without a reply.
type Error struct {
	// Method and Path of the request, without the query.
	Method, Path string
	// Err is the reason.
	Err error
}

// Error names the request and the reason.
func (e *Error) Error() string { return "rest: " + e.Method + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether Err is a timeout.
func (e *Error) Timeout() bool {
	t, ok := errors.AsType[net.Error](e.Err)
	return ok && t.Timeout()
}

func (c *Conn) wrap(r *client.Request, err error) error {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return &Error{Method: method, Path: c.base.Host + r.URLPath(), Err: err}
}

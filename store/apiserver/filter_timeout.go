package apiserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// timeout is the time a request may take: the server's, or less if the client sets one.
func (r *request) timeout() (time.Duration, error) {
	limit := r.server.opts.RequestTimeout
	text := r.query.Get("timeout")
	if text == "" {
		return limit, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %q is not a duration", text))
	}
	if d == 0 {
		return limit, nil
	}
	return min(d, limit), nil
}

// limitUnreadBody bounds how long net/http waits for a body that no handler read: it drains some of it before
// it sends the response.
func (r *request) limitUnreadBody(w http.ResponseWriter) {
	if !r.bodyComplete.Load() {
		_ = http.NewResponseController(w).SetReadDeadline(r.begun.Add(r.server.opts.RequestTimeout))
	}
}

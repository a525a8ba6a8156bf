package apiserver

import (
	"fmt"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
)

// timeout is the time a request may take: the server's, or less if the client sets one.
func (r *request) timeout() (time.Duration, error) {
	most := r.server.opts.RequestTimeout
	text := r.query.Get("timeout")
	if text == "" {
		return most, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %q is not a duration", text))
	}
	if d == 0 {
		return most, nil
	}
	return min(d, most), nil
}

// boundRest bounds how long net/http waits for a body that no handler read: it drains some of it before it
// sends the response.
func (r *request) boundRest(w http.ResponseWriter) {
	if !r.bodyHere.Load() {
		_ = http.NewResponseController(w).SetReadDeadline(r.begun.Add(r.server.opts.RequestTimeout))
	}
}

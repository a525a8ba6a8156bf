// Package reviews sends reviews to the servers that authenticate and authorize for this one.
package reviews

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
)

// retries are those of kube-apiserver: four seconds in all, without the calls.
var retries = backoff.Policy{Initial: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// Send sends a review, up to five times while the error is one that passes. The timeout bounds each attempt,
// ctx all of them.
func Send[R any](ctx context.Context, timeout time.Duration, send func(context.Context) (R, error)) (reply R, err error) {
	err = backoff.Retry(ctx, retries, passes, func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		reply, err = send(ctx)
		return err
	})
	return reply, err
}

// passes reports whether a later attempt may succeed: the connection was lost, the server failed or timed out
// (500, 504), was busy (429) or says when to try again.
func passes(err error) bool {
	_, later := apierrors.RetryAfter(err)
	return later || apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		errors.Is(err, syscall.ECONNRESET) || strings.Contains(err.Error(), "http2: client connection lost")
}

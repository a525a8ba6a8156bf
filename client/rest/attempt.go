package rest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/client"
)

// isUnlimited reports whether a request does not wait for its turn: streams take no turn because they last,
// and leases because a late renewal costs the leader its lease.
func isUnlimited(r *client.Request, whole bool) bool {
	return !whole || r.Resource.Group == "coordination.k8s.io" && r.Resource.Resource == "leases" && r.Name != ""
}

// attempts sends r until it succeeds or must not be retried. done is called with a successful reply; it must
// read its body or, if whole is false, keep it.
func (c *Conn) attempts(ctx context.Context, r *client.Request, whole bool, done func(*http.Response) error) error {
	target := Target{Verb: r.Verb(), Method: cmp.Or(r.Method, http.MethodGet), Host: c.base.Host, Resource: r.Resource.Resource}
	var rejected *Credential
	unauthorized, broken := false, 0
	for try := 0; ; try++ {
		slot := !isUnlimited(r, whole)
		if slot {
			waited, err := c.acquire(ctx)
			if waited > 0 && c.opts.Metrics.Queued != nil {
				c.opts.Metrics.Queued(target, waited)
			}
			if err != nil {
				return c.wrap(r, err)
			}
		}
		start := time.Now()
		code, cred, err := c.sendOnce(ctx, r, rejected, done)
		if slot {
			c.limit.release(classify(r, code, err))
		}
		if c.opts.Metrics.Request != nil {
			c.opts.Metrics.Request(target, code, time.Since(start))
		}
		if err == nil {
			return nil
		}
		wait, again := c.retryWait(ctx, r, code, err, try)
		switch {
		case code == http.StatusUnauthorized && !unauthorized && (c.cfg.Credentials != nil || c.cfg.BearerTokenFile != ""):
			unauthorized, again, wait = true, true, 0
			if rejected = cred; rejected == nil {
				rejected = &Credential{}
			}
		case code == 0 && again:
			if broken++; broken > 2 {
				again = false
			}
		}
		if !again || ctx.Err() != nil {
			return err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			// Waiting would only replace the server's error by a timeout.
			return err
		}
		if c.opts.Metrics.Retry != nil {
			c.opts.Metrics.Retry(target, code)
		}
		if backoff.Sleep(ctx, wait) != nil {
			return err
		}
	}
}

// acquire waits until a request may be sent and returns for how long. After an error there is no slot to
// release.
func (c *Conn) acquire(ctx context.Context) (time.Duration, error) {
	paced, err := c.pace.wait(ctx)
	if err != nil {
		return paced, err
	}
	queued, err := c.limit.acquire(ctx)
	return paced + queued, err
}

// classify returns what a reply shows about the server's load.
func classify(r *client.Request, code int, err error) outcome {
	switch {
	case code == http.StatusTooManyRequests && isOverload(r, err):
		return overloaded
	case code == 0 || code >= 500:
		return unclear
	}
	return answered
}

// isOverload reports whether a 429 is caused by the server's load. The refusal of an eviction by a disruption
// budget is not, and would be repeated for minutes; neither is a 429 without Retry-After, such as the denial
// of a webhook.
func isOverload(r *client.Request, err error) bool {
	_, wait := apierrors.RetryAfter(err)
	return wait && r.Subresource != "eviction"
}

// retryWait reports whether to send r again after err, and after which wait.
func (c *Conn) retryWait(ctx context.Context, r *client.Request, code int, err error, try int) (time.Duration, bool) {
	if try >= c.opts.Retries {
		return 0, false
	}
	if code == 0 {
		// Only a read may be sent again if the result is unknown.
		if r.Method != "" && r.Method != http.MethodGet || !brokenConnection(err) {
			return 0, false
		}
		return time.Duration(try+1) * (50*time.Millisecond + backoff.Spread(ctx, 100*time.Millisecond)), true
	}
	if code != http.StatusTooManyRequests && code < 500 {
		return 0, false
	}
	after, ok := apierrors.RetryAfter(err)
	if !ok || code == http.StatusTooManyRequests && !isOverload(r, err) {
		return 0, false
	}
	return after + backoff.Spread(ctx, after/8), true
}

// brokenConnection reports whether an exchange failed on an established connection.
func brokenConnection(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op != "dial"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	return strings.Contains(err.Error(), "http2:")
}

// sendOnce sends r once. code is 0 if there was no reply.
func (c *Conn) sendOnce(ctx context.Context, r *client.Request, rejected *Credential, done func(*http.Response) error) (code int, cred *Credential, err error) {
	t, cred, err := c.current(ctx, rejected)
	if err != nil {
		return 0, nil, c.wrap(r, err)
	}
	req, err := c.request(ctx, r, t, cred)
	if err != nil {
		return 0, cred, err
	}
	resp, err := t.wrappedMain.RoundTrip(req)
	if err != nil {
		return 0, cred, c.wrap(r, err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		err := c.statusError(r, resp)
		if since, ok := t.expired(); ok && resp.StatusCode == http.StatusUnauthorized {
			if s, ok := errors.AsType[*apierrors.StatusError](err); ok {
				s.ErrStatus.Message += ": the client certificate expired at " + since.UTC().Format(time.RFC3339)
			}
		}
		return resp.StatusCode, cred, err
	}
	if err := done(resp); err != nil {
		resp.Body.Close()
		return 0, cred, c.wrap(r, err)
	}
	return resp.StatusCode, cred, nil
}

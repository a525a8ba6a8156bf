package apiserver

import (
	"context"
	"errors"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/store"
)

// StartHook is work of a server's Run beside serving requests.
type StartHook interface {
	// Start is called once the server's caches run, and before requests for resources are served. While its
	// error is that of a store that cannot be reached it is called again, at most every five seconds; any
	// other error ends Run, which returns it.
	Start(ctx context.Context, s *Server) error
	// Run is called when Start has succeeded and requests are served. It must return soon after ctx has
	// ended, which is when the server begins to shut down: what it does then, such as taking the address of
	// the server out of a list, is done while requests are still served for Options.ShutdownDelay. What
	// serves Access runs until it has returned.
	Run(ctx context.Context, s *Server)
}

// startRetry is how often a start hook is called again while the store cannot be reached.
var startRetry = backoff.Policy{Max: 5 * time.Second, Jitter: 0.5}

// startHook calls the start hook until it succeeds or ctx ends. Meanwhile the server is alive but not ready.
func (s *Server) startHook(ctx context.Context) error {
	hook := s.opts.StartHook
	if hook == nil {
		return nil
	}
	return backoff.Retry(ctx, startRetry, isUnreachable, func(ctx context.Context) error {
		err := hook.Start(ctx, s)
		if err != nil && ctx.Err() == nil && isUnreachable(err) {
			s.logger.Warn("start failed, the store is unavailable", "err", err)
		}
		return err
	})
}

// isUnreachable reports whether an error came from a store that did not respond, so that a retry may succeed.
func isUnreachable(err error) bool {
	_, ok := errors.AsType[*store.UnavailableError](err)
	return ok || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsConflict(err) || errors.Is(err, context.DeadlineExceeded)
}

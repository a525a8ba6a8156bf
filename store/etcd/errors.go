package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/store"
)

// failure translates an error of etcd's client. ctx is the caller's, without the store's own timeout.
func (s *Store) failure(ctx context.Context, op string, write bool, err error) error {
	select {
	case <-s.done:
		if !write {
			return store.ErrClosed
		}
	default:
	}
	if ctx.Err() != nil {
		return fmt.Errorf("store: %s: %w", op, ctx.Err())
	}
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return &store.ExpiredError{}
	case errors.Is(err, rpctypes.ErrFutureRev):
		return &store.FutureRevisionError{}
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return &store.TooLargeError{}
	case errors.Is(err, rpctypes.ErrTooManyOps), errors.Is(err, rpctypes.ErrDuplicateKey), errors.Is(err, rpctypes.ErrEmptyKey):
		return fmt.Errorf("%w: %v", store.ErrInvalid, err)
	case errors.Is(err, context.DeadlineExceeded), status.Code(err) == codes.DeadlineExceeded:
		err = errors.New("etcd did not answer in time")
	case status.Code(err) == codes.ResourceExhausted && !errors.Is(err, rpctypes.ErrNoSpace) && !errors.Is(err, rpctypes.ErrTooManyRequests):
		return &store.TooLargeError{} // larger than a message of gRPC
	}
	return &store.UnavailableError{Op: op, MaybeApplied: write && !refused(err), Err: err}
}

// refused reports whether etcd answered that it did not apply the write.
func refused(err error) bool {
	return errors.Is(err, rpctypes.ErrNoSpace) || errors.Is(err, rpctypes.ErrTooManyRequests) ||
		errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrLeaseNotFound)
}

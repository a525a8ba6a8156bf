package etcdserver

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/store"
)

// answer translates an error of the store to that of etcd in the same case; a status is returned as it is.
func answer(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	if _, ok := errors.AsType[*store.ExpiredError](err); ok {
		return rpctypes.ErrGRPCCompacted
	}
	if _, ok := errors.AsType[*store.FutureRevisionError](err); ok {
		return rpctypes.ErrGRPCFutureRev
	}
	if _, ok := errors.AsType[*store.TooLargeError](err); ok {
		return rpctypes.ErrGRPCRequestTooLarge
	}
	switch {
	case errors.Is(err, store.ErrClosed):
		return rpctypes.ErrGRPCStopped
	case errors.Is(err, store.ErrInvalid):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errForeign):
		return status.Error(codes.DataLoss, err.Error())
	case errors.Is(err, context.Canceled):
		return rpctypes.ErrGRPCCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return rpctypes.ErrGRPCDeadlineExceeded
	}
	return status.Error(codes.Unavailable, err.Error())
}

// unsupported is the error of requests that a store does not support.
func unsupported(what string) error {
	return status.Error(codes.Unimplemented, "etcdserver: "+what+" is not supported over this store")
}

// Package audit records who requested what of an API server, as events of audit.k8s.io/v1.
//
// A [Policy] decides which requests are recorded and in what detail. The server makes a [Record] of each such
// request and passes its events, at most one for each stage, to a [Backend]: to a file ([Log]), to a webhook
// ([Webhook]), or to a function ([Func]). [Batch] and [Truncate] are backends before another one.
//
// What the server promises is tested with it, in store/apiserver.
package audit

import (
	"context"
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
)

// Backend takes events. It must be safe for concurrent use.
type Backend interface {
	// Record takes events, the oldest first. They are immutable and may be kept. An error means that events
	// may be lost; at the stage RequestReceived it refuses the request. ctx does not end when the client
	// disconnects. The request waits for the call.
	Record(ctx context.Context, events ...*auditv1.Event) error
}

// Func adapts a function to Backend.
type Func func(ctx context.Context, events ...*auditv1.Event) error

// Record calls f.
func (f Func) Record(ctx context.Context, events ...*auditv1.Event) error { return f(ctx, events...) }

// Union passes events to several backends, also after one has failed.
func Union(backends ...Backend) Backend { return union(backends) }

type union []Backend

func (u union) Record(ctx context.Context, events ...*auditv1.Event) error {
	var errs []error
	for _, b := range u {
		errs = append(errs, b.Record(ctx, events...))
	}
	return errors.Join(errs...)
}

// Lenient drops the errors of a backend: a request that cannot be recorded is served nonetheless.
func Lenient(b Backend) Backend {
	return Func(func(ctx context.Context, events ...*auditv1.Event) error {
		_ = b.Record(ctx, events...) // reported by the backend
		return nil
	})
}

// FailedFunc is called by a backend that loses events. plugin is its name in Kubernetes' metrics: log,
// webhook, buffered or truncate. It must be fast and safe for concurrent use.
type FailedFunc func(plugin string, err error, events int)

func (f FailedFunc) failed(plugin string, err error, events int) error {
	if f != nil {
		f(plugin, err, events)
	}
	return err
}

// Metrics are hooks for measurements, called on the request's goroutine. Nil functions are skipped.
type Metrics struct {
	// Level is called for every request with the level at which it is recorded.
	Level func(auditv1.Level)
	// Event is called for every event that is passed to the backend.
	Event func()
	// Rejected is called when a request is refused because it could not be recorded.
	Rejected func()
}

// Options say which requests a server records, and where. The zero value records none.
type Options struct {
	// Policy decides which requests are recorded; nil records none.
	Policy *Policy
	// Backend gets the events; nil records none.
	Backend Backend
	// Metrics are called as things happen.
	Metrics Metrics
}

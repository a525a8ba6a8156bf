// Package reconcile defines the contract between a controller and its reconciler. A [Reconciler] is
// level-triggered: it receives a key, not an event, reads the current state and moves it toward the desired
// state. It may be called at any time, for any reason, any number of times, but never concurrently for the
// same key.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Request is the usual key of a reconcile: that of the object, which may have been deleted. A controller may
// have keys of any other comparable type, such as a struct that also names a cluster; see [Reconciler].
type Request = types.NamespacedName

// Result is the result of a successful reconcile. With the zero value the key is not reconciled again until
// it is enqueued.
type Result struct {
	// RequeueAfter, if positive, reconciles the key again after this time even if nothing changes.
	RequeueAfter time.Duration
	// Priority of the requeued key. If nil, it keeps the priority of the current run, or that of a pending
	// run if the key was enqueued meanwhile.
	Priority *int
}

// Reconciler moves the state of one object toward the desired state. K is the type of the keys, for most
// controllers [Request]. After an error the key is retried with back-off, unless the error is terminal; see
// [TerminalError]. The context ends when the controller stops or the reconcile timeout passes. It carries the
// logger and the ID of the run; see [Logger] and [ID].
type Reconciler[K comparable] interface {
	Reconcile(ctx context.Context, req K) (Result, error)
}

// Func adapts a function to a Reconciler.
func Func[K comparable](f func(ctx context.Context, req K) (Result, error)) Reconciler[K] {
	if f == nil {
		return nil
	}
	return function[K](f)
}

type function[K comparable] func(ctx context.Context, req K) (Result, error)

// Reconcile implements Reconciler.
func (f function[K]) Reconcile(ctx context.Context, req K) (Result, error) { return f(ctx, req) }

// TerminalError wraps an error that retrying cannot fix. The controller counts and logs it and does not retry
// the key until it is enqueued again.
func TerminalError(err error) error { return &terminalError{err} }

// IsTerminal reports whether err is or wraps a terminal error.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*terminalError](err)
	return ok
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return fmt.Sprintf("terminal: %v", e.err) }
func (e *terminalError) Unwrap() error { return e.err }

// Run describes one call of a reconciler.
type Run struct {
	// Controller is the name of the controller.
	Controller string
	// Key is the key that is reconciled: a Request, or what other type the controller has for its keys.
	Key any
	// ID identifies the run in logs. It is unique across replicas.
	ID string
	// Logger has the attributes controller, namespace, name and reconcileID. In the place of namespace and
	// name, a key that implements slog.LogValuer has the attributes of that group, and any other key has
	// the attribute key.
	Logger *slog.Logger
}

type contextKey struct{}

// NewContext returns a context that carries r, like the contexts controllers pass to reconcilers. Tests of a
// reconciler may use it too.
func NewContext(ctx context.Context, r *Run) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the run that ctx belongs to, or nil. The caller must not modify it.
func FromContext(ctx context.Context) *Run {
	r, _ := ctx.Value(contextKey{}).(*Run)
	return r
}

// Logger returns the logger of the run that ctx belongs to, or slog.Default() if there is none.
func Logger(ctx context.Context) *slog.Logger {
	if r := FromContext(ctx); r != nil && r.Logger != nil {
		return r.Logger
	}
	return slog.Default()
}

// ID returns the ID of the run that ctx belongs to, or "" if there is none.
func ID(ctx context.Context) string {
	if r := FromContext(ctx); r != nil {
		return r.ID
	}
	return ""
}

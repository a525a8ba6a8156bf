// Package reconcile is the contract between a controller and the code that makes one object's world
// as it should be. A [Reconciler] is level-triggered: it gets a key, never an event, reads the present
// state and moves it toward the desired one. It may be called again at any time for any reason, and
// is never called for one key from two goroutines at once.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Request names the object to look at. The object may be gone.
type Request = types.NamespacedName

// Result says what a successful reconcile asks for next. The zero value asks for nothing.
type Result struct {
	// RequeueAfter, if positive, runs the key again after this time even if nothing changes.
	RequeueAfter time.Duration
	// Priority of that next run; nil keeps the key's own, that is the priority of the run that asks, or of a
	// pending one.
	Priority *int
}

// Reconciler brings one object's world to the desired state. Any error but a terminal one makes the
// controller run the key again after a back-off. The context ends with the controller or the reconcile
// timeout, and carries the logger and the id of the run; see [Logger] and [ID].
type Reconciler interface {
	Reconcile(ctx context.Context, req Request) (Result, error)
}

// Func adapts a function to Reconciler.
type Func func(ctx context.Context, req Request) (Result, error)

// Reconcile calls f.
func (f Func) Reconcile(ctx context.Context, req Request) (Result, error) { return f(ctx, req) }

// TerminalError wraps an error that running again cannot mend. The controller counts and logs it
// and waits for the object to change.
func TerminalError(err error) error { return &terminalError{err} }

// IsTerminal reports whether err is or wraps a terminal error.
func IsTerminal(err error) bool {
	_, ok := errors.AsType[*terminalError](err)
	return ok
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return fmt.Sprintf("terminal: %v", e.err) }
func (e *terminalError) Unwrap() error { return e.err }

// Run says which reconcile a context is of.
type Run struct {
	// Controller is the name of the controller, and Request what it was called with.
	Controller string
	Request    Request
	// ID identifies the run among all of all replicas, in logs.
	ID string
	// Logger is for the run; its lines have the attributes controller, namespace, name and reconcileID.
	Logger *slog.Logger
}

type contextKey struct{}

// NewContext returns a context as controllers hand it to reconcilers; tests of a reconciler may use it too.
func NewContext(ctx context.Context, r *Run) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the reconcile that ctx is of, or nil. It must not be changed.
func FromContext(ctx context.Context) *Run {
	r, _ := ctx.Value(contextKey{}).(*Run)
	return r
}

// Logger returns the logger of the reconcile of ctx, and for other contexts slog.Default().
func Logger(ctx context.Context) *slog.Logger {
	if r := FromContext(ctx); r != nil && r.Logger != nil {
		return r.Logger
	}
	return slog.Default()
}

// ID returns the id of the reconcile of ctx, and for other contexts nothing.
func ID(ctx context.Context) string {
	if r := FromContext(ctx); r != nil {
		return r.ID
	}
	return ""
}

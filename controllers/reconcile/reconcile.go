// Package reconcile is the contract between a controller and the code that makes one object's world
// as it should be. A [Reconciler] is level-triggered: it gets a key, never an event, reads the present
// state and moves it toward the desired one. It may be called again at any time for any reason, and
// is never called for one key from two goroutines at once.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Request names the object to look at. The object may be gone.
type Request = types.NamespacedName

// Result says what a successful reconcile asks for next. The zero value asks for nothing.
type Result struct {
	// RequeueAfter, if positive, runs the key again after this time even if nothing changes.
	RequeueAfter time.Duration
	// Priority of that next run; nil keeps the key's own.
	Priority *int
}

// Reconciler brings one object's world to the desired state. Any error but a terminal one makes the
// controller run the key again after a back-off. The context ends with the controller or the reconcile timeout.
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

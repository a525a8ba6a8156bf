package controller

import (
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
)

// PanicError is the error of a reconcile that panicked.
type PanicError struct {
	// Value is the argument of panic.
	Value any
	// Trace names the functions from the one that panicked to the reconciler, on one line, so that it stays
	// readable in every format of logs.
	Trace string
	// Stack is the complete stack as printed by Go.
	Stack []byte
}

// Error has the value and the trace.
func (e *PanicError) Error() string {
	return fmt.Sprintf("controller: reconciler panicked: %v (%s)", e.Value, e.Trace)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// newPanicError is called by the function that has recovered value.
func newPanicError(value any) *PanicError {
	return &PanicError{Value: value, Trace: trace(), Stack: debug.Stack()}
}

// maxTrace is the number of functions in a trace: the panics of an endless recursion are short too.
const maxTrace = 16

// trace returns the functions between the panic and Controller.reconcile.
func trace() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	var out []string
	panicked := false
	for {
		f, more := frames.Next()
		name := path.Base(f.Function)
		switch {
		case name == "runtime.gopanic":
			panicked, out = true, nil
		case !panicked || strings.HasPrefix(f.Function, "runtime."):
		case strings.HasSuffix(f.Function, "controller.(*Controller[...]).reconcile") || len(out) == maxTrace:
			return strings.Join(out, " <- ")
		default:
			out = append(out, fmt.Sprintf("%s %s:%d", name, path.Base(f.File), f.Line))
		}
		if !more {
			return strings.Join(out, " <- ")
		}
	}
}

// Package grace gives a context two deadlines: its own end, after which no new work is started, and a later
// one at which work in progress is canceled.
package grace

import "context"

type key struct{}

// With returns ctx with the end of work as its later end. ctx must end when work does.
func With(ctx, work context.Context) context.Context {
	return context.WithValue(ctx, key{}, work)
}

// Later returns the context passed to [With] as work, or nil if ctx has no later end.
func Later(ctx context.Context) context.Context {
	later, _ := ctx.Value(key{}).(context.Context)
	return later
}

// Work returns the context for work started under ctx. It has the values of ctx and ends at its later end, or
// with ctx if there is none. stop releases its resources and must be called when the work is done.
func Work(ctx context.Context) (work context.Context, stop func()) {
	later := Later(ctx)
	if later == nil {
		return context.WithCancel(ctx)
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(later, func() { cancel(context.Cause(later)) })
	return work, func() { forget(); cancel(nil) }
}

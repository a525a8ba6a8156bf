// Package grace carries two ends of one life in a context: that of the context itself, after which nothing
// new is begun, and a later one, at which work under way is cut off.
package grace

import "context"

type key struct{}

// With returns ctx with its later end, that of work. ctx must end when work does.
func With(ctx, work context.Context) context.Context {
	return context.WithValue(ctx, key{}, work)
}

// Later returns the context that ctx was given as its later end, or nil.
func Later(ctx context.Context) context.Context {
	later, _ := ctx.Value(key{}).(context.Context)
	return later
}

// Work returns the context for work that is begun under ctx: its values are ctx's, and it ends at ctx's later
// end, or with ctx if that has only one. stop must be called when there is no work any more.
func Work(ctx context.Context) (work context.Context, stop func()) {
	later := Later(ctx)
	if later == nil {
		return context.WithCancel(ctx)
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	forget := context.AfterFunc(later, func() { cancel(context.Cause(later)) })
	return work, func() { forget(); cancel(nil) }
}

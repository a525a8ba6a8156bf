package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// Finalizers are the finalizers of one controller for objects of type T, each with what it cleans up:
//
//	var cleanup controllers.Finalizers[*Website]
//	err := cleanup.Add("example.com/dns", removeRecords)
//
//	// in Reconcile:
//	site, deleting, err := cleanup.Run(ctx, websites, site)
//	if deleting || err != nil {
//		return reconcile.Result{}, err
//	}
//
// The zero value has none. Add must not be called while Run is; Run may be called concurrently.
type Finalizers[T metav1.Object] struct{ all []finalizer[T] }

type finalizer[T metav1.Object] struct {
	name    string
	cleanUp func(ctx context.Context, obj T) error
}

// Add adds a finalizer. Its name has a domain, as in example.com/dns; an invalid or repeated one is an error.
// cleanUp is called for an object that is being deleted, until it returns nil. It may be called again after
// that, so it must accept that there is nothing left to do, and it must not change obj.
func (f *Finalizers[T]) Add(name string, cleanUp func(ctx context.Context, obj T) error) error {
	domain, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok || domain == "" || rest == "":
		return fmt.Errorf("controllers: finalizer %q must have a domain and a name, as in example.com/dns", name)
	case cleanUp == nil:
		return fmt.Errorf("controllers: the function of finalizer %s must not be nil", name)
	case slices.ContainsFunc(f.all, func(o finalizer[T]) bool { return o.name == name }):
		return fmt.Errorf("controllers: finalizer %s was added twice", name)
	}
	f.all = append(f.all, finalizer[T]{name, cleanUp})
	return nil
}

// Run adds the finalizers to an object, with one write if any is missing. For an object that is being deleted
// it instead calls, in the order of Add, the functions of those that the object has, and removes with one
// write those that returned nil; a failure does not keep the others from being called, and is retried in the
// next call. deleting is then true, and the caller must do nothing else for the object. Run returns the
// object as stored; the error joins those of the functions, each with the name of its finalizer.
func (f *Finalizers[T]) Run(ctx context.Context, c *client.Client[T], obj T) (stored T, deleting bool, err error) {
	if !metav1.IsTerminating(obj) {
		names := make([]string, len(f.all))
		for i, one := range f.all {
			names[i] = one.name
		}
		stored, err = client.AddFinalizer(ctx, c, obj, names...)
		return stored, false, err
	}
	var done []string
	var failed []error
	for _, one := range f.all {
		if !metav1.HasFinalizer(obj, one.name) {
			continue
		}
		if err := one.cleanUp(ctx, obj); err != nil {
			failed = append(failed, fmt.Errorf("controllers: finalizer %s: %w", one.name, err))
			continue
		}
		done = append(done, one.name)
	}
	stored = obj
	if len(done) > 0 {
		if stored, err = client.RemoveFinalizer(ctx, c, obj, done...); err != nil {
			stored = obj
			failed = append(failed, err)
		}
	}
	return stored, true, errors.Join(failed...)
}

package objects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/wait"
)

// CreateAll creates objects in the order of manifest.OrderOf: definitions of custom resources first, then
// namespaces, others as given, and webhooks last. Before an object of a kind that one of the definitions
// defines it waits until the kind is served. A failure does not keep the other objects from being created.
// The result has the objects as stored, in the order of objs and nil for those that failed, and the error
// joins an
// *Error for each.
func (c *Client) CreateAll(ctx context.Context, objs []metav1.Object, opts ...client.CreateOptions) ([]metav1.Object, error) {
	return c.all(ctx, objs, func(obj metav1.Object) (metav1.Object, error) { return c.Create(ctx, obj, opts...) })
}

// ApplyAll applies objects, otherwise as CreateAll does.
func (c *Client) ApplyAll(ctx context.Context, objs []metav1.Object, opts client.ApplyOptions) ([]metav1.Object, error) {
	return c.all(ctx, objs, func(obj metav1.Object) (metav1.Object, error) { return c.Apply(ctx, obj, opts) })
}

// DeleteAll deletes objects in the reverse order of CreateAll. Objects that do not exist, or whose kind is
// not served, are no error.
func (c *Client) DeleteAll(ctx context.Context, objs []metav1.Object, opts ...client.DeleteOptions) error {
	var failed []error
	for _, i := range slices.Backward(c.order(objs)) {
		err := c.Delete(ctx, objs[i], opts...)
		if err != nil && !apierrors.IsNotFound(err) && !discovery.IsNoMatch(err) {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// WaitAll waits for all objects at once. The error joins an *Error for each that did not become as check
// demands.
func (c *Client) WaitAll(ctx context.Context, objs []metav1.Object, check wait.Check) error {
	failed := make([]error, len(objs))
	var all sync.WaitGroup
	for i, obj := range objs {
		all.Go(func() { _, failed[i] = c.Wait(ctx, obj, check) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// order returns the indexes of objects in the order in which they are created.
func (c *Client) order(objs []metav1.Object) []int {
	places, order := make([]manifest.Order, len(objs)), make([]int, len(objs))
	for i, obj := range objs {
		order[i] = i
		if obj != nil {
			places[i] = manifest.OrderOf(c.KindOf(obj).GroupKind())
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	return order
}

// all writes objects in order.
func (c *Client) all(ctx context.Context, objs []metav1.Object, write func(metav1.Object) (metav1.Object, error)) ([]metav1.Object, error) {
	out, failed := make([]metav1.Object, len(objs)), []error(nil)
	// Kinds that are not known to be served yet, with their definitions.
	defined := map[schema.GroupKind]metav1.Object{}
	for _, i := range c.order(objs) {
		obj, err := objs[i], error(nil)
		if obj != nil {
			err = c.awaitKind(ctx, obj, defined)
		}
		if err == nil {
			out[i], err = write(obj)
		}
		if err != nil {
			failed = append(failed, err)
		} else if kind, ok := c.definedKind(obj); ok {
			defined[kind] = obj
		}
		if ctx.Err() != nil {
			break
		}
	}
	return out, errors.Join(failed...)
}

// awaitKind waits until the kind of an object is served, if its definition was just written. A definition
// that the server does not accept ends the wait.
func (c *Client) awaitKind(ctx context.Context, obj metav1.Object, defined map[schema.GroupKind]metav1.Object) error {
	gvk := c.KindOf(obj)
	definition := defined[gvk.GroupKind()]
	if definition == nil {
		return nil
	}
	_, err := c.Wait(ctx, definition, wait.ReadyOrFailed)
	if err == nil {
		_, err = wait.Served(ctx, c.opts.Discovery, gvk.GroupKind(), gvk.Version)
	}
	if err != nil {
		return &Error{Verb: "wait for the kind of", Kind: gvk, Object: obj, Err: err}
	}
	delete(defined, gvk.GroupKind())
	return nil
}

// definedKind returns the kind that an object defines, if it is the definition of a custom resource.
func (c *Client) definedKind(obj metav1.Object) (schema.GroupKind, bool) {
	if manifest.OrderOf(c.KindOf(obj).GroupKind()) != manifest.Definitions {
		return schema.GroupKind{}, false
	}
	tree, err := manifest.ToMap(obj)
	if err != nil {
		return schema.GroupKind{}, false
	}
	spec, _ := tree["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, _ := spec["group"].(string)
	kind, _ := names["kind"].(string)
	return schema.GroupKind{Group: group, Kind: kind}, group != "" && kind != ""
}

package controllers

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/informers"
)

// Controlled finds the objects of type T by the owner that controls them. It is made by [ControlledIn].
type Controlled[T metav1.Object] struct {
	byController informers.Index[T]
}

// ownerIndexes has the index definition of each type, so that an informer has the index once.
var ownerIndexes sync.Map // reflect.Type -> *informers.IndexDefinition[T]

// ControlledIn returns the Controlled of a set's informer for T, and adds the index that it needs.
func ControlledIn[T metav1.Object](set *informers.Set) Controlled[T] {
	definition, _ := ownerIndexes.LoadOrStore(reflect.TypeFor[T](), informers.DefineIndex("controller", func(obj T) []string {
		if ref := metav1.ControllerOf(obj); ref != nil {
			return []string{string(ref.UID)}
		}
		return orphanPlaces(obj)
	}))
	return Controlled[T]{informers.For[T](set).Index(definition.(*informers.IndexDefinition[T]))}
}

// orphanPlaces returns the places of an object without a controller: its namespace and each of its labels.
// They begin with a slash, unlike uids.
func orphanPlaces[T metav1.Object](obj T) []string {
	out := []string{"/" + obj.GetNamespace()}
	for _, place := range labelPlaces(obj) {
		out = append(out, "/"+place)
	}
	return out
}

// ControlledBy returns the objects whose controller has the uid, in all namespaces, shared and read-only.
func (c Controlled[T]) ControlledBy(uid types.UID) ([]T, error) { return c.all(string(uid)) }

// Orphans returns the objects of a namespace without a controller, shared and read-only.
func (c Controlled[T]) Orphans(namespace string) ([]T, error) { return c.all("/" + namespace) }

// orphansOf returns orphans of a namespace, among which are all that selector selects.
func (c Controlled[T]) orphansOf(namespace string, selector labels.Selector) (out []T, err error) {
	places, ok := rarest(c.byController, "/"+namespace, selector)
	if !ok {
		return c.Orphans(namespace)
	}
	for _, place := range places {
		list, err := c.all(place)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

func (c Controlled[T]) all(value string) ([]T, error) {
	var out []T
	err := c.byController.View(value, func(obj T) bool {
		out = append(out, obj)
		return true
	})
	return out, err
}

// Dependents are the objects of type T that owners of type O control, such as the pods of ReplicaSets.
// Create it with [NewDependents].
type Dependents[O, T metav1.Object] struct {
	Controlled[T]
	owners *client.Client[O]
	api    *client.Client[T]
	scheme *scheme.Scheme
}

// NewDependents returns the Dependents that read from the informers of m and write through its connection.
// The types must be in the scheme of the connection.
func NewDependents[O, T metav1.Object](m *manager.Manager) Dependents[O, T] {
	return Dependents[O, T]{
		Controlled: ControlledIn[T](m.Informers()), scheme: m.Conn().Scheme(),
		owners: client.For[O](m.Conn()), api: client.For[T](m.Conn()),
	}
}

// ClaimOptions select the objects that belong to an owner.
type ClaimOptions[T metav1.Object] struct {
	// Selector selects by labels. It is required; an empty selector selects all.
	Selector labels.Selector
	// Belongs, if not nil, is a further condition for belonging to the owner.
	Belongs func(obj T) bool
	// Adopts, if not nil, is a further condition for being adopted. Objects that are being deleted are never
	// adopted.
	Adopts func(obj T) bool
	// Finalizers are added to adopted objects and removed from released ones.
	Finalizers []string
}

// Claim returns the objects of owner's namespace that belong to it, in no particular order: those that it
// controls and opts select. It adopts selected objects without a controller, by making owner their
// controller, and releases controlled ones that are not selected, by removing the reference. Before the first
// adoption it reads owner from the server, to adopt nothing for an owner that was deleted or replaced. An
// owner that is being deleted neither adopts nor releases.
//
// The returned objects are shared and read-only. With an error, which is the first of those that occurred,
// they are those that are known to belong to owner.
func (d Dependents[O, T]) Claim(ctx context.Context, owner O, opts ClaimOptions[T]) ([]T, error) {
	meta := metav1.MetaOf(owner)
	mine, strangers, err := d.sort(meta, opts)
	if err != nil || meta.DeletionTimestamp != nil {
		return mine, err
	}
	var firstErr error
	keep := func(err error) {
		if err != nil && firstErr == nil {
			firstErr = err
		}
	}
	for _, obj := range strangers {
		keep(d.release(ctx, owner, obj, opts.Finalizers))
	}
	orphans, err := d.orphansOf(meta.Namespace, opts.Selector)
	if err != nil {
		return mine, err
	}
	lives := sync.OnceValue(func() error { return d.lives(ctx, owner) })
	for _, obj := range orphans {
		if metav1.IsTerminating(obj) || !opts.selects(obj) || opts.Adopts != nil && !opts.Adopts(obj) {
			continue
		}
		if err := lives(); err != nil {
			keep(fmt.Errorf("controllers: cannot adopt %s %s: %w", d.api.Resource().GVK.Kind, metav1.KeyOf(obj), err))
			continue
		}
		adopted, err := d.adopt(ctx, owner, obj, opts.Finalizers)
		if err == nil {
			mine = append(mine, adopted)
		}
		keep(apierrors.IgnoreNotFound(err))
	}
	return mine, firstErr
}

// selects reports whether an object belongs to the owner if no other one controls it.
func (o *ClaimOptions[T]) selects(obj T) bool {
	return o.Selector.Matches(obj.GetLabels()) && (o.Belongs == nil || o.Belongs(obj))
}

// sort returns the controlled objects that are selected and those that are not.
func (d Dependents[O, T]) sort(owner *metav1.ObjectMeta, opts ClaimOptions[T]) (mine, strangers []T, err error) {
	controlled, err := d.ControlledBy(owner.UID)
	if err != nil {
		return nil, nil, err
	}
	for _, obj := range controlled {
		switch {
		case obj.GetNamespace() != owner.Namespace:
		case opts.selects(obj):
			mine = append(mine, obj)
		default:
			strangers = append(strangers, obj)
		}
	}
	return mine, strangers, nil
}

// lives returns an error unless the server has owner and it is not being deleted.
func (d Dependents[O, T]) lives(ctx context.Context, owner O) error {
	key, kind := metav1.KeyOf(owner), d.owners.Resource().GVK.Kind
	live, err := d.owners.Get(ctx, key)
	if err != nil {
		return err
	}
	switch m := metav1.MetaOf(live); {
	case m.UID != metav1.MetaOf(owner).UID:
		return fmt.Errorf("%s %v was replaced by another", kind, key)
	case m.DeletionTimestamp != nil:
		return fmt.Errorf("%s %v is being deleted", kind, key)
	}
	return nil
}

func (d Dependents[O, T]) adopt(ctx context.Context, owner O, obj T, finalizers []string) (T, error) {
	next := codec.DeepCopy(obj)
	if err := Own(d.scheme, owner, next); err != nil {
		var none T
		return none, err
	}
	for _, f := range finalizers {
		metav1.AddFinalizer(next, f)
	}
	return client.PatchFrom(ctx, d.api, obj, next, client.PatchFromOptions{Lock: true})
}

func (d Dependents[O, T]) release(ctx context.Context, owner O, obj T, finalizers []string) error {
	next := codec.DeepCopy(obj)
	RemoveOwner(owner, next)
	m := metav1.MetaOf(next)
	m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return slices.Contains(finalizers, f) })
	_, err := client.PatchFrom(ctx, d.api, obj, next, client.PatchFromOptions{Lock: true})
	return apierrors.IgnoreNotFound(err)
}

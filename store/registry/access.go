package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/cache"
)

// Access reads and writes objects for parts of the server itself: objects of the resource's Go type
// (*corev1.Pod, or *metav1.Unstructured for custom resources), the same admission, validation and versions as
// over HTTP, no authorization. Errors are *apierrors.StatusError. The user of a write is the one in ctx
// (authn.WithUser), or the server itself.
//
// Get and List read the watch cache: they see every write made through this registry, and those of other
// servers a moment later. GetLatest reads the store. All methods wait until the registry runs.
type Access interface {
	// Get returns a private copy of an object.
	Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// View is Get of an object that is shared with others and must not be changed. It is decoded once.
	View(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// GetLatest is Get of the newest state.
	GetLatest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// List returns private copies of the objects of a namespace (empty for all) that match, ordered by
	// namespace and name.
	List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]metav1.Object, error)
	// Contents returns all objects of a resource as one state that has every write made through this
	// registry, cheaply if nothing has changed.
	Contents(ctx context.Context, gvr schema.GroupVersionResource) (admission.Contents, error)
	// ResourceOf returns the resource whose objects are of a kind.
	ResourceOf(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool)
	// Create stores a new object and returns it as stored. obj must not be used afterwards.
	Create(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object, w Write) (metav1.Object, error)
	// Update changes an object: change gets a private copy of the newest state and may run several times. Its
	// error is returned unchanged. Write.Subresource may be status.
	Update(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(obj metav1.Object) error, w Write) (metav1.Object, error)
	// Delete removes an object or marks it for deletion; opts may be nil.
	Delete(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, opts *metav1.DeleteOptions, w Write) error
	// Watch calls deliver with every object of a namespace (empty for all) as added, then once with Synced,
	// and then with every change, until ctx ends or deliver returns an error, which it returns. If changes
	// were missed, which is rare, it delivers Restarted and begins again, with objects at least as new as
	// those delivered before.
	Watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string, deliver func(Event) error) error
}

// EventType is the type of an Event.
type EventType uint8

const (
	Added EventType = iota + 1
	Modified
	Deleted
	// Synced follows the initial events.
	Synced
	// Restarted says that all objects delivered before may be outdated and are delivered again.
	Restarted
)

// Event is a change seen by Access.Watch.
type Event struct {
	Type EventType
	// Object is a private copy; of a Deleted event the last state. Nil for Synced and Restarted.
	Object metav1.Object
	// Revision of the change.
	Revision int64
}

// Access returns the registry as an Access.
func (r *Registry) Access() Access { return access{r} }

type access struct{ r *Registry }

func (a access) resource(gvr schema.GroupVersionResource) (*Resource, error) {
	if res := a.r.Resource(gvr); res != nil {
		return res, nil
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), "")
}

func (a access) Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, o, err := a.cached(ctx, gvr, key)
	if err != nil {
		return nil, err
	}
	return res.Decode(ctx, o)
}

func (a access) View(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, o, err := a.cached(ctx, gvr, key)
	if err != nil {
		return nil, err
	}
	return o.Decoded(res.form, func(o *cache.Object) (metav1.Object, error) { return res.Decode(ctx, o) })
}

// cached returns an object as the cache holds it.
func (a access) cached(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (*Resource, *cache.Object, error) {
	res, err := a.resource(gvr)
	if err != nil {
		return nil, nil, err
	}
	snap, err := res.ownWrites(ctx)
	if err != nil {
		return nil, nil, err
	}
	o, ok := snap.Get(res.key(key))
	if !ok {
		return nil, nil, apierrors.NewNotFound(res.gr, key.Name)
	}
	return res, o, nil
}

func (a access) GetLatest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, err := a.resource(gvr)
	if err != nil {
		return nil, err
	}
	o, err := res.Get(ctx, key, Freshness{})
	if err != nil {
		return nil, err
	}
	return res.Decode(ctx, o)
}

func (a access) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]metav1.Object, error) {
	res, err := a.resource(gvr)
	if err != nil {
		return nil, err
	}
	snap, err := res.ownWrites(ctx)
	if err != nil {
		return nil, err
	}
	var found []*cache.Object
	for o := range snap.Range(res.listPrefix(namespace), "") {
		if o.Err == nil && sel.Matches(o.Attrs.Labels) {
			found = append(found, o)
		}
	}
	if err := res.Convert(ctx, found...); err != nil {
		return nil, err
	}
	var out []metav1.Object
	for _, o := range found {
		obj, err := res.Decode(ctx, o)
		if err != nil {
			return nil, err
		}
		out = append(out, obj)
	}
	return out, nil
}

func (a access) Create(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object, w Write) (metav1.Object, error) {
	res, err := a.resource(gvr)
	if err != nil {
		return nil, err
	}
	return res.Create(ctx, obj.GetNamespace(), obj, w)
}

func (a access) Update(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(metav1.Object) error, w Write) (metav1.Object, error) {
	res, err := a.resource(gvr)
	if err != nil {
		return nil, err
	}
	obj, _, err := res.Update(ctx, key, func(current Current) (metav1.Object, error) {
		obj, err := current.Copy(ctx)
		if err != nil {
			return nil, err
		}
		return obj, change(obj)
	}, UpdateOptions{Write: w, Patch: true})
	return obj, err
}

func (a access) Delete(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, o *metav1.DeleteOptions, w Write) error {
	res, err := a.resource(gvr)
	if err != nil {
		return err
	}
	_, err = res.Delete(ctx, key, o, w)
	return err
}

func (a access) Watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string, deliver func(Event) error) error {
	res, err := a.resource(gvr)
	if err != nil {
		return err
	}
	var failed error
	seen := int64(0)
	each := func(events []cache.Event) error {
		for _, e := range events {
			if failed = res.deliver(ctx, e, deliver); failed != nil {
				return failed
			}
			seen = max(seen, e.Revision)
		}
		return nil
	}
	for {
		if seen, err = res.caughtUp(ctx, seen); err != nil {
			return err
		}
		err = res.Watch(ctx, types.NamespacedName{Namespace: namespace}, cache.WatchOptions{InitialEvents: true, From: seen}, each)
		if failed != nil || ctx.Err() != nil || errors.Is(err, cache.ErrStopped) || a.r.Resource(gvr) != res {
			return err
		}
		if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
			return err
		}
		if err := deliver(Event{Type: Restarted}); err != nil {
			return err
		}
	}
}

// caughtUp waits until the cache has reached a revision, because a cache that lists again begins at an older
// one. It returns zero if the store itself is at an older one, restored from a backup: that revision will not
// come again.
func (r *Resource) caughtUp(ctx context.Context, revision int64) (int64, error) {
	for revision > 0 {
		c, err := r.reader(ctx)
		if err != nil {
			return 0, err
		}
		if _, err = r.atLeast(ctx, c, revision); err == nil {
			break
		}
		if errors.Is(err, cache.ErrStopped) {
			return 0, err
		}
		if current, err := r.registry.store.Progress(ctx, r.prefix); err == nil && current < revision {
			return 0, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(caughtUpRetry):
		}
	}
	return revision, nil
}

// caughtUpRetry is the pause between queries of a store that does not respond.
const caughtUpRetry = 100 * time.Millisecond

// deliver decodes one event.
func (r *Resource) deliver(ctx context.Context, e cache.Event, deliver func(Event) error) error {
	if e.Type == cache.Bookmark {
		if e.InitialEnd {
			return deliver(Event{Type: Synced, Revision: e.Revision})
		}
		return nil
	}
	if e.Object.Err != nil {
		return nil // readers of an undecodable object get an error, watchers no event
	}
	obj, err := r.Decode(ctx, e.Object)
	if err != nil {
		return nil
	}
	t := Modified
	switch e.Type {
	case cache.Added:
		t = Added
	case cache.Deleted:
		t = Deleted
	}
	return deliver(Event{Type: t, Object: obj, Revision: e.Revision})
}

// Get is Access.Get with a Go type: registry.Get[*corev1.Namespace](ctx, access, gvr, key).
func Get[T metav1.Object](ctx context.Context, a Access, gvr schema.GroupVersionResource, key types.NamespacedName) (T, error) {
	obj, err := a.Get(ctx, gvr, key)
	if err != nil {
		var none T
		return none, err
	}
	return as[T](obj)
}

// List is Access.List with a Go type.
func List[T metav1.Object](ctx context.Context, a Access, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]T, error) {
	objs, err := a.List(ctx, gvr, namespace, sel)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(objs))
	for _, obj := range objs {
		o, err := as[T](obj)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func as[T metav1.Object](obj metav1.Object) (T, error) {
	o, ok := obj.(T)
	if !ok {
		return o, apierrors.NewInternalError(fmt.Errorf("an object is a %T, not a %T", obj, o))
	}
	return o, nil
}

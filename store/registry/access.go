package registry

import (
	"context"

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
	// Watch calls deliver with every object of a namespace (empty for all) as Added, then with a Bookmark
	// marked InitialEnd, and then with every change, until ctx ends or deliver returns an error, which it
	// returns. If changes were missed, which is rare, it delivers a Bookmark marked Expired and begins again,
	// with objects at least as new as those delivered before.
	Watch(ctx context.Context, gvr schema.GroupVersionResource, namespace string, deliver func(Event) error) error
	// Follow is Watch for a caller that has all objects as they were at a revision: it begins with the
	// changes after it. If these are no longer known it delivers a Bookmark marked Expired and goes on as
	// Watch does.
	Follow(ctx context.Context, gvr schema.GroupVersionResource, namespace string, revision int64, deliver func(Event) error) error
	// Written returns a function that returns the revision of the newest write of a built-in resource that
	// went through this registry, 0 before the first. A watch has every such write when it has delivered that
	// revision. The function does not block and may be called concurrently.
	Written(gvr schema.GroupVersionResource) func() int64
}

// Access returns the registry as an Access.
func (r *Registry) Access() Access { return access{r} }

type access struct{ r *Registry }

// resource returns what is served; without it no object of a name, which may be empty, is found.
func (a access) resource(gvr schema.GroupVersionResource, name string) (*Resource, error) {
	if res := a.r.Resource(gvr); res != nil {
		return res, nil
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
}

// ResourceOf implements Access.
func (a access) ResourceOf(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool) {
	for _, res := range a.r.table.Load().resources {
		if res.info.GVK == kind {
			return res.info.GVR, res.info.Namespaced, true
		}
	}
	return gvr, false, false
}

// Get implements Access.
func (a access) Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, o, err := a.cached(ctx, gvr, key)
	if err != nil {
		return nil, err
	}
	return res.Decode(ctx, o)
}

// View implements Access.
func (a access) View(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, o, err := a.cached(ctx, gvr, key)
	if err != nil {
		return nil, err
	}
	return o.Decoded(res.form, func(o *cache.Object) (metav1.Object, error) { return res.Decode(ctx, o) })
}

// cached returns an object as the cache holds it.
func (a access) cached(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (*Resource, *cache.Object, error) {
	res, err := a.resource(gvr, key.Name)
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

// GetLatest implements Access.
func (a access) GetLatest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	res, err := a.resource(gvr, key.Name)
	if err != nil {
		return nil, err
	}
	o, err := res.Get(ctx, key, Freshness{})
	if err != nil {
		return nil, err
	}
	return res.Decode(ctx, o)
}

// List implements Access.
func (a access) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]metav1.Object, error) {
	res, err := a.resource(gvr, "")
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

// Create implements Access.
func (a access) Create(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object, w Write) (metav1.Object, error) {
	res, err := a.resource(gvr, "")
	if err != nil {
		return nil, err
	}
	return res.Create(ctx, obj.GetNamespace(), obj, w)
}

// Update implements Access.
func (a access) Update(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(metav1.Object) error, w Write) (metav1.Object, error) {
	res, err := a.resource(gvr, key.Name)
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

// Delete implements Access.
func (a access) Delete(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, o *metav1.DeleteOptions, w Write) error {
	res, err := a.resource(gvr, key.Name)
	if err != nil {
		return err
	}
	_, err = res.Delete(ctx, key, o, w)
	return err
}

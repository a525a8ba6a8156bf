package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
)

// Plugins returns the registry as admission plugins see it. Reads come from the watch cache; what is not in it is
// looked up in the store, and so is what plugins change.
func (r *Registry) Plugins() admission.Access { return plugins{access{r}} }

type plugins struct{ access }

func (p plugins) Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error) {
	if gvr.Group == "" && gvr.Resource == "resourcequotas" {
		return p.GetLatest(ctx, gvr, key)
	}
	obj, err := p.access.Get(ctx, gvr, key)
	if apierrors.IsNotFound(err) {
		return p.GetLatest(ctx, gvr, key)
	}
	return obj, err
}

func (p plugins) List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, sel labels.Selector) ([]metav1.Object, error) {
	if gvr.Group == "" && gvr.Resource == "resourcequotas" {
		return p.list(ctx, gvr, namespace, sel, Freshness{})
	}
	return p.access.List(ctx, gvr, namespace, sel)
}

// UpdateStatus stores the status of obj at its version, past admission.
func (p plugins) UpdateStatus(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object) (metav1.Object, error) {
	res, err := p.resource(gvr)
	if err != nil {
		return nil, err
	}
	cur, err := res.current(ctx, metav1.KeyOf(obj))
	switch {
	case err != nil:
		return nil, err
	case cur == nil:
		return nil, apierrors.NewNotFound(res.gr, obj.GetName())
	case version(cur.revision) != obj.GetResourceVersion():
		return nil, apierrors.NewConflict(res.gr, obj.GetName(), errModified)
	}
	next, err := res.decode(cur.raw, cur.revision)
	if err != nil {
		return nil, err
	}
	res.shape.copyStatus(next, obj)
	next.SetResourceVersion("")
	value, err := res.encode(next)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	revision, err := res.commit(ctx, store.UpdateOp(res.key(metav1.KeyOf(obj)), value, cur.revision), nil)
	if err != nil {
		return nil, res.storeError(err, obj.GetName(), "update")
	}
	setTypeMeta(next, res.info.GVK)
	next.SetResourceVersion(version(revision))
	return next, nil
}

package registry

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/cache"
)

// Contents implements Access.
func (a access) Contents(ctx context.Context, gvr schema.GroupVersionResource) (admission.Contents, error) {
	res, err := a.resource(gvr, "")
	if err != nil {
		return admission.Contents{}, err
	}
	snap, err := res.ownWrites(ctx)
	if err != nil {
		return admission.Contents{}, err
	}
	return admission.Contents{State: snap.State(), Objects: func() []metav1.Object { return res.objectsOf(ctx, snap) }}, nil
}

// ownWrites returns a snapshot with every write that went through this registry. If the cache cannot reach
// that revision, its current state is better than an error: these reads guard other writes.
func (r *Resource) ownWrites(ctx context.Context) (*cache.Snapshot, error) {
	snap, err := r.Snapshot(ctx, Freshness{AtLeast: max(r.watched.written.Load(), 1)})
	if err != nil && ctx.Err() == nil {
		return r.Snapshot(ctx, Freshness{Any: true})
	}
	return snap, err
}

func (r *Resource) objectsOf(ctx context.Context, snap *cache.Snapshot) []metav1.Object {
	out := make([]metav1.Object, 0, snap.Len())
	for o := range snap.Range(r.prefix, "") {
		if obj, err := r.Decode(ctx, o); err == nil {
			out = append(out, obj)
		}
	}
	return out
}

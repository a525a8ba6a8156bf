package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
)

// Seed creates those of objs that do not exist, in as few transactions as the store's bound on operations
// allows, without admission. A server writes the objects that every cluster has by it. Those with a status
// keep it.
func (r *Registry) Seed(ctx context.Context, objs ...metav1.Object) error {
	for {
		var ops []store.Op
		flush := func() error {
			if len(ops) == 0 {
				return nil
			}
			_, err := r.store.Txn(ctx, ops, nil)
			ops = nil
			return err
		}
		err := func() error {
			missing, err := r.missing(ctx, objs)
			if err != nil {
				return err
			}
			for _, obj := range missing {
				next, err := r.seedOps(ctx, obj)
				if err != nil {
					return err
				}
				if len(ops)+len(next) > store.MaxTxnOps {
					if err := flush(); err != nil {
						return err
					}
				}
				ops = append(ops, next...)
			}
			return flush()
		}()
		if _, ok := errors.AsType[*store.ExistsError](err); ok {
			continue // another server created one of them meanwhile
		}
		return err
	}
}

// seedReaders is the number of objects that are read concurrently.
const seedReaders = 16

// missing returns those of objs that are served and not stored. A server that restarts finds all of them,
// which over a network costs a round trip each, so it reads several at a time.
func (r *Registry) missing(ctx context.Context, objs []metav1.Object) ([]metav1.Object, error) {
	absent, errs := make([]bool, len(objs)), make([]error, len(objs))
	var next atomic.Int64
	var tasks sync.WaitGroup
	for range min(seedReaders, len(objs)) {
		tasks.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(objs); i = int(next.Add(1)) - 1 {
				res := r.forType(objs[i])
				if res == nil {
					continue
				}
				_, _, err := r.store.Get(ctx, res.key(metav1.KeyOf(objs[i])))
				if absent[i] = errors.Is(err, store.ErrNotFound); !absent[i] {
					errs[i] = err
				}
			}
		})
	}
	tasks.Wait()
	var out []metav1.Object
	for i, obj := range objs {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if absent[i] {
			out = append(out, obj)
		}
	}
	return out, nil
}

// seedOps returns the operations that create obj, which is served and was not stored when missing ran. obj is
// not changed.
func (r *Registry) seedOps(ctx context.Context, obj metav1.Object) ([]store.Op, error) {
	res := r.forType(obj)
	raw, err := res.encode(ctx, obj)
	if err != nil {
		return nil, err
	}
	if obj, err = res.decode(ctx, raw, 0); err != nil {
		return nil, err
	}
	if err := res.prepareSeed(ctx, obj); err != nil {
		return nil, err
	}
	key := res.key(metav1.KeyOf(obj))
	more, err := res.reserve(ctx, obj, nil)
	if err != nil {
		// Another server that is starting may have stored it, with what it reserves, since then.
		if _, _, err := r.store.Get(ctx, key); err == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("registry: %s %s: %w", res.gr, obj.GetName(), err)
	}
	op, err := res.createOp(ctx, obj)
	if err != nil {
		return nil, err
	}
	return append([]store.Op{op}, more.Ops...), nil
}

// CreateOp returns the operation that creates obj as [Registry.Seed] does, for a transaction with other
// operations, but without those that the kind reserves. obj must not be used afterwards.
func (r *Resource) CreateOp(ctx context.Context, obj metav1.Object) (store.Op, error) {
	if err := r.prepareSeed(ctx, obj); err != nil {
		return store.Op{}, err
	}
	return r.createOp(ctx, obj)
}

// prepareSeed completes and validates an object to be created past admission, which keeps its status.
func (r *Resource) prepareSeed(ctx context.Context, obj metav1.Object) error {
	given := r.info.New()
	r.shape.copyStatus(given, obj)
	r.complete(obj)
	r.beginLife(ctx, metav1.MetaOf(obj), obj)
	if r.shape.hasSetStatus(given) {
		r.shape.copyStatus(obj, given)
	}
	if errs := r.validateNew(obj); len(errs) > 0 {
		return r.invalid(obj.GetName(), errs)
	}
	return nil
}

func (r *Resource) createOp(ctx context.Context, obj metav1.Object) (store.Op, error) {
	value, err := r.encode(ctx, obj)
	op := store.CreateOp(r.key(metav1.KeyOf(obj)), value)
	op.TTL = r.ttl(obj)
	return op, err
}

// forType returns the resource that stores objects of obj's Go type.
func (r *Registry) forType(obj metav1.Object) *Resource {
	t := typeOf(obj)
	for _, res := range r.table.Load().resources {
		if res.info.Type == t && res.def.Stored == nil {
			return res
		}
	}
	return nil
}

package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/keelson-dev/keelson/store"
)

// Replaceable is a store that can be replaced by another under its users, as when etcd is restored from a
// backup: its open watches then continue on the other store from the revision they have reached.
type Replaceable struct {
	mu       sync.Mutex
	current  store.Store
	replaced chan struct{} // closed by Replace
	all      []store.Store
}

// NewReplaceable wraps a store.
func NewReplaceable(s store.Store) *Replaceable {
	return &Replaceable{current: s, replaced: make(chan struct{}), all: []store.Store{s}}
}

// Replace makes s answer from now on. Close closes all stores.
func (r *Replaceable) Replace(s store.Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.all = s, append(r.all, s)
	close(r.replaced)
	r.replaced = make(chan struct{})
}

func (r *Replaceable) store() store.Store {
	s, _ := r.watched()
	return s
}

func (r *Replaceable) watched() (s store.Store, replaced <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current, r.replaced
}

// Get implements store.Store.
func (r *Replaceable) Get(ctx context.Context, key string) (store.KV, int64, error) {
	return r.store().Get(ctx, key)
}

// List implements store.Store.
func (r *Replaceable) List(ctx context.Context, prefix string, opts store.ListOptions) (store.ListResult, error) {
	return r.store().List(ctx, prefix, opts)
}

// Create implements store.Store.
func (r *Replaceable) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	return r.store().Create(ctx, key, value, opts)
}

// Update implements store.Store.
func (r *Replaceable) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	return r.store().Update(ctx, key, value, expected, opts)
}

// Delete implements store.Store.
func (r *Replaceable) Delete(ctx context.Context, key string, expected int64, opts store.WriteOptions) (int64, error) {
	return r.store().Delete(ctx, key, expected, opts)
}

// Txn implements store.Store.
func (r *Replaceable) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	return r.store().Txn(ctx, ops, guards)
}

// Progress implements store.Store.
func (r *Replaceable) Progress(ctx context.Context, prefix string) (int64, error) {
	return r.store().Progress(ctx, prefix)
}

// Compact implements store.Store.
func (r *Replaceable) Compact(ctx context.Context, revision int64) error {
	return r.store().Compact(ctx, revision)
}

// Capabilities implements store.Store.
func (r *Replaceable) Capabilities() store.Capabilities { return r.store().Capabilities() }

// Watch implements store.Store.
func (r *Replaceable) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	for {
		s, replaced := r.watched()
		inner, cancel := context.WithCancel(ctx)
		var tasks sync.WaitGroup
		tasks.Go(func() {
			select {
			case <-replaced:
			case <-inner.Done():
			}
			cancel()
		})
		var failed error
		err := s.Watch(inner, prefix, from, opts, func(b store.Batch) error {
			if failed = deliver(b); failed == nil {
				from = b.Revision
			}
			return failed
		})
		cancel()
		tasks.Wait()
		if failed != nil || ctx.Err() != nil || !errors.Is(err, context.Canceled) {
			return err
		}
	}
}

// Close implements store.Store.
func (r *Replaceable) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, s := range r.all {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

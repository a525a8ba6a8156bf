package encryption

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
)

// Store is a store.Store whose values are encrypted in another one. A value that cannot be decrypted is
// store.Unreadable.
type Store struct {
	store.Store
	providers *Providers
	resource  func(key string) (schema.GroupResource, bool)
	// unreadable are the resources of values that could not be decrypted: GroupResources.
	unreadable sync.Map
}

// NewStore returns a Store over inner, which it closes. resource returns the resource of a key, or of a
// prefix of keys; ok is false for keys that do not belong to one, whose values are stored as they are.
func NewStore(inner store.Store, p *Providers, resource func(key string) (gr schema.GroupResource, ok bool)) *Store {
	return &Store{Store: inner, providers: p, resource: resource}
}

// Size implements store.Sized.
func (s *Store) Size(ctx context.Context) (int64, error) {
	if sized, ok := s.Store.(store.Sized); ok {
		return sized.Size(ctx)
	}
	return 0, errors.New("encryption: the store does not report its size")
}

// meter returns what reports a transformation: nothing of resources that the configuration does not name.
func (s *Store) meter(ps providers, gr schema.GroupResource, written bool) meter {
	if &ps[0] == &identity[0] {
		return meter{}
	}
	return meter{report: s.providers.metrics.Transformed, resource: gr, written: written}
}

// encrypt returns the stored form of a value.
func (s *Store) encrypt(ctx context.Context, op, key string, value []byte) ([]byte, error) {
	if err := store.ReadError(value); err != nil {
		return nil, err // a placeholder is not written back
	}
	gr, ok := s.resource(key)
	if !ok {
		return value, nil
	}
	ps := s.providers.current.Load().of(gr)
	m := s.meter(ps, gr, true)
	out, err := ps.encrypt(ctx, value, []byte(s.providers.prefix+key), &m)
	if err != nil {
		return nil, &store.UnavailableError{Op: op, Err: err}
	}
	return out, nil
}

// decrypt replaces the value of kv by what was encrypted. Its error is that of a key management service that
// cannot be reached now.
func (s *Store) decrypt(ctx context.Context, op string, kv *store.KV) error {
	gr, ok := s.resource(kv.Key)
	if !ok {
		return nil
	}
	aad := []byte(s.providers.prefix + kv.Key)
	for {
		current := s.providers.current.Load()
		ps := current.of(gr)
		m := s.meter(ps, gr, false)
		plain, stale, err := ps.decrypt(ctx, kv.Value, aad, &m)
		if err == nil {
			kv.Value, kv.Stale = plain, stale
			return nil
		}
		if away, ok := errors.AsType[*unavailable](err); ok {
			return &store.UnavailableError{Op: op, Err: away}
		}
		// Watch looks for the resource after a change: either it finds it, or the change is found here.
		s.unreadable.Store(gr, true)
		if s.providers.current.Load() == current {
			kv.Value = store.Unreadable(fmt.Errorf("unable to transform key %q: %w", aad, err))
			return nil
		}
	}
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) (store.KV, int64, error) {
	kv, revision, err := s.Store.Get(ctx, key)
	if err == nil {
		err = s.decrypt(ctx, "get", &kv)
	}
	return kv, revision, err
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix string, o store.ListOptions) (store.ListResult, error) {
	list, err := s.Store.List(ctx, prefix, o)
	if err != nil || o.KeysOnly {
		return list, err
	}
	list.Items = slices.Clone(list.Items)
	for i := range list.Items {
		if err := s.decrypt(ctx, "list", &list.Items[i]); err != nil {
			return store.ListResult{}, err
		}
	}
	return list, nil
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, o store.WriteOptions) (int64, error) {
	value, err := s.encrypt(ctx, "create", key, value)
	if err != nil {
		return 0, err
	}
	revision, err := s.Store.Create(ctx, key, value, o)
	return revision, s.failure(ctx, err)
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key string, value []byte, expected int64, o store.WriteOptions) (int64, error) {
	value, err := s.encrypt(ctx, "update", key, value)
	if err != nil {
		return 0, err
	}
	revision, err := s.Store.Update(ctx, key, value, expected, o)
	return revision, s.failure(ctx, err)
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string, expected int64, o store.WriteOptions) (int64, error) {
	revision, err := s.Store.Delete(ctx, key, expected, o)
	return revision, s.failure(ctx, err)
}

// Txn implements store.Store.
func (s *Store) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	ops = slices.Clone(ops)
	for i := range ops {
		if ops[i].Type == store.OpDelete {
			continue
		}
		var err error
		if ops[i].Value, err = s.encrypt(ctx, "txn", ops[i].Key, ops[i].Value); err != nil {
			return 0, err
		}
	}
	revision, err := s.Store.Txn(ctx, ops, guards)
	return revision, s.failure(ctx, err)
}

// failure decrypts the states in the errors of writes.
func (s *Store) failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	shown := func(kv *store.KV) *store.KV {
		if kv == nil {
			return nil
		}
		out := *kv
		if err := s.decrypt(ctx, "get", &out); err != nil {
			out.Value = store.Unreadable(err)
		}
		return &out
	}
	if e, ok := errors.AsType[*store.ExistsError](err); ok {
		out := *e
		out.Current = *shown(&e.Current)
		return &out
	}
	if e, ok := errors.AsType[*store.ConflictError](err); ok {
		out := *e
		out.Current = shown(e.Current)
		return &out
	}
	if e, ok := errors.AsType[*store.GuardError](err); ok {
		out := *e
		out.Current = shown(e.Current)
		return &out
	}
	return err
}

// Watch implements store.Store. When the configuration changes, a watch of resources with values that could
// not be decrypted expires, so that they are read again.
func (s *Store) Watch(ctx context.Context, prefix string, from int64, o store.WatchOptions, deliver func(store.Batch) error) error {
	var follower sync.WaitGroup
	defer follower.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	follower.Go(func() {
		for at := s.providers.current.Load(); ; at = s.providers.current.Load() {
			select {
			case <-at.changed:
			case <-ctx.Done():
				return
			}
			if s.hasUnreadable(prefix) {
				cancel(errChanged)
				return
			}
		}
	})
	err := s.Store.Watch(ctx, prefix, from, o, func(b store.Batch) error {
		if len(b.Events) > 0 {
			b.Events = slices.Clone(b.Events)
			for i := range b.Events {
				e := &b.Events[i]
				if e.Type == store.Put {
					if err := s.decrypt(ctx, "watch", &e.KV); err != nil {
						return err
					}
				}
				if e.Prev != nil {
					prev := *e.Prev
					if err := s.decrypt(ctx, "watch", &prev); err != nil {
						return err
					}
					e.Prev = &prev
				}
			}
		}
		return deliver(b)
	})
	if errors.Is(context.Cause(ctx), errChanged) {
		return &store.ExpiredError{}
	}
	return err
}

// hasUnreadable reports whether values below prefix may have been unreadable.
func (s *Store) hasUnreadable(prefix string) bool {
	if gr, ok := s.resource(prefix); ok {
		_, found := s.unreadable.Load(gr)
		return found
	}
	found := false
	s.unreadable.Range(func(any, any) bool {
		found = true
		return false
	})
	return found
}

var errChanged = errors.New("encryption: the configuration has changed")

package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
)

// ErrInjected is the cause of the failures that Chaos makes.
var ErrInjected = errors.New("storetest: injected fault")

// Request is a call of a store, passed to the hooks of Faulty.
type Request struct {
	Op  string // get, list, create, update, delete, txn, watch, progress, compact
	Key string // or prefix; the first operation's of a txn
	N   int    // the n-th request with this Op, from 1
}

// Write reports whether the request changes the store.
func (r Request) Write() bool {
	switch r.Op {
	case "create", "update", "delete", "txn":
		return true
	}
	return false
}

// Hooks of a Faulty store. Nil ones do nothing. They may block, for delays; they are called
// without locks held and concurrently.
type Hooks struct {
	// Before is called first; its error is returned, and the request is not made.
	Before func(ctx context.Context, r Request) error
	// After is called when the store has returned without error; its error replaces the result, although the
	// request was made: a lost answer.
	After func(ctx context.Context, r Request) error
	// Batch is called before each batch of a watch; its error ends the watch.
	Batch func(ctx context.Context, prefix string, b store.Batch) error
	// Drop is called for each event of a watch; those for which it returns true are silently not delivered. A
	// store must never do that: it is for tests of code that detects broken stores.
	Drop func(prefix string, e store.Event) bool
}

// Faulty is a store whose hooks make it fail.
type Faulty struct {
	store.Store
	hooks Hooks

	mu     sync.Mutex
	counts map[string]int
}

// NewFaulty wraps a store.
func NewFaulty(s store.Store, h Hooks) *Faulty {
	return &Faulty{Store: s, hooks: h, counts: map[string]int{}}
}

// Chaos returns hooks that make requests fail with probability p, half of them after the fact, and watches
// end as often. What happens to a request depends only on the seed, its Op, its Key and how many equal ones
// there were before, not on concurrent requests.
func Chaos(seed uint64, p float64) Hooks {
	draws := seeds.NewDraws(seed)
	hit := func(when, op, key string) bool { return draws.For(when+" "+op+" "+key).Float64() < p/2 }
	return Hooks{
		Before: func(_ context.Context, r Request) error {
			if !hit("before", r.Op, r.Key) {
				return nil
			}
			return &store.UnavailableError{Op: r.Op, MaybeApplied: r.Write(), Err: ErrInjected}
		},
		After: func(_ context.Context, r Request) error {
			if !hit("after", r.Op, r.Key) {
				return nil
			}
			return &store.UnavailableError{Op: r.Op, MaybeApplied: r.Write(), Err: ErrInjected}
		},
		Batch: func(_ context.Context, prefix string, _ store.Batch) error {
			if !hit("batch", "watch", prefix) {
				return nil
			}
			return &store.UnavailableError{Op: "watch", Err: ErrInjected}
		},
	}
}

// Timed returns hooks that give each request and each batch of a watch a duration of up to a millisecond
// before they call h. In a test on virtual time what is seen first then follows from the seed, and not from
// how goroutines are scheduled. The duration depends on what [Chaos] depends on.
func Timed(seed uint64, h Hooks) Hooks {
	draws := seeds.NewDraws(seed + 1<<40) // not those of Chaos
	take := func(name string) { time.Sleep(time.Duration(1 + draws.For(name).IntN(1e6))) }
	before, batch := h.Before, h.Batch
	h.Before = func(ctx context.Context, r Request) error {
		take("request " + r.Op + " " + r.Key)
		if before == nil {
			return nil
		}
		return before(ctx, r)
	}
	h.Batch = func(ctx context.Context, prefix string, b store.Batch) error {
		take("batch " + prefix)
		if batch == nil {
			return nil
		}
		return batch(ctx, prefix, b)
	}
	return h
}

func (f *Faulty) before(ctx context.Context, op, key string) (Request, error) {
	f.mu.Lock()
	f.counts[op]++
	r := Request{Op: op, Key: key, N: f.counts[op]}
	f.mu.Unlock()
	if f.hooks.Before == nil {
		return r, nil
	}
	return r, f.hooks.Before(ctx, r)
}

func (f *Faulty) after(ctx context.Context, r Request, err error) error {
	if err != nil || f.hooks.After == nil {
		return err
	}
	return f.hooks.After(ctx, r)
}

// request makes one request between the hooks.
func request[T any](f *Faulty, ctx context.Context, op, key string, do func() (T, error)) (T, error) {
	var zero T
	r, err := f.before(ctx, op, key)
	if err != nil {
		return zero, err
	}
	out, err := do()
	if lost := f.after(ctx, r, err); lost != nil && err == nil {
		return zero, lost
	}
	return out, err
}

// Get implements store.Store.
func (f *Faulty) Get(ctx context.Context, key string) (store.KV, int64, error) {
	var revision int64
	kv, err := request(f, ctx, "get", key, func() (kv store.KV, err error) {
		kv, revision, err = f.Store.Get(ctx, key)
		return kv, err
	})
	return kv, revision, err
}

// List implements store.Store.
func (f *Faulty) List(ctx context.Context, prefix string, opts store.ListOptions) (store.ListResult, error) {
	return request(f, ctx, "list", prefix, func() (store.ListResult, error) { return f.Store.List(ctx, prefix, opts) })
}

// Create implements store.Store.
func (f *Faulty) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	return request(f, ctx, "create", key, func() (int64, error) { return f.Store.Create(ctx, key, value, opts) })
}

// Update implements store.Store.
func (f *Faulty) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	return request(f, ctx, "update", key, func() (int64, error) { return f.Store.Update(ctx, key, value, expected, opts) })
}

// Delete implements store.Store.
func (f *Faulty) Delete(ctx context.Context, key string, expected int64, opts store.WriteOptions) (int64, error) {
	return request(f, ctx, "delete", key, func() (int64, error) { return f.Store.Delete(ctx, key, expected, opts) })
}

// Txn implements store.Store.
func (f *Faulty) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	key := ""
	if len(ops) > 0 {
		key = ops[0].Key
	}
	return request(f, ctx, "txn", key, func() (int64, error) { return f.Store.Txn(ctx, ops, guards) })
}

// Progress implements store.Store.
func (f *Faulty) Progress(ctx context.Context, prefix string) (int64, error) {
	return request(f, ctx, "progress", prefix, func() (int64, error) { return f.Store.Progress(ctx, prefix) })
}

// Compact implements store.Store.
func (f *Faulty) Compact(ctx context.Context, revision int64) error {
	_, err := request(f, ctx, "compact", "", func() (struct{}, error) { return struct{}{}, f.Store.Compact(ctx, revision) })
	return err
}

// Watch implements store.Store.
func (f *Faulty) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	if _, err := f.before(ctx, "watch", prefix); err != nil {
		return err
	}
	if f.hooks.Batch == nil && f.hooks.Drop == nil {
		return f.Store.Watch(ctx, prefix, from, opts, deliver)
	}
	return f.Store.Watch(ctx, prefix, from, opts, func(b store.Batch) error {
		if f.hooks.Batch != nil {
			if err := f.hooks.Batch(ctx, prefix, b); err != nil {
				return err
			}
		}
		if f.hooks.Drop != nil {
			kept := make([]store.Event, 0, len(b.Events)) // the batch is shared
			for _, e := range b.Events {
				if !f.hooks.Drop(prefix, e) {
					kept = append(kept, e)
				}
			}
			b.Events = kept
		}
		return deliver(b)
	})
}

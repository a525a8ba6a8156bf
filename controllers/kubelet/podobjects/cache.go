package podobjects

import (
	"context"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

const (
	// serverPause is how long the server is left alone after it did not answer for an object that is kept.
	serverPause = 10 * time.Second
	// serverPatience is how long it gets to answer for one.
	serverPatience = 5 * time.Second
	defaultTTL     = time.Minute
)

// CacheOptions of a store with [NewCache].
type CacheOptions[T metav1.Object] struct {
	// TTL returns how long an object is served without a request; nil means a minute.
	TTL func() time.Duration
	// Immutable reports that an object never changes, so that it is not read again; nil means none is.
	Immutable func(T) bool
}

// cache keeps objects for a time.
type cache[T metav1.Object] struct {
	client *client.Client[T]
	opts   CacheOptions[T]

	mu    sync.Mutex
	byKey map[types.NamespacedName]*fetched[T]
}

// fetched is an object that pods refer to, and what is known of it. The lock of cache guards it.
type fetched[T any] struct {
	users references
	obj   T
	there bool
	// at is when a response last held obj, zero if it must be read. tried is when a request last failed.
	at, tried time.Time
}

// NewCache returns a store that reads an object from the API server at most once per TTL. It reads the latest
// state when a pod begins to refer to the object, and later one that the server has at hand; an older state
// never replaces a newer one. While the server does not answer, the last state is served.
func NewCache[T metav1.Object](c *client.Client[T], opts CacheOptions[T]) Store[T] {
	if opts.TTL == nil {
		opts.TTL = func() time.Duration { return defaultTTL }
	}
	if opts.Immutable == nil {
		opts.Immutable = func(T) bool { return false }
	}
	return &cache[T]{client: c, opts: opts, byKey: map[types.NamespacedName]*fetched[T]{}}
}

// AddReference implements Store.
func (k *cache[T]) AddReference(key types.NamespacedName, pod types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.byKey[key]
	if f == nil {
		f = &fetched[T]{users: references{}}
		k.byKey[key] = f
	}
	f.users.add(pod)
	f.at, f.tried = time.Time{}, time.Time{}
}

// DeleteReference implements Store.
func (k *cache[T]) DeleteReference(key types.NamespacedName, pod types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f := k.byKey[key]; f != nil && f.users.remove(pod) {
		delete(k.byKey, key)
	}
}

// Get implements Store.
func (k *cache[T]) Get(ctx context.Context, key types.NamespacedName) (T, error) {
	k.mu.Lock()
	f := k.byKey[key]
	if f == nil {
		k.mu.Unlock()
		var none T
		return none, notRegistered(key)
	}
	have, there, at, tried := f.obj, f.there, f.at, f.tried
	k.mu.Unlock()
	if there && (!at.IsZero() && (k.opts.Immutable(have) || time.Since(at) < k.opts.TTL()) || time.Since(tried) < serverPause) {
		return have, nil
	}
	call := ctx
	if there {
		var cancel context.CancelFunc
		call, cancel = context.WithTimeout(ctx, serverPatience)
		defer cancel()
	}
	obj, latest, err := k.fetch(call, key, at.IsZero())
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		if !latest && f.there && older(obj, f.obj) {
			f.at = time.Time{} // the server's memory lags behind; read the latest next time
			return f.obj, nil
		}
		f.obj, f.there, f.at, f.tried = obj, true, time.Now(), time.Time{}
	case apierrors.IsNotFound(err):
		var none T
		f.obj, f.there, f.at = none, false, time.Time{}
	case f.there && ctx.Err() == nil:
		f.tried = time.Now()
		return f.obj, nil
	}
	return obj, err
}

// fetch reads the latest state of an object if that is wanted, else one that the server has at hand. That it
// is gone is true only of the latest.
func (k *cache[T]) fetch(ctx context.Context, key types.NamespacedName, want bool) (obj T, latest bool, err error) {
	if !want {
		if obj, err := k.client.Get(ctx, key, client.GetOptions{ResourceVersion: "0"}); !apierrors.IsNotFound(err) {
			return obj, false, err
		}
	}
	obj, err = k.client.Get(ctx, key)
	return obj, true, err
}

// older reports whether a is an older state than b: versions of one resource have an order, whichever object
// they are of.
func older(a, b metav1.Object) bool {
	order, err := metav1.CompareResourceVersions(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order < 0
}

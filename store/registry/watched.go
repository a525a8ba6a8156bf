package registry

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unique"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
)

// watched is the watch cache of one key prefix. It is made and started on first use, so that a server of a
// hundred kinds pays for those that are read.
type watched struct {
	cache   atomic.Pointer[cache.Cache] // nil until it is started
	source  *Resource                   // computes the attributes of cached objects
	wanted  bool                        // guarded by Registry.mu, as are the others
	running bool
	stopped bool
	cancel  context.CancelFunc
	// The generation of the table for which the cache was made, and the fields it keeps of each object.
	generation int64
	fields     []string
	replaced   chan struct{} // closed when this cache is replaced or its resource removed; nil until awaited
	written    atomic.Int64  // revision of the last write that went through this registry
	reads      atomic.Int32  // of single objects while the cache did not run
}

// readsBeforeCache is the number of reads of single objects that start the cache, which keeps encoded
// objects.
const readsBeforeCache = 50

// ready returns the cache if it has caught up with the store, or nil.
func (w *watched) ready() *cache.Cache {
	c := w.cache.Load()
	if c == nil {
		return nil
	}
	select {
	case <-c.Ready():
		return c
	default:
		return nil
	}
}

// recordWrite records the revision of a write for readers that must see it.
func (w *watched) recordWrite(revision int64) {
	for old := w.written.Load(); revision > old && !w.written.CompareAndSwap(old, revision); old = w.written.Load() {
	}
}

// init sets the fields of a cache of a table's generation.
func (w *watched) init(source *Resource, generation int64) {
	w.source, w.generation, w.fields = source, generation, source.keptFields()
}

// start makes the cache and runs it if it is wanted and Run is running, and reports whether it did. It is
// called with r.mu held.
func (r *Registry) start(w *watched) bool {
	if !w.wanted || w.running || w.stopped || r.runCache == nil {
		return false
	}
	w.running = true
	c := r.newCache(w.source)
	w.cache.Store(c)
	w.cancel = r.runCache(c)
	return true
}

// newCache returns the cache of the prefix of a resource.
func (r *Registry) newCache(res *Resource) *cache.Cache {
	o := r.options.Cache
	o.Attributes = res.attributes
	o.Initial = r.options.Image.initial(res)
	o.Logger = r.logger.With("resource", res.gr.String())
	if r.options.CacheMetrics != nil {
		o.Metrics = r.options.CacheMetrics(res.gr)
	}
	return cache.New(r.store, res.prefix, o)
}

func (w *watched) stop() {
	if !w.stopped {
		w.stopped = true
		if w.replaced != nil {
			close(w.replaced)
		}
	}
	if w.cancel != nil {
		w.cancel()
	}
}

// countUncachedRead counts a read of a single object from the store, and starts the cache after
// readsBeforeCache of them.
func (r *Resource) countUncachedRead() {
	if w := r.watched; w.reads.Add(1) == readsBeforeCache {
		r.registry.ensureStarted(w)
	}
}

// ensureStarted starts a cache unless it is running, and reports whether it did. The channel is closed when
// another cache replaces it or the resource is removed.
func (r *Registry) ensureStarted(w *watched) (started bool, replaced <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w.wanted = true
	if w.replaced == nil {
		w.replaced = make(chan struct{})
		if w.stopped {
			close(w.replaced)
		}
	}
	return r.start(w), w.replaced
}

// isStopped reports whether another cache has replaced w or the resource was removed.
func (r *Registry) isStopped(w *watched) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return w.stopped
}

// maxWarmWait bounds the time that a request waits for a cache that is being filled. That usually takes
// milliseconds, but the store may be unavailable or hold very many objects.
const maxWarmWait = 3 * time.Second

// Warm starts the resource's watch cache and waits until it has caught up. Errors: 429 with Retry-After if
// that takes more than three seconds, 503 when Run ends, and that of ctx. A cache that this call has started
// was read from the store after the call began: if f requires a consistent state, that revision is returned
// as the requirement, which saves a request to the store.
func (r *Resource) Warm(ctx context.Context, f Freshness) (Freshness, error) {
	if r.watched.ready() != nil {
		return f, nil
	}
	waiting, cancel := context.WithTimeout(ctx, maxWarmWait)
	defer cancel()
	c, fresh, err := r.startReader(waiting)
	switch {
	case err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return f, apierrors.NewTooManyRequests("storage is (re)initializing: the watch cache of "+r.gr.String()+" is being filled", 1)
	case err == nil && fresh && f == Freshness{}:
		f.AtLeast = c.StartRevision()
	}
	return f, err
}

// reader returns the running cache, started and caught up.
func (r *Resource) reader(ctx context.Context) (*cache.Cache, error) {
	c, _, err := r.startReader(ctx)
	return c, err
}

// startReader is reader. fresh reports that this call has started the cache, which then was read from the
// store after the call began.
func (r *Resource) startReader(ctx context.Context) (c *cache.Cache, fresh bool, err error) {
	w := r.watched
	if c := w.ready(); c != nil {
		return c, false, nil
	}
	select {
	case <-r.registry.started:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	fresh, replaced := r.registry.ensureStarted(w)
	var ready <-chan struct{} // nil if the cache was stopped before its start
	if c = w.cache.Load(); c != nil {
		ready = c.Ready()
	}
	select {
	case <-ready:
		return c, fresh, nil
	case <-replaced:
		return nil, false, cache.ErrStopped
	case <-r.registry.ended:
		return nil, false, apierrors.NewServiceUnavailable("the server is shutting down")
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// Delivered reports whether the watch caches of resources run, and they and their watches have delivered all
// events up to revision; see [cache.Cache.Delivered].
func (r *Registry) Delivered(revision int64, resources ...schema.GroupVersionResource) bool {
	for _, gvr := range resources {
		res := r.Resource(gvr)
		if res == nil {
			return false
		}
		if c := res.watched.ready(); c == nil || !c.Delivered(revision) {
			return false
		}
	}
	return true
}

// Undelivered returns the key prefixes of the running watch caches that have not reached revision, or have an
// open watch that has not delivered all events up to there; see [cache.Cache.Delivered].
func (r *Registry) Undelivered(revision int64) []string {
	r.mu.Lock()
	var running []*cache.Cache
	for _, w := range r.table.Load().caches {
		if w.running && !w.stopped {
			running = append(running, w.cache.Load())
		}
	}
	r.mu.Unlock()
	var late []string
	for _, c := range running {
		if !c.Delivered(revision) {
			late = append(late, c.Prefix())
		}
	}
	slices.Sort(late)
	return late
}

// attributes returns the attributes of a stored object, by which it is selected.
func (r *Resource) attributes(kv store.KV) (cache.Attrs, error) {
	if part := r.selected(); part != nil && codec.IsEnvelope(kv.Value) {
		obj, ok := r.spare.Get().(metav1.Object)
		if !ok {
			obj = r.stored.New()
		}
		if err := part.UnmarshalEnvelope(kv.Value, obj); err != nil {
			return cache.Attrs{}, fmt.Errorf("stored %s: %w", r.gr, err)
		}
		attrs := r.attributesOf(obj)
		reflect.ValueOf(obj).Elem().SetZero()
		r.spare.Put(obj)
		return attrs, nil
	}
	obj, err := r.decodeStored(kv.Value)
	if err != nil {
		return cache.Attrs{}, err
	}
	return r.attributesOf(obj), nil
}

// attributesOf returns the attributes of an object. It copies the strings: those of a decoded object share
// memory, and one label would retain all of it. Strings that are likely to recur are interned.
func (r *Resource) attributesOf(obj metav1.Object) cache.Attrs {
	m := metav1.MetaOf(obj)
	attrs := cache.Attrs{UID: strings.Clone(string(m.UID))}
	if len(m.Labels) > 0 {
		attrs.Labels = make(map[string]string, len(m.Labels))
		for name, value := range m.Labels {
			attrs.Labels[unique.Make(name).Value()] = unique.Make(value).Value()
		}
	}
	if f := &r.def.Fields; f.Of != nil && !r.ConvertsFields() {
		attrs.Fields = make(map[string]string, len(f.Names))
		f.Of(obj, func(name, value string) { attrs.Fields[name] = unique.Make(value).Value() })
	}
	return attrs
}

// hint gives the cache the attributes of an object that is about to be stored as value, which saves decoding
// it.
func (r *Resource) hint(key string, value []byte, obj metav1.Object) {
	source := r.watched.source
	if r.def.ToStored != nil || r.info.GVK != source.stored.GVK && !r.def.Custom {
		return // it is stored in another form
	}
	if c := r.watched.ready(); c != nil {
		c.Hint(key, value, source.attributesOf(obj))
	}
}

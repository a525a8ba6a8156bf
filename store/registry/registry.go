package registry

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/cache"
)

// Options configure a Registry. The zero value works.
type Options struct {
	// Cache configures the watch caches; Attributes and Logger are set by the registry.
	Cache cache.Options
	// CacheMetrics returns the metrics hooks of a resource's watch cache; nil means those of Cache.
	CacheMetrics func(gr schema.GroupResource) cache.Metrics
	// CBOR stores custom resources as CBOR instead of JSON. Both are read in either case.
	CBOR bool
	// Draw replaces the random generators behind uids, generated names, and addresses and ports of services,
	// so that a test can replay a run. purpose says what the number is for, such as the kind and the name of
	// an object. It is called from many goroutines. Nil draws unpredictable numbers.
	Draw func(purpose string) uint64
	// Image is the content with which caches begin, that of another registry whose store had the same content
	// at that revision and whose kinds have the same definitions. Nil means that they read the store.
	Image *Image
	// Admission returns the plugins of the admission chain, in order. New calls it once, with the access that
	// plugins have and must not use before New has returned, and returns its error. Nil admits everything.
	Admission func(a Access) ([]admission.Plugin, error)
	// AdmissionMetrics are the metrics hooks of the chain: Step and Plugin.
	AdmissionMetrics admission.Metrics
	// Logger receives what cannot be returned. Nil discards.
	Logger *slog.Logger
}

// Registry is the set of resources over one store. Resources may be added, replaced and removed at any time.
type Registry struct {
	store   store.Store
	options Options
	logger  *slog.Logger
	chain   *chain

	table atomic.Pointer[Table]

	started chan struct{} // closed by Run
	ended   chan struct{} // closed when Run's ctx has ended

	mu       sync.Mutex                            // guards the fields below and swaps of table
	runCache func(*cache.Cache) context.CancelFunc // starts a cache; nil unless Run is running
	changed  chan struct{}                         // closed when table is swapped
}

// New returns a registry without resources over s. Reads wait until Run is called. The error is that of
// Options.Admission.
func New(s store.Store, opts Options) (*Registry, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Registry{store: s, options: opts, logger: opts.Logger}
	r.started, r.ended, r.changed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.table.Store(&Table{})
	var plugins []admission.Plugin
	if opts.Admission != nil {
		var err error
		if plugins, err = opts.Admission(r.Access()); err != nil {
			return nil, err
		}
	}
	r.chain = newChain(plugins, opts.AdmissionMetrics)
	return r, nil
}

// Store returns the store of the objects.
func (r *Registry) Store() store.Store { return r.store }

// Run runs the loops of the caches until ctx ends and all of them have returned; then it returns nil. It may
// be called once.
func (r *Registry) Run(ctx context.Context) error {
	var tasks sync.WaitGroup
	r.mu.Lock()
	select {
	case <-r.started:
		r.mu.Unlock()
		return errors.New("registry: Run was called twice")
	default:
	}
	close(r.started)
	r.runCache = func(c *cache.Cache) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		tasks.Go(func() {
			defer cancel()
			if err := c.Run(ctx); err != nil && ctx.Err() == nil {
				r.logger.Error("watch cache failed", "prefix", c.Prefix(), "err", err)
			}
		})
		return cancel
	}
	for _, w := range r.table.Load().caches {
		r.start(w)
	}
	r.mu.Unlock()
	<-ctx.Done()
	r.mu.Lock()
	r.runCache = nil
	r.mu.Unlock()
	close(r.ended)
	tasks.Wait()
	return nil
}

// Resource returns the resource of that version, or nil.
func (r *Registry) Resource(gvr schema.GroupVersionResource) *Resource {
	return r.table.Load().Resource(gvr)
}

// Table returns the resources served now.
func (r *Registry) Table() *Table { return r.table.Load() }

// All returns the resources served now, in no order.
func (r *Registry) All() iter.Seq[*Resource] { return slices.Values(r.table.Load().resources) }

// Resources returns all resources, ordered by name.
func (r *Registry) Resources() []*Resource {
	return slices.SortedFunc(r.All(), func(a, b *Resource) int {
		if c := a.info.GVR.GroupVersion().Compare(b.info.GVR.GroupVersion()); c != 0 {
			return c
		}
		return a.info.GVR.GroupResource().Compare(b.info.GVR.GroupResource())
	})
}

// Add serves more resources, and new definitions of resources that are served already, in one step. It keeps
// the definitions, which must not be changed afterwards and may be shared with other registries.
func (r *Registry) Add(defs ...*Definition) ([]*Resource, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.table.Load()
	added := make([]Resource, len(defs))
	out := make([]*Resource, len(defs))
	for i, d := range defs {
		if d == nil || d.Info == nil {
			return nil, errors.New("registry: Definition.Info must not be nil")
		}
		added[i] = newResource(r, d)
		added[i].setForm(current.generation + 1)
		out[i] = &added[i]
	}
	r.swap(current.with(out))
	return slices.Clone(out), nil
}

// Remove stops serving resources. Their objects stay in the store; watches end.
func (r *Registry) Remove(gvrs ...schema.GroupVersionResource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.swap(r.table.Load().without(gvrs))
}

// swap makes a table current and closes changed. It is called with mu held.
func (r *Registry) swap(next *Table) {
	r.table.Store(next)
	close(r.changed)
	r.changed = make(chan struct{})
}

// Changes returns the Generation and a channel that is closed when it changes.
func (r *Registry) Changes() (generation int64, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.table.Load().generation, r.changed
}

// Generation changes with every Add and Remove.
func (r *Registry) Generation() int64 { return r.table.Load().generation }

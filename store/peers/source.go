package peers

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// source are objects that are followed.
type source struct {
	resource  schema.GroupVersionResource
	namespace string // empty for all
	// set is called with each new state of an object, nil when it is gone. It must be quick.
	set func(name string, obj metav1.Object)
	// failed is called when the objects could not be read; it may be nil.
	failed func()
}

// follow calls set of the source until ctx ends. A resource that is not served has no objects.
func (p *Peers) follow(ctx context.Context, s *apiserver.Server, src source) {
	read := false
	synced := func() {
		if !read {
			read = true
			p.mu.Lock()
			p.waiting--
			p.mu.Unlock()
			p.publish()
		}
	}
	if s.Registry().Resource(src.resource) == nil {
		synced()
		return
	}
	known := map[string]bool{}
	var again map[string]bool // seen since the watch began again; nil if it did not
	deliver := func(e registry.Event) error {
		switch {
		case e.Expired:
			again = map[string]bool{}
		case e.InitialEnd:
			for name := range known {
				if again != nil && !again[name] {
					delete(known, name)
					src.set(name, nil)
				}
			}
			again = nil
			synced()
		case e.Type == cache.Bookmark:
		case e.Type == cache.Deleted:
			delete(known, e.Object.GetName())
			src.set(e.Object.GetName(), nil)
		default:
			name := e.Object.GetName()
			known[name] = true
			if again != nil {
				again[name] = true
			}
			src.set(name, e.Object)
		}
		return nil
	}
	_ = backoff.Retry(ctx, backoff.Policy{}, nil, func(ctx context.Context) error { // ends with ctx
		err := s.Access().Watch(ctx, src.resource, src.namespace, deliver)
		if err != nil && ctx.Err() == nil {
			p.opts.Logger.Warn("following objects failed", "resource", src.resource.String(), "err", err)
			if src.failed != nil {
				src.failed()
			}
		}
		again = map[string]bool{} // the watch begins with all objects
		return err
	})
}

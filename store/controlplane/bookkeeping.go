package controlplane

import (
	"context"
	"fmt"
	"sync"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// Bookkeeping returns the start hook that keeps the objects every cluster has: system namespaces, the service
// kubernetes with its endpoints, the service range, priority classes, the default configuration of priority
// and fairness, and an APIService of every served version. It is a hook of one server. [New] sets it; it is
// exported for servers made with package apiserver.
func Bookkeeping() apiserver.StartHook { return newBookkeeping(nil) }

type bookkeeping struct {
	// Another server has written the objects: those of any cluster, and the APIServices of the versions that
	// are served at the start.
	written, agree bool
	services       apiServices
}

// newBookkeeping returns the hook of a server that begins with an image, which may be nil.
func newBookkeeping(from *Image) *bookkeeping {
	return &bookkeeping{written: from != nil, agree: from != nil && from.agree}
}

// Start implements apiserver.StartHook: it writes the objects that are missing, in one transaction, and
// publishes the address of the server.
func (b *bookkeeping) Start(ctx context.Context, s *apiserver.Server) error {
	b.services.server = s
	if !b.written {
		if err := s.Registry().Seed(ctx, clusterObjects(s)...); err != nil {
			return fmt.Errorf("controlplane: bootstrap: %w", err)
		}
	}
	if e := newEndpoints(s); e.advertised() {
		if err := e.publish(ctx); err != nil {
			return fmt.Errorf("controlplane: bootstrap: %w", err)
		}
	}
	return nil
}

// Run implements apiserver.StartHook.
func (b *bookkeeping) Run(ctx context.Context, s *apiserver.Server) {
	if b.agree {
		b.services.agreed.Store(s.Registry().Generation())
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { newEndpoints(s).run(ctx) })
	tasks.Go(func() { b.services.run(ctx) })
	tasks.Wait()
}

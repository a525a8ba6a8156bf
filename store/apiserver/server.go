package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/api/explain"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/crd"
	"github.com/keelson-dev/keelson/store/encryption"
	"github.com/keelson-dev/keelson/store/flowcontrol"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/registry"
	"github.com/keelson-dev/keelson/workqueue"
)

// Server is an API server: an http.Handler, and loops that Run runs. Requests that need the loops wait for
// Run.
type Server struct {
	opts      Options
	logger    *slog.Logger
	store     store.Store
	ownStore  bool
	scheme    *scheme.Scheme
	registry  *registry.Registry
	kinds     *builtin.Kinds
	documents *openapi.Documents
	custom    *crd.Controller // nil if the scheme has no definitions of custom resources

	resources       func() map[string]schema.GroupResource // built-in resources by the prefix of their keys
	routes          atomic.Pointer[routes]
	limits          limits
	turns           turns
	responseHeaders responseHeaders
	probe           storeProbe
	direct          *http.Transport         // to pods, without Options.Backends
	flows           *flowcontrol.Controller // nil without priority and fairness, as is
	flowConfig      *flowConfig             // what configures it
	handlers        map[string]http.Handler // handlers of other paths
	handlerPrefixes []string                // of those that end in a slash, longest first

	// compacted is the revision before which states are no longer served.
	compacted atomic.Int64

	merged       atomic.Pointer[mergedDiscovery] // nil before it was first made
	peerDocument atomic.Pointer[peerDocument]    // nil before it was first made

	lifecycle  *lifecycle
	mu         sync.Mutex  // held while routes or documents are replaced
	documented *Aggregated // of which documents has the OpenAPI
}

// New returns a server. It reads and writes nothing until Run.
func New(opts Options) (*Server, error) {
	s := &Server{lifecycle: newLifecycle()}
	if s.store = opts.Store; s.store == nil {
		s.store, s.ownStore = memory.New(memory.Options{}), true
	}
	if opts.Encryption != nil {
		s.store = encryption.NewStore(s.store, opts.Encryption, s.resourceOf)
	}
	var err error
	if s.scheme = opts.Scheme; s.scheme == nil {
		if s.scheme, err = builtinScheme(); err != nil {
			return nil, err
		}
	}
	s.direct = newDirect()
	s.probe.ping = func(ctx context.Context) error {
		_, err := s.store.Progress(ctx, "/")
		return err
	}
	opts = opts.withDefaults()
	s.logger = opts.Logger
	s.documents = openapi.New(s.scheme, openapi.Options{Version: opts.Version.GitVersion, Texts: explain.Text})
	if s.registry, err = opts.newRegistry(s.store); err != nil {
		return nil, err
	}
	s.opts = opts
	if s.kinds, err = builtin.New(s.registry, opts.Builtin); err != nil {
		return nil, err
	}
	defs, err := s.kinds.Definitions(s.scheme, opts.Kinds...)
	if err != nil {
		return nil, err
	}
	if _, err := s.registry.Add(defs...); err != nil {
		return nil, err
	}
	s.resources = sync.OnceValue(func() map[string]schema.GroupResource {
		byPrefix := map[string]schema.GroupResource{}
		for res := range s.registry.All() {
			byPrefix[res.Prefix()] = res.Stored()
		}
		return byPrefix
	})
	if s.responseHeaders, err = newResponseHeaders(&opts); err != nil {
		return nil, err
	}
	s.limits.init(opts.MaxInFlight, opts.MaxMutatingInFlight)
	s.turns = newTurns()
	s.newFlows()
	if s.registry.Resource(crd.Resource) != nil {
		co := crd.Options{Logger: opts.Logger, WebhookDial: opts.WebhookDial, Loopback: s.Loopback(), Called: opts.Metrics.Admission.Called, Metrics: opts.Metrics.Custom}
		if opts.Metrics.Queue != nil {
			co.Queue = opts.Metrics.Queue(definitionQueue)
		}
		if s.custom, err = crd.New(s.registry, s.documents, co); err != nil {
			return nil, err
		}
	}
	if err := s.rebuildRoutes(); err != nil {
		return nil, err
	}
	s.addHandlers()
	return s, nil
}

// resourceOf returns the resource to which a key, or a prefix of keys, belongs; ok is false for keys of which
// there are no objects, such as allocations of ports.
func (s *Server) resourceOf(key string) (gr schema.GroupResource, ok bool) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	if name := addresses[first]; name != "" {
		return schema.GroupResource{Resource: name}, true
	}
	resources := s.resources()
	if gr, ok := resources["/"+first+"/"]; ok {
		return gr, true
	}
	second, _, _ := strings.Cut(rest, "/")
	if gr, ok := resources["/"+first+"/"+second+"/"]; ok {
		return gr, true
	}
	// Only the keys of custom resources begin with a group, in which there is a dot.
	return schema.GroupResource{Group: first, Resource: second}, second != "" && strings.Contains(first, ".")
}

// addresses are the resources, by the prefix of their keys, to which Kubernetes counts the addresses of
// servers in the store. Patterns of an encryption configuration, such as *.*, include them.
var addresses = map[string]string{"masterleases": "apiServerIPInfo", "peerserverleases": "apiServerPeerIPInfo"}

// definitionQueue is the name of the queue of definitions of custom resources.
const definitionQueue = "crd_controller"

// Queues returns the statistics of the server's work queues, by name.
func (s *Server) Queues() map[string]workqueue.Stats {
	if s.custom == nil {
		return nil
	}
	return map[string]workqueue.Stats{definitionQueue: s.custom.Stats()}
}

// BuiltinScheme returns a new scheme of all built-in kinds with their rules, to which an embedder may add its
// own.
func BuiltinScheme() (*scheme.Scheme, error) {
	s := scheme.New()
	if err := errors.Join(api.AddToScheme(s), api.AddRules(s), api.AddExpressionRules(s, celcheck.Check), openapi.AddRules(s)); err != nil {
		return nil, err
	}
	return s, nil
}

// builtinScheme is the scheme of servers without one of their own.
var builtinScheme = sync.OnceValues(func() (*scheme.Scheme, error) {
	s, err := BuiltinScheme()
	if err != nil {
		return nil, err
	}
	s.Freeze()
	return s, nil
})

// Registry returns the server's resources.
func (s *Server) Registry() *registry.Registry { return s.registry }

// Access returns the access that parts of the server have: as over HTTP, without authorization.
func (s *Server) Access() registry.Access { return s.registry.Access() }

// Scheme returns the kinds the server was made with. It must not be changed: without Options.Scheme other
// servers share it.
func (s *Server) Scheme() *scheme.Scheme { return s.scheme }

// Kinds returns the built-in kinds, with their allocators.
func (s *Server) Kinds() *builtin.Kinds { return s.kinds }

// Logger returns the logger of Options; one that discards if that was nil.
func (s *Server) Logger() *slog.Logger { return s.logger }

// Advertised returns Options.AdvertiseAddress and AdvertisePort, 6443 if that was zero.
func (s *Server) Advertised() (address string, port int) {
	return s.opts.AdvertiseAddress, s.opts.AdvertisePort
}

// Ready returns a channel that is closed when Run has called Options.StartHook and loaded the definitions of
// custom resources; requests for resources wait for it.
func (s *Server) Ready() <-chan struct{} { return s.lifecycle.reached[serving] }

// Run starts Options.StartHook, as soon as the store can be reached, and runs the server's loops until ctx
// ends. Then readiness fails, watches are closed, short requests get the time every request has, streams to
// nodes and services a few seconds more before they are cut, and Run returns nil when all goroutines have
// returned. An error of Options.StartHook or Options.Aggregation ends Run in the same way, and is returned.
// It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if !s.lifecycle.advance(starting) {
		return errors.New("apiserver: Run was called twice")
	}
	given := ctx
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks, hook sync.WaitGroup
	tasks.Go(func() { _ = s.registry.Run(loops) })
	if s.custom != nil {
		tasks.Go(func() { _ = s.custom.Run(loops) })
	}
	if s.opts.Aggregation != nil {
		tasks.Go(func() {
			if err := s.opts.Aggregation.Run(loops); err != nil && loops.Err() == nil {
				fail(fmt.Errorf("apiserver: aggregation: %w", err))
			}
		})
	}
	if s.opts.Peers != nil {
		tasks.Go(func() { s.opts.Peers.Run(loops, s) })
	}
	err := s.startHook(ctx)
	if err == nil && s.custom != nil {
		select {
		case <-s.custom.Synced():
		case <-ctx.Done():
		}
	}
	if err == nil && s.opts.Aggregation != nil {
		select {
		case <-s.opts.Aggregation.Synced():
		case <-ctx.Done():
		}
	}
	if err == nil && given.Err() == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		s.lifecycle.advance(serving)
		tasks.Go(func() { s.repairServices(loops) })
		tasks.Go(func() { s.configureFlows(loops) })
		tasks.Go(func() { s.compact(loops) })
		if s.opts.StartHook != nil {
			running, end := s.lifecycle.within(loops, draining)
			defer end()
			hook.Go(func() { s.opts.StartHook.Run(running, s) })
		}
		<-ctx.Done()
	}
	switch {
	case given.Err() != nil:
		err = nil // the failure is a consequence of the shutdown
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	s.lifecycle.advance(draining)
	s.delayShutdown(context.WithoutCancel(ctx))
	s.lifecycle.advance(ending)
	s.drain()
	s.lifecycle.advance(cutting)
	hook.Wait()
	stop()
	tasks.Wait()
	s.direct.CloseIdleConnections()
	if s.ownStore {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// delayShutdown waits for Options.ShutdownDelay, or until ctx ends.
func (s *Server) delayShutdown(ctx context.Context) {
	if s.opts.ShutdownDelay <= 0 {
		return
	}
	timer := time.NewTimer(s.opts.ShutdownDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// streamGracePeriod is how long streams to nodes and services may continue when all short requests have
// ended.
const streamGracePeriod = 5 * time.Second

// drain waits for requests being served: for short ones at most Options.RequestTimeout, then for long ones
// that did not end with the watches at most streamGracePeriod.
func (s *Server) drain() {
	for _, wait := range []struct {
		idle    <-chan struct{}
		timeout time.Duration
	}{{s.limits.idle(false), s.opts.RequestTimeout}, {s.limits.idle(true), streamGracePeriod}} {
		s.await(wait.idle, wait.timeout)
	}
}

// await waits until no requests are being served, for at most that long.
func (s *Server) await(idle <-chan struct{}, timeout time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		s.logger.Warn("requests are still being served at shutdown")
	}
}

package apiserver

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/celcheck"
	"github.com/keelson-dev/keelson/apimachinery/api/explain"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/builtin"
	"github.com/keelson-dev/keelson/store/crd"
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

	routes          atomic.Pointer[routes]
	limits          limits
	responseHeaders responseHeaders
	probe           storeProbe
	direct          *http.Transport         // to pods, without Options.Backends
	flows           *flowcontrol.Controller // nil without priority and fairness
	plain           map[string]http.Handler // handlers of other paths
	prefix          []string                // of those that end in a slash, longest first

	// forgotten is the revision before which states are no longer served.
	forgotten atomic.Int64

	lifecycle *lifecycle
	mu        sync.Mutex // held while routes are replaced
}

// New returns a server. It reads and writes nothing until Run.
func New(opts Options) (*Server, error) {
	s := &Server{lifecycle: newLifecycle()}
	if s.store = opts.Store; s.store == nil {
		s.store, s.ownStore = memory.New(memory.Options{}), true
	}
	var err error
	if s.scheme = opts.Scheme; s.scheme == nil {
		if s.scheme, err = BuiltinScheme(); err != nil {
			return nil, err
		}
	}
	s.direct = newDirect()
	s.probe.ask = func(ctx context.Context) error {
		_, err := s.store.Progress(ctx, "/")
		return err
	}
	opts = opts.withDefaults()
	s.logger = opts.Logger
	s.documents = openapi.New(s.scheme, openapi.Options{Version: opts.Version.GitVersion, Texts: explain.Text})
	s.registry = registry.New(s.store, opts.Registry)
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
	if err := opts.secure(s.registry.Access()); err != nil {
		return nil, err
	}
	s.opts = opts
	if s.responseHeaders, err = newResponseHeaders(&opts); err != nil {
		return nil, err
	}
	s.registry.SetAdmission(opts.Admission, opts.Metrics.Admission)
	s.limits.init(opts.MaxInFlight, opts.MaxMutatingInFlight)
	if !opts.NoPriorityAndFairness && opts.MaxInFlight > 0 && opts.MaxMutatingInFlight > 0 {
		s.flows = flowcontrol.New(flowcontrol.Options{Seats: opts.MaxInFlight + opts.MaxMutatingInFlight, Wait: opts.RequestTimeout / 4, Metrics: opts.Metrics.Flows})
	}
	if s.registry.Resource(crd.Resource) != nil {
		co := crd.Options{Logger: opts.Logger, WebhookDial: opts.WebhookDial, Called: opts.Metrics.Admission.Called}
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

// Registry returns the server's resources.
func (s *Server) Registry() *registry.Registry { return s.registry }

// Access returns the access that parts of the server have: as over HTTP, without authorization.
func (s *Server) Access() registry.Access { return s.registry.Access() }

// Scheme returns the kinds the server was made with.
func (s *Server) Scheme() *scheme.Scheme { return s.scheme }

// Ready returns a channel that is closed when Run has written the objects every cluster has; requests for
// resources wait for it.
func (s *Server) Ready() <-chan struct{} { return s.lifecycle.reached[serving] }

// Run writes the objects every cluster has, as soon as the store can be reached, and runs the server's loops
// until ctx ends. Then readiness fails, watches are closed, short requests get the time every request has,
// streams to nodes and services a few seconds more before they are cut, and Run returns nil when all
// goroutines have returned. It may be called once.
func (s *Server) Run(ctx context.Context) error {
	if !s.lifecycle.advance(starting) {
		return errors.New("apiserver: Run was called twice")
	}
	loops, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = s.registry.Run(loops) })
	if s.custom != nil {
		tasks.Go(func() { _ = s.custom.Run(loops) })
	}
	err := s.bootstrapUntilDone(ctx)
	if err == nil && s.custom != nil {
		select {
		case <-s.custom.Synced():
		case <-ctx.Done():
		}
	}
	if err == nil {
		s.lifecycle.advance(serving)
		tasks.Go(func() { s.maintain(loops) })
		tasks.Go(func() { s.configureFlows(loops) })
		tasks.Go(func() { s.compact(loops) })
		tasks.Go(func() { s.registerServices(loops) })
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		err = nil // what failed, failed because of it
	}
	s.lifecycle.advance(draining)
	s.linger(context.WithoutCancel(ctx))
	s.lifecycle.advance(ending)
	s.drain()
	s.lifecycle.advance(cutting)
	stop()
	tasks.Wait()
	s.direct.CloseIdleConnections()
	if s.ownStore {
		err = errors.Join(err, s.store.Close())
	}
	return err
}

// linger waits for Options.ShutdownDelay, or until ctx ends.
func (s *Server) linger(ctx context.Context) {
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

// streamPatience is how long streams to nodes and services may continue when all short requests have ended.
const streamPatience = 5 * time.Second

// drain waits for requests being served: for short ones at most Options.RequestTimeout, then for long ones
// that did not end with the watches at most streamPatience.
func (s *Server) drain() {
	for _, wait := range []struct {
		idle <-chan struct{}
		most time.Duration
	}{{s.limits.idle(false), s.opts.RequestTimeout}, {s.limits.idle(true), streamPatience}} {
		s.await(wait.idle, wait.most)
	}
}

// await waits until no requests are being served, for at most that long.
func (s *Server) await(idle <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
		s.logger.Warn("requests are still being served at shutdown")
	}
}

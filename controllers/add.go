package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of a controller added to a manager.
type Options struct {
	controller.Options
	// WithoutLeaderElection runs the controller and its Channels on every replica, leader or not
	// (controller-runtime: NeedLeaderElection set to false).
	WithoutLeaderElection bool
}

// undeclaredWait is how long a controller waits for informers that are not among its sources.
const undeclaredWait = 10 * time.Second

// Add makes a controller with the given name from r and its sources and adds it to m. The name appears in
// logs and metrics.
//
// What a source holds follows from manager.Options.Informers.Cache, so the same controller runs in all
// namespaces or in some. [manager.Manager.Remove] with its name stops a controller; the informers that
// nothing else uses then stop too.
//
// Workers start when every source, including [Reads], has synced. A kind that is not served counts as synced
// and empty; its source starts when the kind is served. Because r may also read other informers of m, workers
// wait for those too, but for 10 s at most: an informer that cannot sync, for example because a permission is
// missing, blocks only the controllers that declare it, and reading it returns an error until it has synced.
//
// The controller is returned for Enqueue and the debug view of its queue. Add returns an error if there are
// no sources or if a type is not in the connection's scheme; then m is unchanged.
func Add(m *manager.Manager, name string, r reconcile.Reconciler, opts Options, sources ...Source) (*controller.Controller, error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("controllers: %s has no sources: pass at least controllers.For[T]()", name)
	}
	if r == nil {
		return nil, fmt.Errorf("controllers: the reconciler of %s must not be nil", name)
	}
	opts.Logger = cmp.Or(opts.Logger, m.Logger())
	monitor := m.Monitor()
	if monitor != nil && opts.Queue.Metrics == nil {
		opts.Queue.Metrics = monitor.Queue(name)
	}
	if monitor != nil && reflect.ValueOf(opts.Metrics).IsZero() {
		opts.Metrics = monitor.Reconciles()
	}
	a := &added{Controller: controller.New(name, m.Wrap(name, r), opts.Options), set: m.Informers(), log: opts.Logger, onEvent: m.OnEvent(), detached: make(chan struct{})}
	var errs []error
	for _, s := range sources {
		if err := s.attach(m, a); err != nil {
			errs = append(errs, fmt.Errorf("controllers: %s: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		a.detach()
		return nil, err
	}
	if monitor != nil {
		monitor.Controller(name, a.Queue())
	}
	add := m.Add
	if opts.WithoutLeaderElection {
		add = m.AddWithoutLeaderElection
	}
	add(name, a)
	for _, c := range a.channels {
		add(name+" channel", c)
	}
	return a.Controller, nil
}

// added is a controller with its sources.
type added struct {
	*controller.Controller
	set      *informers.Set
	log      *slog.Logger
	onEvent  func(controller string, req reconcile.Request, e manager.Event) // may be nil
	waits    []func(context.Context) error
	handlers []*informers.Registration
	// informers are those that the sources have obtained and detach releases.
	informers []interface{ Release() }
	channels  []channel
	detached  chan struct{} // closed by detach
}

// Wait implements manager.Waiter. After an error Run is not called.
func (a *added) Wait(ctx context.Context) error {
	err := a.waitForSync(ctx)
	if err != nil {
		a.detach()
	}
	return err
}

func (a *added) waitForSync(ctx context.Context) error {
	for _, wait := range a.waits {
		if err := wait(ctx); err != nil {
			return err
		}
	}
	soon, cancel := context.WithTimeout(ctx, undeclaredWait)
	defer cancel()
	err := a.set.WaitForSyncOrAbsent(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		a.log.Warn("sync of some informers failed: controller starts, reading them returns an error", "controller", a.Name(), "err", err)
		return nil
	}
	return err
}

// Run runs the controller until ctx ends, and then removes its event handlers and releases its informers.
func (a *added) Run(ctx context.Context) error {
	defer a.detach()
	return a.Controller.Run(ctx)
}

// detach is called once, after the last use of the controller.
func (a *added) detach() {
	close(a.detached)
	for _, h := range a.handlers {
		h.Remove()
	}
	for _, inf := range a.informers {
		inf.Release()
	}
}

func group(apiVersion string) string {
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		return g
	}
	return ""
}

package controllers

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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
// K is the type of the keys, for most controllers [reconcile.Request]; it is inferred from r. With another
// type, such as [ClusterRequest], r and the functions of [Watches], [From] and [Channel] have keys of that
// type.
//
// The controller is returned for Enqueue and the debug view of its queue. Add returns an error if there are
// no sources, if a type is not in the connection's scheme, or if a source or the options of the queue have
// keys of another type than r; then m is unchanged.
func Add[K comparable](m *manager.Manager, name string, r reconcile.Reconciler[K], opts Options, sources ...Source) (*controller.Controller[K], error) {
	if len(sources) == 0 {
		return nil, fmt.Errorf("controllers: %s has no sources: pass at least controllers.For[T]()", name)
	}
	if r == nil {
		return nil, fmt.Errorf("controllers: the reconciler of %s must not be nil", name)
	}
	if configure := m.Configure(); configure != nil {
		opts.Options = configure(name, opts.Options)
	}
	opts.Logger = cmp.Or(opts.Logger, m.Logger())
	queue, err := controller.QueueOptions[K](opts.Options)
	if err != nil {
		return nil, fmt.Errorf("controllers: %s: %w", name, err)
	}
	monitor := m.Monitor()
	if monitor != nil && queue.Metrics == nil {
		queue.Metrics = monitor.Queue(name)
	}
	if tenant, ok := any(clusterOf).(func(K) string); ok && queue.Tenant == nil {
		queue.Tenant = tenant
	}
	opts.Queue = queue
	if monitor != nil && reflect.ValueOf(opts.Metrics).IsZero() {
		opts.Metrics = monitor.Reconciles()
	}
	c := controller.New(name, wrapped(m, r), opts.Options)
	if b, ok := r.(binder[K]); ok {
		if err := b.bind(c, opts.Concurrency); err != nil {
			return nil, fmt.Errorf("controllers: %s: %w", name, err)
		}
	}
	a := newAttachment(name, c.Queue(), m.OnEvent())
	if err := a.attachAll(m, sources); err != nil {
		return nil, err
	}
	if monitor != nil {
		monitor.Controller(name, c.QueueView())
	}
	add := m.Add
	if opts.WithoutLeaderElection {
		add = m.AddWithoutLeaderElection
	}
	add(name, &added[K]{Controller: c, attachment: a, set: m.Informers(), log: opts.Logger})
	for _, run := range a.runs {
		add(name+" channel", channel(run))
	}
	return c, nil
}

// clusterOf makes clusters take turns.
func clusterOf(req ClusterRequest) string { return req.Cluster }

// binder is a reconciler that adds keys to the queue of its controller.
type binder[K comparable] interface {
	bind(c *controller.Controller[K], concurrency int) error
}

// WithObject returns a reconciler that calls f with the object of the request, a private copy from the cache
// (controller-runtime: reconcile.AsReconciler). An object that does not exist needs no call; one that cannot
// be decoded is an error.
func WithObject[T metav1.Object](lister informers.Lister[T], f func(ctx context.Context, obj T) (reconcile.Result, error)) reconcile.Reconciler[reconcile.Request] {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		obj, err := lister.Get(req)
		if err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		return f(ctx, obj)
	})
}

// wrapped returns r with the manager's Wrap around it.
func wrapped[K comparable](m *manager.Manager, r reconcile.Reconciler[K]) reconcile.Reconciler[K] {
	wrap := m.Wrap()
	if wrap == nil {
		return r
	}
	return reconcile.Func(func(ctx context.Context, req K) (reconcile.Result, error) {
		return wrap(ctx, reconcile.FromContext(ctx), func(ctx context.Context) (reconcile.Result, error) { return r.Reconcile(ctx, req) })
	})
}

// added is a controller with its sources.
type added[K comparable] struct {
	*controller.Controller[K]
	*attachment
	set *informers.Set
	log *slog.Logger
}

// Wait implements manager.Waiter. After an error Run is not called.
func (a *added[K]) Wait(ctx context.Context) error {
	err := a.waitForSync(ctx)
	if err != nil {
		a.detach()
	}
	return err
}

func (a *added[K]) waitForSync(ctx context.Context) error {
	if err := a.attachment.wait(ctx); err != nil {
		return err
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
func (a *added[K]) Run(ctx context.Context) error {
	defer a.detach()
	return a.Controller.Run(ctx)
}

func group(apiVersion string) string {
	if g, _, ok := strings.Cut(apiVersion, "/"); ok {
		return g
	}
	return ""
}

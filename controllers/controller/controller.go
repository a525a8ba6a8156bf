// Package controller runs a [reconcile.Reconciler]: it takes keys from a queue, calls the reconciler from a
// fixed number of goroutines, and retries keys after errors with growing delays.
//
// A [Controller] guarantees that
//
//   - a key is reconciled after it was enqueued;
//   - a key is never reconciled by two goroutines at once;
//   - a panic in the reconciler is handled like an error, a [*PanicError];
//   - a key keeps its priority when it is requeued or retried;
//   - Run returns only when no reconcile is running.
package controller

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers/internal/grace"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

// ErrReconcileTimeout is the cause of a reconcile context that was canceled after Options.Timeout.
var ErrReconcileTimeout = errors.New("controller: reconcile timeout")

// Options of a Controller. The zero value is one worker without a timeout.
type Options struct {
	// Concurrency is the number of keys reconciled at once; values below 1 mean 1.
	Concurrency int
	// Timeout bounds one reconcile: its context is canceled after this time. 0 means no limit.
	Timeout time.Duration
	// Queue configures the work queue. It is a workqueue.Options[K], K being the type of the keys; Run
	// returns an error for another one. Nil means the zero value.
	Queue workqueue.AnyOptions
	// Logger receives one line per failed reconcile and what reconcilers log; see reconcile.Logger. Nil
	// discards.
	Logger *slog.Logger
	// Metrics are the metrics hooks of the reconciles.
	Metrics Metrics
}

// Metrics are hooks that a controller calls. Each may be nil. They may be called concurrently.
type Metrics struct {
	// Started is called when Run begins, with the number of keys that are reconciled at once.
	Started func(controller string, concurrency int)
	// TimedOut is called after a reconcile that Options.Timeout has canceled, whatever its outcome.
	TimedOut func(controller string)
	// Reconciled is called after a reconcile with its outcome ("success", "requeue_after", "error",
	// "terminal_error" or "panic") and its duration. It is not called for a reconcile that failed because the
	// controller stops.
	Reconciled func(controller, outcome string, took time.Duration)
	// Active is called with +1 when a reconcile starts and with -1 when it ends.
	Active func(controller string, delta int)
}

// Outcomes of reconciles that are distinguished here.
const (
	panicked = "panic"
	canceled = "canceled" // because the controller stops; only Explain shows it
)

// Controller is a queue of keys of type K and its workers. All methods may be called concurrently.
type Controller[K comparable] struct {
	name       string
	reconciler reconcile.Reconciler[K]
	opts       Options
	err        error // of Run, because of opts
	queue      *workqueue.Queue[K]
	replica    string        // random prefix of run IDs
	serial     atomic.Uint64 // of the last run
	history    history[K]
}

// New returns a controller; name appears in logs and metrics.
func New[K comparable](name string, r reconcile.Reconciler[K], opts Options) *Controller[K] {
	opts.Concurrency = max(opts.Concurrency, 1)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	queue, err := QueueOptions[K](opts)
	return &Controller[K]{name: name, reconciler: r, opts: opts, err: err, queue: workqueue.New(queue), replica: rand.Text()[:8]}
}

// QueueOptions returns opts.Queue for a controller whose keys are of type K, or an error if it is for another
// type.
func QueueOptions[K comparable](opts Options) (workqueue.Options[K], error) {
	if opts.Queue == nil {
		return workqueue.Options[K]{}, nil
	}
	q, ok := opts.Queue.(workqueue.Options[K])
	if !ok {
		return q, fmt.Errorf("controller: Options.Queue is a %T, but must be a %T, as the keys are of type %T", opts.Queue, q, *new(K))
	}
	return q, nil
}

// Name returns the controller's name.
func (c *Controller[K]) Name() string { return c.name }

// Queue returns the controller's work queue, for sources and debug views.
func (c *Controller[K]) Queue() *workqueue.Queue[K] { return c.queue }

// Enqueue adds req to the queue.
func (c *Controller[K]) Enqueue(req K) { c.queue.Add(req) }

// Run reconciles enqueued keys until ctx ends, waits for the reconciles in progress and returns nil. The
// contexts of those reconciles end with ctx, or, under a manager that is stopping, up to
// manager.Options.Grace later. Run may be called only once.
func (c *Controller[K]) Run(ctx context.Context) error {
	if c.err != nil {
		return c.err
	}
	work, stop := grace.Work(ctx)
	defer stop()
	if started := c.opts.Metrics.Started; started != nil {
		started(c.name, c.opts.Concurrency)
	}
	var workers sync.WaitGroup
	for range c.opts.Concurrency {
		workers.Go(func() {
			for {
				req, err := c.queue.Get(ctx)
				if err != nil {
					return
				}
				c.process(work, req)
			}
		})
	}
	workers.Wait()
	c.queue.ShutDown()
	return nil
}

func (c *Controller[K]) process(ctx context.Context, req K) {
	defer c.queue.Done(req)
	entry, _ := c.queue.Entry(req)
	run := ended[K]{req: req, serial: c.serial.Add(1), cause: entry.Cause, started: time.Now()}
	id := c.runID(run.serial)
	log := c.opts.Logger.With(append(attributes(c.name, req), "reconcileID", id)...)
	if active := c.opts.Metrics.Active; active != nil {
		active(c.name, 1)
		defer active(c.name, -1)
	}
	result, outcome, err := c.reconcile(reconcile.NewContext(ctx, &reconcile.Run{Controller: c.name, Key: req, ID: id, Logger: log}), req)
	run.took, run.err = time.Since(run.started), err
	run.outcome = c.conclude(ctx, log, req, result, outcome, err)
	c.history.add(run)
	if reconciled := c.opts.Metrics.Reconciled; reconciled != nil && run.outcome != canceled {
		reconciled(c.name, run.outcome, run.took)
	}
}

// conclude requeues a key after a reconcile as its result demands, logs a failure, and returns the outcome.
func (c *Controller[K]) conclude(ctx context.Context, log *slog.Logger, req K, result reconcile.Result, outcome string, err error) string {
	switch {
	case err == nil && result.RequeueAfter > 0:
		c.queue.Forget(req)
		priority := c.priority(req)
		if result.Priority != nil {
			priority = *result.Priority
		}
		c.queue.AddWith(req, workqueue.AddOptions{After: result.RequeueAfter, Priority: priority})
		return "requeue_after"
	case err == nil:
		c.queue.Forget(req)
		return "success"
	case reconcile.IsTerminal(err):
		c.queue.Forget(req)
		log.Error("reconcile failed, not retrying", "err", err)
		return "terminal_error"
	case ctx.Err() != nil && outcome != panicked:
		return canceled // the error says nothing about the object
	}
	c.queue.AddWith(req, workqueue.AddOptions{RateLimited: true, Priority: c.priority(req)})
	level := slog.LevelWarn
	if apierrors.IsConflict(err) {
		level = slog.LevelDebug // another writer was faster: the retry reads its write
	}
	log.Log(ctx, level, "reconcile failed", "err", err, "requeues", c.queue.NumRequeues(req))
	return outcome
}

// attributes are those of a controller and a key in logs.
func attributes[K comparable](controller string, req K) []any {
	out := append(make([]any, 0, 10), "controller", controller)
	switch key := any(req).(type) {
	case reconcile.Request:
		return append(out, "namespace", key.Namespace, "name", key.Name)
	case slog.LogValuer:
		v := key.LogValue().Resolve()
		if v.Kind() != slog.KindGroup {
			return append(out, "key", v)
		}
		for _, a := range v.Group() {
			out = append(out, a)
		}
		return out
	}
	return append(out, "key", req)
}

// runID returns the ID of a run, which is unique across replicas.
func (c *Controller[K]) runID(serial uint64) string {
	return c.replica + "-" + strconv.FormatUint(serial, 10)
}

// priority returns the priority of a key in processing, or that of its pending run.
func (c *Controller[K]) priority(req K) int {
	e, _ := c.queue.Entry(req)
	return e.Priority
}

func (c *Controller[K]) reconcile(ctx context.Context, req K) (result reconcile.Result, outcome string, err error) {
	if c.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Timeout, ErrReconcileTimeout)
		defer cancel()
	}
	outcome = "error"
	defer func() {
		if timedOut := c.opts.Metrics.TimedOut; timedOut != nil && context.Cause(ctx) == ErrReconcileTimeout {
			timedOut(c.name)
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			outcome, err = panicked, newPanicError(p)
		}
	}()
	result, err = c.reconciler.Reconcile(ctx, req)
	return result, outcome, err
}

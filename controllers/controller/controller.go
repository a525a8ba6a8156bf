// Package controller runs a [reconcile.Reconciler]: it takes keys from a queue, calls the reconciler from a
// fixed number of goroutines, and puts keys back after errors with growing delays.
//
// A [Controller] promises: a key that was enqueued is reconciled after that; a key is never reconciled by two
// goroutines at once; a panic in the reconciler is an error like any other; a key keeps its priority when it
// is requeued or retried; Run returns only when no reconcile is running.
package controller

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/controllers/internal/grace"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

// ErrReconcileTimeout is the cause of a reconcile context that ended because Options.Timeout passed.
var ErrReconcileTimeout = errors.New("controller: reconcile timeout")

// Options says how a controller works. The zero value is one worker without a timeout.
type Options struct {
	// Concurrency is how many keys are reconciled at once; below 1 means 1.
	Concurrency int
	// Timeout ends the context of one reconcile; 0 means none.
	Timeout time.Duration
	// Queue configures the work queue.
	Queue workqueue.Options[reconcile.Request]
	// Logger gets one line per failed reconcile, and what reconcilers log; see reconcile.Logger. Nil
	// discards.
	Logger *slog.Logger
	// Metrics, if not nil, is told of every reconcile.
	Metrics *Metrics
}

// Metrics are called after what they count. Each may be nil and may be called concurrently.
type Metrics struct {
	// Reconciled gets the outcome ("success", "requeue_after", "error", "terminal_error", "panic") and the
	// time taken.
	Reconciled func(controller, outcome string, took time.Duration)
	// Active gets +1 when a reconcile begins and -1 when it ends.
	Active func(controller string, delta int)
}

// Controller is a queue of keys and the workers on it. All methods may be called concurrently.
type Controller struct {
	name       string
	reconciler reconcile.Reconciler
	opts       Options
	queue      *workqueue.Queue[reconcile.Request]
	replica    string // part of the ids of reconciles
	serial     atomic.Uint64
}

// New makes a controller; name is used in logs and metrics.
func New(name string, r reconcile.Reconciler, o Options) *Controller {
	o.Concurrency = max(o.Concurrency, 1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Controller{name: name, reconciler: r, opts: o, queue: workqueue.New(o.Queue), replica: rand.Text()[:8]}
}

// Name returns the controller's name.
func (c *Controller) Name() string { return c.name }

// Queue is the controller's work queue, for sources and debug views.
func (c *Controller) Queue() *workqueue.Queue[reconcile.Request] { return c.queue }

// Enqueue adds req to the queue.
func (c *Controller) Enqueue(req reconcile.Request) { c.queue.Add(req) }

// Run works until ctx ends, then waits for the running reconciles. Their contexts end with ctx; under a
// manager that is stopped they may go on for manager.Options.Grace. It returns nil when ctx ended. A
// Controller runs once.
func (c *Controller) Run(ctx context.Context) error {
	work, stop := grace.Work(ctx)
	defer stop()
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

func (c *Controller) process(ctx context.Context, req reconcile.Request) {
	defer c.queue.Done(req)
	id := c.replica + "-" + strconv.FormatUint(c.serial.Add(1), 10)
	log := c.opts.Logger.With("controller", c.name, "namespace", req.Namespace, "name", req.Name, "reconcileID", id)
	if m := c.opts.Metrics; m != nil && m.Active != nil {
		m.Active(c.name, 1)
		defer m.Active(c.name, -1)
	}
	began := time.Now()
	result, outcome, err := c.reconcile(reconcile.NewContext(ctx, &reconcile.Run{Controller: c.name, Request: req, ID: id, Logger: log}), req)
	switch {
	case err == nil && result.RequeueAfter > 0:
		outcome = "requeue_after"
		c.queue.Forget(req)
		priority := c.priority(req)
		if result.Priority != nil {
			priority = *result.Priority
		}
		c.queue.AddWith(req, workqueue.AddOptions{After: result.RequeueAfter, Priority: priority})
	case err == nil:
		outcome = "success"
		c.queue.Forget(req)
	case reconcile.IsTerminal(err):
		outcome = "terminal_error"
		c.queue.Forget(req)
		log.Error("reconcile failed for good", "err", err)
	case ctx.Err() != nil: // cut off: the error says nothing about the object
		return
	default:
		c.queue.AddWith(req, workqueue.AddOptions{RateLimited: true, Priority: c.priority(req)})
		level := slog.LevelWarn
		if apierrors.IsConflict(err) {
			level = slog.LevelDebug // another writer was first: the next run sees what it wrote
		}
		log.Log(ctx, level, "reconcile failed", "err", err, "requeues", c.queue.NumRequeues(req))
	}
	if m := c.opts.Metrics; m != nil && m.Reconciled != nil {
		m.Reconciled(c.name, outcome, time.Since(began))
	}
}

// priority is that of a key in processing, or of its pending run.
func (c *Controller) priority(req reconcile.Request) int {
	e, _ := c.queue.Entry(req)
	return e.Priority
}

func (c *Controller) reconcile(ctx context.Context, req reconcile.Request) (result reconcile.Result, outcome string, err error) {
	if c.opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.opts.Timeout, ErrReconcileTimeout)
		defer cancel()
	}
	outcome = "error"
	defer func() {
		if p := recover(); p != nil {
			outcome, err = "panic", fmt.Errorf("controller: reconciler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	result, err = c.reconciler.Reconcile(ctx, req)
	return result, outcome, err
}

package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// Options say where a workload runs.
type Options struct {
	// Conns are connections to the API server, at least one, over which requests are spread.
	Conns []client.Conn
	// Metrics returns the scheduler's metrics as text; nil leaves its histograms out.
	Metrics func(ctx context.Context) ([]byte, error)
	// Topic chooses the thresholds of workloads that have several.
	Topic string
	// Patience is how long a step waits for its pods; 0 means 10 minutes.
	Patience time.Duration
	// Measuring, if not nil, is called when metrics begin to be collected, and what it returns when that
	// ends; its items are added to the results.
	Measuring func(name string) (ended func(scheduled int) []Item)
	// Keep leaves what the workload created, because its cluster ends with it.
	Keep bool
	// Progress receives a line for each step; nil discards them.
	Progress io.Writer
}

// notScheduledError says that pods were not scheduled in time.
type notScheduledError struct {
	namespace                  string
	want, scheduled, attempted int
	cause                      error
}

func (e *notScheduledError) Error() string {
	return fmt.Sprintf("namespace %s: %d pods are scheduled and %d more were tried, want %d: %v", e.namespace, e.scheduled, e.attempted, e.want, e.cause)
}

func (e *notScheduledError) Unwrap() error { return e.cause }

// inFlight is how many requests create objects at a time.
const inFlight = 30

// run is one run of a plan.
type run struct {
	Options
	plan    *Plan
	pods    *pods
	objects *discovery.Client
	made    *made

	namespaces map[string]bool // that exist
	awaited    map[string]int  // pods of each namespace that barriers wait for

	background sync.WaitGroup
	errs       []error // of the background
	errsMu     sync.Mutex

	before     histograms
	collecting string // name of what is collected
	ended      func(scheduled int) []Item
	sampler    context.CancelFunc
	sampling   sync.WaitGroup
	items      []Item
}

// Run runs the plan on a cluster that has no other nodes and pods, and deletes what it created. It returns
// what was measured, also with an error, which is of the first step that failed, or says which threshold was
// missed.
func (p *Plan) Run(ctx context.Context, o Options) (items []Item, err error) {
	if o.Patience == 0 {
		o.Patience = 10 * time.Minute
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	r := &run{Options: o, plan: p, pods: newPods(), objects: discovery.New(o.Conns[0], discovery.Options{}),
		made: newMade(), namespaces: map[string]bool{}, awaited: map[string]int{}}
	if !o.Keep {
		defer func() { err = errors.Join(err, r.made.delete(context.WithoutCancel(ctx), o.Conns)) }()
	}
	if p.compare.Name != throughput && o.Metrics == nil && len(p.limits) > 0 {
		return nil, p.File.refuse(p.at+".threshold", "it is compared with %s, which needs the scheduler's metrics", p.compare.Name)
	}
	if p.Case.MetricsCollectorConfig != nil && o.Metrics == nil {
		return nil, p.File.refuse(p.caseAt+".metricsCollectorConfig", "needs the scheduler's metrics")
	}
	ctx, stop := context.WithCancelCause(ctx)
	r.background.Go(func() {
		if err := r.pods.watch(ctx, o.Conns[0]); err != nil && ctx.Err() == nil {
			stop(fmt.Errorf("watch pods: %w", err))
		}
	})
	err = r.steps(ctx)
	stop(nil)
	r.background.Wait()
	if r.sampler != nil {
		r.sampler()
	}
	r.sampling.Wait()
	return r.items, errors.Join(append([]error{err}, r.errs...)...)
}

func (r *run) steps(ctx context.Context) error {
	for i := range r.plan.steps {
		s := &r.plan.steps[i]
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		begun := time.Now()
		if err := r.step(ctx, i, s); err != nil {
			return r.plan.File.refuse(s.at, "%s: %s: %w", r.plan.Name(), s.Opcode, err)
		}
		fmt.Fprintf(r.Progress, "%s: %s took %v\n", r.plan.Name(), s.Opcode, time.Since(begun).Round(time.Millisecond))
	}
	return nil
}

func (r *run) step(ctx context.Context, i int, s *step) error {
	namespace := s.Namespace
	switch s.Opcode {
	case "createPods", "churn":
		if namespace == "" {
			namespace = fmt.Sprintf("namespace-%d", i)
		}
	case "deletePods":
		return r.deletePods(ctx, s)
	case "allocResourceClaims":
		return r.allocateClaims(ctx, s)
	}
	if namespace != "" {
		if err := r.namespace(ctx, namespace); err != nil {
			return err
		}
	}
	switch s.Opcode {
	case "createNodes":
		return r.createNodes(ctx, fmt.Sprintf("node-%d-", i), s)
	case "createNamespaces":
		return r.createNamespaces(ctx, s)
	case "createPods":
		return r.createPods(ctx, namespace, s)
	case "createResourceClaims":
		return r.createClaims(ctx, s)
	case "createResourceDriver":
		return r.createDriver(ctx, s)
	case "createAny":
		return r.createAny(ctx, s)
	case "updateAny":
		return r.updateAny(ctx, s)
	case "churn":
		return r.churn(ctx, namespace, s)
	case "barrier":
		return r.barrier(ctx, s)
	case "sleep":
		return backoff.Sleep(ctx, s.Duration.Duration)
	case "startCollectingMetrics":
		return r.start(ctx, s.Name, s.Namespaces, s.LabelSelector)
	case "stopCollectingMetrics":
		return r.stop(ctx)
	}
	return fmt.Errorf("operation %s has no implementation", s.Opcode)
}

// barrier waits for the pods that were created without waiting for them.
func (r *run) barrier(ctx context.Context, s *step) error {
	namespaces := s.Namespaces
	if len(namespaces) == 0 {
		namespaces = slices.Sorted(maps.Keys(r.awaited))
	}
	ctx, cancel := context.WithTimeout(ctx, r.Patience)
	defer cancel()
	attempts := s.StageRequirement == "Attempted"
	for _, ns := range namespaces {
		want, ok := r.awaited[ns]
		if !ok {
			return fmt.Errorf("unknown namespace %s", ns)
		}
		if err := r.pods.wait(ctx, ns, s.LabelSelector, want, attempts); err != nil {
			return err
		}
	}
	if !attempts {
		for _, ns := range namespaces {
			delete(r.awaited, ns)
		}
	}
	return nil
}

// start begins to collect metrics.
func (r *run) start(ctx context.Context, name string, namespaces []string, selected labels.Set) (err error) {
	if r.Metrics != nil {
		text, err := r.Metrics(ctx)
		if err != nil {
			return fmt.Errorf("metrics of the scheduler: %w", err)
		}
		if r.before, err = readHistograms(text); err != nil {
			return fmt.Errorf("metrics of the scheduler: %w", err)
		}
	}
	r.collecting = r.plan.Name() + "/" + name
	if r.Measuring != nil {
		r.ended = r.Measuring(r.collecting)
	}
	r.pods.mu.Lock()
	r.pods.measure = &measured{namespaces: namespaces, selected: labels.SelectorFromSet(selected), begun: time.Now()}
	r.pods.mu.Unlock()
	sampling, stop := context.WithCancel(ctx)
	r.sampler = stop
	r.sampling.Go(func() {
		ticker := time.NewTicker(sampled)
		defer ticker.Stop()
		for {
			select {
			case <-sampling.Done():
				return
			case <-ticker.C:
				r.pods.mu.Lock()
				r.pods.measure.sample(time.Now())
				r.pods.mu.Unlock()
			}
		}
	})
	return nil
}

// stop ends the collection and compares the threshold.
func (r *run) stop(ctx context.Context) error {
	ended := time.Now()
	r.sampler()
	r.sampling.Wait()
	r.pods.mu.Lock()
	m := r.pods.measure
	r.pods.measure = nil
	items, n := m.items(r.collecting, ended), m.n
	r.pods.mu.Unlock()
	if r.ended != nil {
		items = append(items, r.ended(n)...)
	}
	if r.Metrics != nil {
		text, err := r.Metrics(ctx)
		if err != nil {
			return fmt.Errorf("metrics of the scheduler: %w", err)
		}
		after, err := readHistograms(text)
		if err != nil {
			return fmt.Errorf("metrics of the scheduler: %w", err)
		}
		c := r.plan.Case.MetricsCollectorConfig
		if c == nil {
			c = &collectedByDefault
		}
		items = append(items, c.items(r.collecting, r.before, after)...)
	}
	err := r.plan.apply(items, r.Topic)
	r.items = append(r.items, items...)
	return err
}

// failed keeps an error of a step that goes on in the background.
func (r *run) failed(ctx context.Context, s *step, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	r.errsMu.Lock()
	defer r.errsMu.Unlock()
	r.errs = append(r.errs, r.plan.File.refuse(s.at, "%s: %s: %w", r.plan.Name(), s.Opcode, err))
}

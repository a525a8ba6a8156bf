package controller_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

var a, b = reconcile.Request{Name: "a"}, reconcile.Request{Name: "b"}

// run runs c until the returned function is called, which waits for it.
func run(t *testing.T, c *controller.Controller[reconcile.Request]) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-done) })
	t.Cleanup(stop)
	return stop
}

// log collects what happened, and when.
type log struct {
	mu    sync.Mutex
	lines []string
	began time.Time
}

func newLog() *log { return &log{began: time.Now()} }

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func TestPanicsAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		calls := 0
		c := controller.New("c", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			if calls++; calls == 1 {
				panic("boom")
			}
			return reconcile.Result{}, nil
		}), controller.Options{Metrics: controller.Metrics{Reconciled: func(_, outcome string, _ time.Duration) { l.add("%s", outcome) }}})
		run(t, c)
		c.Enqueue(a)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, []string{"panic", "success"}, l.lines)
	})
}

// A panic counts and is logged also while the controller stops; an error of a reconcile that was canceled
// says nothing and is not counted.
func TestPanicsWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		var text strings.Builder
		c := controller.New("c", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			if req == a {
				panic("boom")
			}
			return reconcile.Result{}, ctx.Err()
		}), controller.Options{
			Concurrency: 2, Logger: slog.New(slog.NewTextHandler(&text, nil)),
			Metrics: controller.Metrics{Reconciled: func(_, outcome string, _ time.Duration) { l.add("%s", outcome) }},
		})
		stop := run(t, c)
		c.Enqueue(a)
		c.Enqueue(b)
		synctest.Wait()
		stop()
		require.Equal(t, []string{"panic"}, l.lines)
		require.Contains(t, text.String(), "boom")
		require.NotContains(t, text.String(), "name=b")
	})
}

// Started has the number of workers; TimedOut counts the reconciles that their timeout has canceled, whatever
// they return, and no others.
func TestStartedAndTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		c := controller.New("c", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if req == b {
				time.Sleep(time.Second)
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			return reconcile.Result{}, nil
		}), controller.Options{Concurrency: 3, Timeout: time.Minute, Metrics: controller.Metrics{
			Started:    func(name string, n int) { l.add("%s started with %d", name, n) },
			TimedOut:   func(name string) { l.add("%s timed out", name) },
			Reconciled: func(_, outcome string, took time.Duration) { l.add("%s after %v", outcome, took) },
		}})
		stop := run(t, c)
		c.Enqueue(b)
		c.Enqueue(a)
		time.Sleep(2 * time.Minute)
		c.Enqueue(a)
		time.Sleep(time.Second)
		stop()
		require.Equal(t, []string{"c started with 3", "success after 1s", "c timed out", "success after 1m0s", "success after 1s"}, l.lines)
	})
}

func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		active := 0
		calls := map[reconcile.Request]int{}
		c := controller.New("c", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			calls[req]++
			switch {
			case req.Name == "terminal":
				return reconcile.Result{}, reconcile.TerminalError(errors.New("for good"))
			case req.Name == "again" && calls[req] == 1:
				return reconcile.Result{RequeueAfter: time.Minute}, nil
			case req.Name == "error" && calls[req] < 4:
				return reconcile.Result{}, errors.New("not yet")
			}
			return reconcile.Result{}, nil
		}), controller.Options{Metrics: controller.Metrics{
			Reconciled: func(name, outcome string, _ time.Duration) { l.add("%s %s", name, outcome) },
			Active:     func(_ string, d int) { active += d },
		}})
		run(t, c)
		for _, name := range []string{"terminal", "again", "error"} {
			c.Enqueue(reconcile.Request{Name: name})
			time.Sleep(2 * time.Minute)
			synctest.Wait()
		}
		require.Equal(t, []string{"c terminal_error", "c requeue_after", "c success", "c error", "c error", "c error", "c success"}, l.lines)
		require.Zero(t, active)
	})
}

func TestTimeoutEndsOneReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var cause error
		var took time.Duration
		calls := 0
		c := controller.New("c", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			if calls++; calls > 1 {
				return reconcile.Result{}, nil
			}
			<-ctx.Done()
			cause, took = context.Cause(ctx), time.Since(began)
			return reconcile.Result{}, ctx.Err()
		}), controller.Options{Timeout: 5 * time.Second})
		run(t, c)
		c.Enqueue(a)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.ErrorIs(t, cause, controller.ErrReconcileTimeout)
		require.Equal(t, 5*time.Second, took)
		require.Equal(t, 2, calls, "it is tried again")
	})
}

// A key is never worked on twice at once, other keys are worked on side by side, and a key enqueued meanwhile
// runs once more.
func TestOneAtATimePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most, calls := map[reconcile.Request]int{}, 0, map[reconcile.Request]int{}
		c := controller.New("c", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			running[req]++
			calls[req]++
			if running[req] > 1 {
				t.Errorf("%v runs twice", req)
			}
			most = max(most, running[a]+running[b])
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running[req]--
			mu.Unlock()
			return reconcile.Result{}, nil
		}), controller.Options{Concurrency: 4})
		for range 10 {
			c.Enqueue(a)
			c.Enqueue(b)
		}
		// Not before: a worker that takes b between two of the calls above would run it once more.
		run(t, c)
		time.Sleep(500 * time.Millisecond)
		for range 10 {
			c.Enqueue(a)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, most)
		require.Equal(t, map[reconcile.Request]int{a: 2, b: 1}, calls)
	})
}

func TestRunWaitsForReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		c := controller.New("c", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second)
			ended = true
			return reconcile.Result{}, ctx.Err()
		}), controller.Options{})
		stop := run(t, c)
		c.Enqueue(a)
		time.Sleep(time.Second)
		synctest.Wait()
		stop()
		require.True(t, ended)
	})
}

// The seed of the queue alone decides in which order keys are reconciled, retries, delays and what reconciles
// enqueue included.
func TestASeedGivesTheOrderOfReconciles(t *testing.T) {
	order := func(seed uint64) (keys []string) {
		synctest.Test(t, func(t *testing.T) {
			runs := map[string]int{}
			var c *controller.Controller[reconcile.Request]
			c = controller.New("c", reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
				time.Sleep(time.Millisecond)
				keys = append(keys, r.Name)
				runs[r.Name]++
				switch n := runs[r.Name]; {
				case n == 1 && len(r.Name) == 3:
					return reconcile.Result{}, errors.New("once more")
				case n == 2:
					return reconcile.Result{RequeueAfter: 7 * time.Millisecond}, nil
				case n == 3:
					c.Enqueue(reconcile.Request{Name: r.Name + "+"})
				}
				return reconcile.Result{}, nil
			}), controller.Options{Queue: workqueue.Options[reconcile.Request]{Seed: seed}})
			for i := range 40 {
				c.Enqueue(reconcile.Request{Name: fmt.Sprintf("k%02d", i)})
			}
			run(t, c)
			time.Sleep(time.Hour)
		})
		return keys
	}
	seen := map[string]uint64{}
	for seed := uint64(1); seed <= 20; seed++ {
		keys := order(seed)
		require.Len(t, keys, 4*40, "three runs of each key, and one of what the third enqueued")
		require.Equal(t, keys, order(seed), "seed %d", seed)
		other, again := seen[fmt.Sprint(keys)]
		require.False(t, again, "seeds %d and %d give one order", seed, other)
		seen[fmt.Sprint(keys)] = seed
	}
}

// A key keeps its priority when it is retried after an error and when it is requeued, so that an initial list
// that fails at first does not come back in front of a user.
func TestPriorityIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *controller.Controller[reconcile.Request]
		seen := map[string][]int{}
		c = controller.New("kept", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			e, _ := c.Queue().Entry(req)
			seen[req.Name] = append(seen[req.Name], e.Priority)
			switch n := len(seen[req.Name]); {
			case n == 1:
				return reconcile.Result{}, errors.New("not yet")
			case n == 2:
				return reconcile.Result{RequeueAfter: time.Second}, nil
			case n == 3 && req.Name == "other":
				return reconcile.Result{RequeueAfter: time.Second, Priority: new(7)}, nil
			case n == 3:
				panic("once")
			}
			return reconcile.Result{}, nil
		}), controller.Options{})
		for _, name := range []string{"listed", "other"} {
			c.Queue().AddWith(reconcile.Request{Name: name}, workqueue.AddOptions{Priority: workqueue.LowPriority})
		}
		c.Enqueue(reconcile.Request{Name: "edited"})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		require.NoError(t, <-done)
		require.Equal(t, map[string][]int{"listed": {-100, -100, -100, -100}, "other": {-100, -100, -100, 7}, "edited": {0, 0, 0, 0}}, seen)
	})
}

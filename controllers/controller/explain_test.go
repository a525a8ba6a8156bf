package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/workqueue"
)

// Explain says why a key is queued and how its runs ended. A failure is remembered when many successful runs
// of other keys have followed; of those, only the last 256 are.
func TestExplain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		broken := errors.New("disk full")
		fails := true
		held := make(chan struct{})
		c := controller.New("c", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			switch {
			case req.Name == "held":
				<-held
			case req.Name == "later":
				return reconcile.Result{RequeueAfter: time.Hour}, nil
			case req == a && fails:
				time.Sleep(time.Millisecond)
				return reconcile.Result{}, reconcile.TerminalError(broken)
			}
			return reconcile.Result{}, nil
		}), controller.Options{})
		require.Equal(t, "/a: not queued", c.Explain(a).String())
		c.Queue().AddWith(a, workqueue.AddOptions{Cause: "Website Added"})
		queued := c.Explain(a)
		require.Equal(t, workqueue.Ready, queued.Queued.State)
		require.Equal(t, "/a: ready, priority 0, because of Website Added", queued.String())
		stop := run(t, c)
		time.Sleep(time.Second)

		e := c.Explain(a)
		require.Nil(t, e.Queued)
		require.Len(t, e.Runs, 1)
		r := e.Runs[0]
		require.ErrorIs(t, r.Err, broken)
		require.Equal(t, "terminal_error", r.Outcome)
		require.Equal(t, time.Millisecond, r.Took)
		require.Equal(t, began, r.Started)
		require.Equal(t, "/a: not queued\n2000-01-01T00:00:00Z "+r.ID+": terminal_error after 1ms, because of Website Added: terminal: disk full", e.String())

		fails = false
		c.Enqueue(a)
		for i := range 1000 {
			c.Enqueue(reconcile.Request{Name: fmt.Sprint("other", i)})
		}
		time.Sleep(time.Second)
		e = c.Explain(a)
		require.Len(t, e.Runs, 1, "the failure, not the success before the last 256 runs")
		require.ErrorIs(t, e.Runs[0].Err, broken)
		require.Empty(t, c.Explain(reconcile.Request{Name: "other743"}).Runs)
		require.Len(t, c.Explain(reconcile.Request{Name: "other744"}).Runs, 1)

		later := reconcile.Request{Name: "later"}
		c.Enqueue(later)
		synctest.Wait()
		require.Contains(t, c.Explain(later).String(), "/later: waiting, priority 0, runs in 1h0m0s\n")
		c.Enqueue(reconcile.Request{Name: "held"})
		synctest.Wait()
		c.Enqueue(reconcile.Request{Name: "held"})
		require.Contains(t, c.Explain(reconcile.Request{Name: "held"}).String(), "processing, priority 0, runs again afterward")
		close(held)
		stop()
	})
}

// What a controller that retries knows of a key.
func ExampleController_Explain() {
	c := controller.New("greeter", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}), controller.Options{})
	web := reconcile.Request{Namespace: "default", Name: "web"}
	c.Queue().AddWith(web, workqueue.AddOptions{Cause: "Deployment Updated", Priority: workqueue.LowPriority})
	fmt.Println(c.Explain(web))
	// Output: default/web: ready, priority -100, because of Deployment Updated
}

func deepest(n int) {
	if n == 0 {
		panic(errBoom)
	}
	deepest(n - 1)
}

var errBoom = errors.New("boom")

// A panic is logged on one line that names where it was, in text and in JSON; the error has its cause and the
// complete stack.
func TestPanicsAreReadable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		var depth atomic.Int64
		depth.Store(2)
		c := controller.New("c", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			if depth.Load() < 0 {
				var nowhere *bytes.Buffer
				nowhere.Len()
			}
			deepest(int(depth.Load()))
			return reconcile.Result{}, nil
		}), controller.Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		stop := run(t, c)
		c.Enqueue(a)
		synctest.Wait()
		last := func() error { return c.Explain(a).Runs[0].Err }
		p, ok := errors.AsType[*controller.PanicError](last())
		require.True(t, ok)
		require.ErrorIs(t, p, errBoom)
		require.Regexp(t, `^controller: reconciler panicked: boom \(controller_test.deepest explain_test.go:\d+ <- controller_test.deepest explain_test.go:\d+ <- controller_test.deepest explain_test.go:\d+ <- controller_test.TestPanicsAreReadable.func1.1 explain_test.go:\d+ <- reconcile.function\[...\].Reconcile reconcile.go:\d+\)$`, p.Error())
		require.Contains(t, string(p.Stack), "goroutine ")
		depth.Store(1000)
		time.Sleep(time.Minute)
		require.Equal(t, 15, strings.Count(last().Error(), " <- "), "a deep stack is cut")
		depth.Store(-1)
		time.Sleep(time.Hour)
		require.Regexp(t, `nil pointer dereference \(bytes.\(\*Buffer\).Len buffer.go:\d+ <- controller_test`, last().Error())
		stop()
		for line := range strings.Lines(out.String()) {
			require.NotContains(t, line, `\n`)
			require.Contains(t, line, "msg=\"reconcile failed\"")
		}
	})
}

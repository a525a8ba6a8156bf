package manager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// diary records events in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) has(line string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Contains(d.lines, line)
}

// all returns a copy of the events so far.
func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func (d *diary) runnable(name string) manager.Func {
	return func(ctx context.Context) error {
		d.add("%s starts", name)
		<-ctx.Done()
		d.add("%s ends", name)
		return nil
	}
}

// elector leads from start on until lose is closed.
type elector struct {
	d           *diary
	start, lose chan struct{}
}

func (e *elector) Run(ctx context.Context, lead func(context.Context) error) error {
	select {
	case <-e.start:
	case <-ctx.Done():
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- lead(ctx) }()
	select {
	case err := <-done:
		e.d.add("lease released")
		return err
	case <-e.lose:
	case <-ctx.Done():
	}
	stop()
	<-done
	e.d.add("lease released")
	return nil
}

func runManager(m *manager.Manager) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return func() error { cancel(); return <-done }
}

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		e := &elector{d: d, start: make(chan struct{}), lose: make(chan struct{})}
		m := manager.New(c.Conn(), manager.Options{Elector: e})
		inf := informers.For[*corev1.Namespace](m.Informers())
		m.AddWithoutLeaderElection("web", d.runnable("web"))
		m.Add("led", manager.Func(func(ctx context.Context) error {
			d.add("led starts, synced %v", inf.HasSynced())
			<-ctx.Done()
			d.add("led ends")
			return nil
		}))
		stop := runManager(m)
		c.Sleep(time.Minute)
		require.Equal(t, []string{"web starts"}, d.all())
		close(e.start)
		c.Sleep(time.Minute)
		require.Equal(t, []string{"web starts", "led starts, synced true"}, d.all())
		m.Add("late", d.runnable("late"))
		c.Sleep(time.Second)
		require.Contains(t, d.all(), "late starts")
		require.NoError(t, stop())
		at := func(line string) int {
			require.Contains(t, d.all(), line)
			return slices.Index(d.all(), line)
		}
		require.Less(t, at("led ends"), at("lease released"))
		require.Less(t, at("late ends"), at("lease released"))
		require.Less(t, at("lease released"), at("web ends"))
	})
}

// A manager that loses its lease stops completely, because its state may be stale.
func TestLeadershipLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		e := &elector{d: d, start: make(chan struct{}), lose: make(chan struct{})}
		close(e.start)
		m := manager.New(c.Conn(), manager.Options{Elector: e})
		m.AddWithoutLeaderElection("web", d.runnable("web"))
		m.Add("led", d.runnable("led"))
		done := make(chan error, 1)
		go func() { done <- m.Run(t.Context()) }()
		c.Sleep(time.Second)
		close(e.lose)
		require.ErrorContains(t, <-done, "leadership was lost")
		require.Contains(t, d.all(), "web ends")
		require.Contains(t, d.all(), "led ends")
	})
}

func TestAFailureStopsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		broken := errors.New("broken")
		m := manager.New(c.Conn(), manager.Options{})
		m.AddWithoutLeaderElection("web", d.runnable("web"))
		m.Add("bad", manager.Func(func(context.Context) error {
			time.Sleep(time.Minute)
			return broken
		}))
		m.Add("done", manager.Func(func(context.Context) error { return nil }))
		err := m.Run(t.Context())
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "bad: broken")
		require.Equal(t, []string{"web starts", "web ends"}, d.all())
	})
}

// A reconciler sees its own writes in the listers immediately, and never acts twice on one state.
func TestReconcilersReadTheirWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(m *manager.Manager) error {
			maps := informers.For[*corev1.ConfigMap](m.Informers()).Lister()
			r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Namespace != "default" || req.Name != "count" {
					return reconcile.Result{}, nil
				}
				cm, err := maps.Get(req)
				if err != nil {
					return reconcile.Result{}, err
				}
				if len(cm.Data) >= 20 {
					return reconcile.Result{}, nil
				}
				calls++
				cm.Data = withEntry(cm.Data, fmt.Sprint(calls))
				_, err = clientOf(m).Update(ctx, cm)
				return reconcile.Result{}, err
			})
			_, err := controllers.Add(m, "count", r, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			return err
		}}})
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "count")})
		c.Settle()
		require.Len(t, controllertest.Get[*corev1.ConfigMap](c, "default", "count").Data, 20)
		require.Equal(t, 20, calls, "no write met a conflict")
	})
}

package manager_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
)

// waiting is a runnable that notes its start and end.
func (d *diary) waiting(name string) manager.Func {
	return func(ctx context.Context) error {
		d.add("%s runs", name)
		<-ctx.Done()
		d.add("%s ends", name)
		return nil
	}
}

// Runnables under a second lease run while both leases are held. A replica without the first does not
// compete for the second, so that the leader's successor gets both.
func TestASecondLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		var stops []func()
		for _, name := range []string{"one", "two"} {
			m := replica(t, c.Conn(), name)
			view := m.Under("second lease", electorOf(t, c.Conn(), "second", name))
			m.Add("main", d.waiting(name+": main"))
			view.Add("moved", d.waiting(name+": moved"))
			require.True(t, view.Has("moved"))
			require.False(t, m.Has("moved"))
			require.ErrorContains(t, view.Run(t.Context()), "returned by As or Under")
			stops = append(stops, c.Run(m))
			c.Sleep(time.Minute)
		}
		require.ElementsMatch(t, []string{"one: main runs", "one: moved runs"}, d.all())
		stops[0]()
		c.Sleep(time.Minute)
		require.ElementsMatch(t, []string{"one: main runs", "one: moved runs", "one: main ends", "one: moved ends", "two: main runs", "two: moved runs"}, d.all())
		require.Equal(t, "two", *controllertest.Get[*coordinationv1.Lease](c, "default", "second").Spec.HolderIdentity)
		stops[1]()
		c.Sleep(time.Second)
		require.Nil(t, controllertest.Get[*coordinationv1.Lease](c, "default", "second").Spec.HolderIdentity, "it is released")
	})
}

// While another program holds the second lease, only its runnables wait; if it takes the lease from the
// manager, their writes are refused and the manager stops.
func TestASecondLeaseOfAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		d := &diary{}
		other, release := context.WithCancel(t.Context())
		released := make(chan error, 1)
		go func() {
			released <- electorOf(t, c.Conn(), "second", "other").Run(other, func(ctx context.Context) error { <-ctx.Done(); return nil })
		}()
		c.Sleep(time.Second)
		m := replica(t, c.Conn(), "one")
		m.Add("main", d.waiting("main"))
		view := m.Under("second lease", electorOf(t, c.Conn(), "second", "one"))
		led := make(chan context.Context, 1)
		view.Add("moved", manager.Func(func(ctx context.Context) error {
			led <- context.WithoutCancel(ctx)
			return d.waiting("moved")(ctx)
		}))
		done := make(chan error, 1)
		go func() { done <- m.Run(t.Context()) }()
		c.Sleep(time.Minute)
		require.Equal(t, []string{"main runs"}, d.all())
		release()
		c.Sleep(time.Minute)
		require.NoError(t, <-released)
		require.Equal(t, []string{"main runs", "moved runs"}, d.all())

		ctx := <-led
		write := func(name string) error {
			_, err := client.For[*corev1.ConfigMap](c.Conn()).Create(ctx, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
			return err
		}
		require.NoError(t, write("a"))
		controllertest.Update(c, "default", "second", func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseTransitions = new("other"), new(int32(7))
		})
		require.True(t, apierrors.IsFenced(write("b")))
		require.ErrorContains(t, <-done, "second lease: ")
		require.ElementsMatch(t, []string{"main runs", "moved runs", "main ends", "moved ends"}, d.all())
		time.Sleep(time.Second)
	})
}

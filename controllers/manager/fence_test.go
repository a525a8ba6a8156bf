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

// A leader by a lease of one cluster writes to another: the token is for the server of the lease only, where
// the writes of a leader that was replaced are refused.
func TestALeaderWritesToAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub, member := controllertest.Start(t, controllertest.Options{}), controllertest.Start(t, controllertest.Options{})
		m := replica(t, hub.Conn(), "one")
		write := func(ctx context.Context, c *controllertest.Cluster, name string) error {
			// Another connection, as another part of the program would have.
			_, err := client.For[*corev1.ConfigMap](c.Conn()).Create(ctx, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
			return err
		}
		led := make(chan context.Context, 1)
		m.Add("writer", manager.Func(func(ctx context.Context) error {
			led <- context.WithoutCancel(ctx)
			<-ctx.Done()
			return nil
		}))
		done := make(chan error, 1)
		go func() { done <- m.Run(t.Context()) }()
		ctx := <-led
		require.NoError(t, write(ctx, member, "a"))
		require.NoError(t, write(ctx, hub, "a"))
		controllertest.Update(hub, "default", "operator", func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseTransitions = new("two"), new(int32(7))
		})
		require.NoError(t, write(ctx, member, "b"))
		require.True(t, apierrors.IsFenced(write(ctx, hub, "b")))
		require.Error(t, <-done)
		time.Sleep(time.Second)
	})
}

package main

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/store/memory"
)

// The flags decide whether the server's address is in the endpoints of the service kubernetes, and the
// feature APIServerIdentity whether it has a lease that carries the name of its host.
func TestWhatTheServerWritesAboutItself(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	for _, c := range []struct {
		flags             []string
		endpoints, leases int
	}{
		{nil, 1, 1},
		{[]string{"--endpoint-reconciler-type=master-count", "--apiserver-count=3"}, 1, 1},
		{[]string{"--endpoint-reconciler-type=none", "--advertise-address=fd00::1"}, 0, 1},
		{[]string{"--feature-gates=APIServerIdentity=false"}, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, err := parse(append([]string{"--storage-backend=memory", "--advertise-address=192.0.2.9"}, c.flags...))
			require.NoError(t, err)
			st := memory.New(memory.Options{})
			cp, err := o.controlPlane(st, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- cp.Run(ctx) }()
			<-cp.Ready()
			time.Sleep(15 * time.Second)
			endpoints, err := cp.Access().List(t.Context(), corev1.GroupVersion.WithResource("endpoints"), "default", labels.Everything())
			require.NoError(t, err)
			require.Len(t, endpoints, c.endpoints, c.flags)
			leases, err := cp.Access().List(t.Context(), coordinationv1.GroupVersion.WithResource("leases"), "kube-system", labels.Everything())
			require.NoError(t, err)
			require.Len(t, leases, c.leases, c.flags)
			for _, l := range leases {
				require.Equal(t, host, l.(*coordinationv1.Lease).Labels["kubernetes.io/hostname"])
			}
			cancel()
			require.NoError(t, <-done)
			require.NoError(t, st.Close())
		})
	}
}

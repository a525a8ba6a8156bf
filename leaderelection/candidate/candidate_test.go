package candidate_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/leaderelection/candidate"
	"github.com/keelson-dev/keelson/store/apiserver"
)

var key = types.NamespacedName{Namespace: "default", Name: "one"}

// A candidate gives a sign of life every five minutes and when the server requests it, also one whose clock
// is ahead; it is made again if it is deleted, through failures of the server, and is deleted at the end.
func TestSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := apiserver.BuiltinScheme()
		require.NoError(t, err)
		require.NoError(t, errors.Join(coordinationv1beta1.AddToScheme(s), coordinationv1beta1.AddRules(s)))
		server := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{Scheme: s}})
		objects := client.For[*coordinationv1beta1.LeaseCandidate](server.Conn(t, rest.Options{}))
		var broken atomic.Bool
		conn := client.Intercept(server.Conn(t, rest.Options{}), func(ctx context.Context, call client.Call, send func(context.Context) error) error {
			if broken.Load() {
				return errors.New("broken")
			}
			return send(ctx)
		})
		one, err := candidate.New(conn, key, "work", candidate.Options{BinaryVersion: "1.36.0", EmulationVersion: "1.35.0"})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- one.Run(ctx) }()
		get := func() *coordinationv1beta1.LeaseCandidate {
			c, err := objects.Get(t.Context(), key)
			require.NoError(t, err)
			return c
		}
		time.Sleep(time.Second)
		first := get()
		require.Equal(t, "work", first.Spec.LeaseName)
		require.Equal(t, "1.35.0", first.Spec.EmulationVersion)
		time.Sleep(5 * time.Minute)
		require.True(t, get().Spec.RenewTime.After(first.Spec.RenewTime.Time))

		ping := func(at time.Time) {
			c := get()
			c.Spec.PingTime = new(metav1.NewMicroTime(at))
			_, err := objects.Update(t.Context(), c)
			require.NoError(t, err)
			time.Sleep(3 * time.Second)
			c = get()
			require.False(t, c.Spec.RenewTime.Before(c.Spec.PingTime.Time))
		}
		ping(time.Now())
		ping(time.Now().Add(time.Hour))

		require.NoError(t, objects.Delete(t.Context(), key))
		time.Sleep(3 * time.Second)
		require.NotEqual(t, get().UID, first.UID)

		broken.Store(true)
		time.Sleep(10 * time.Minute)
		broken.Store(false)
		time.Sleep(3 * time.Second)
		require.Less(t, time.Since(get().Spec.RenewTime.Time), 4*time.Second)

		cancel()
		require.NoError(t, <-done)
		_, err = objects.Get(t.Context(), key)
		require.Error(t, err)
	})
}

func TestOptions(t *testing.T) {
	for want, opts := range map[string]candidate.Options{
		"spec.binaryVersion": {}, "must be a valid semantic version": {BinaryVersion: "v1.36.0"}, "must be greater than or equal": {BinaryVersion: "1.36.0", EmulationVersion: "1.37.0"},
		"spec.strategy": {BinaryVersion: "1.36.0", Strategy: "X"},
	} {
		_, err := candidate.New(nil, key, "work", opts)
		require.ErrorContains(t, err, want)
	}
	_, err := candidate.New(nil, key, "", candidate.Options{BinaryVersion: "1.36.0"})
	require.ErrorContains(t, err, "spec.leaseName")
}

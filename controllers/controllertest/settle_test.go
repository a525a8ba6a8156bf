package controllertest_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// What is due at once has happened when Settle returns, however often it puts itself off by no time at all, and
// whatever it writes has been seen.
func TestSettleWaitsForWhatIsDueNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		var seen []string
		controllertest.Watch(c, "default", func(e client.Event[*corev1.ConfigMap]) { seen = append(seen, e.Object.Name) })
		began := time.Now()
		var fired atomic.Int64
		var again func()
		again = func() {
			n := fired.Add(1)
			if n%2 == 0 {
				controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint(n))})
			}
			if n < 6 {
				time.AfterFunc(0, again)
			}
		}
		time.AfterFunc(0, again)
		c.Settle()
		require.EqualValues(t, 6, fired.Load())
		require.Equal(t, []string{"2", "4", "6"}, seen)
		var late atomic.Bool
		time.AfterFunc(1, func() { late.Store(true) })
		c.Settle()
		require.False(t, late.Load())
		require.Zero(t, time.Since(began), "time has not advanced")
		c.Sleep(1)
		require.True(t, late.Load(), "it was due when the sleep ended")
	})
}

// What its client does not read is not delivered: Settle says so instead of returning.
func TestSettleNoticesBlockedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := controllertest.Start(r, controllertest.Options{})
		proceed := make(chan struct{})
		unblock := sync.OnceFunc(func() { close(proceed) })
		stream, err := c.Conn().Stream(t.Context(), &client.Request{Method: "GET", Path: "/api/v1/configmaps", Query: map[string][]string{"watch": {"1"}}})
		require.NoError(t, err)
		defer unblock()
		read := make(chan struct{})
		go func() {
			defer close(read)
			<-proceed
			for buf := make([]byte, 64<<10); err == nil; {
				_, err = stream.Body.Read(buf)
			}
		}()
		big := strings.Repeat("x", 900<<10)
		for i := range 8 {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", fmt.Sprint(i)), Data: map[string]string{"big": big}})
		}
		require.Contains(t, r.fatal(c.Settle), "the server's watches of /configmaps/ have not delivered revision")
		unblock()
		require.Empty(t, r.fatal(c.Settle))
		require.NoError(t, stream.Body.Close())
		<-read
	})
}

// Random changes by two clients: after Settle a watch has seen exactly what there is.
func TestSettleAfterRandomChanges(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		synctest.Test(t, func(t *testing.T) {
			r := seeds.Rand(seed)
			c := controllertest.Start(t, controllertest.Options{})
			have := map[string]string{}
			controllertest.Watch(c, "", func(e client.Event[*corev1.ConfigMap]) {
				if have[e.Object.Name] = e.Object.ResourceVersion; e.Type == client.Deleted {
					delete(have, e.Object.Name)
				}
			})
			for range 20 {
				var writers sync.WaitGroup
				for range 1 + r.IntN(4) {
					name, remove, wait := fmt.Sprint(r.IntN(5)), r.IntN(3) == 0, time.Duration(r.IntN(2))
					writers.Go(func() {
						<-time.After(wait)
						change(t, c, name, remove)
					})
				}
				if r.IntN(2) == 0 {
					c.Sleep(1)
				}
				writers.Wait() // those that met another one wait a little before they try again
				c.Settle()
				want := map[string]string{}
				for _, m := range controllertest.List[*corev1.ConfigMap](c, "") {
					want[m.Name] = m.ResourceVersion
				}
				require.Equal(t, want, have, "seed %d", seed)
			}
		})
	}
}

// change writes or removes one object, as often as somebody else writes it meanwhile.
func change(t *testing.T, c *controllertest.Cluster, name string, remove bool) {
	api := client.For[*corev1.ConfigMap](c.Admin())
	key := types.NamespacedName{Namespace: "default", Name: name}
	_, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
	switch {
	case err == nil:
		return
	case !apierrors.IsAlreadyExists(err):
	case remove:
		err = api.Delete(t.Context(), key)
	default:
		_, err = client.Update(t.Context(), api, key, func(m *corev1.ConfigMap) error {
			m.Data = map[string]string{"v": m.ResourceVersion}
			return nil
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("%s: %v", name, err)
	}
}

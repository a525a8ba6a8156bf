package informers_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// lost answers 404 in place of the server where the path begins with what is stored in prefix, and lets no
// watch live longer than 5 s.
type lost struct {
	http.Handler
	prefix atomic.Value
}

func (l *lost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p, _ := l.prefix.Load().(string); p != "" && strings.HasPrefix(r.URL.Path, p) {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.URL.Query().Has("watch") {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		r = r.WithContext(ctx)
	}
	l.Handler.ServeHTTP(w, r)
}

// TestA404EmptiesNoCache: only the discovery documents of the server decide that a resource is not served,
// not a 404 of a proxy in front of it.
func TestA404EmptiesNoCache(t *testing.T) {
	for name, prefix := range map[string]string{
		"everything":          "/",
		"the resource alone":  "/api/v1/configmaps",
		"the group version":   "/api/v1",
		"the group discovery": "/api",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lost{}
				s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { l.Handler = h; return l }})
				cms := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
				_, err := cms.Create(t.Context(), cm("a", "k", "1"))
				require.NoError(t, err)
				var mu sync.Mutex
				var failures []error
				set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{OnError: func(_ string, err error) {
					mu.Lock()
					defer mu.Unlock()
					failures = append(failures, err)
				}})
				inf := informers.For[*corev1.ConfigMap](set)
				var delivered []string
				inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
					if ev.Key.Namespace == "default" {
						delivered = append(delivered, fmt.Sprint(ev.Type, " ", ev.Key.Name))
					}
				}, informers.HandlerOptions{})
				run(t, set)
				require.NoError(t, set.WaitForSync(t.Context()))
				l.prefix.Store(prefix)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				require.Equal(t, []string{"Added a"}, delivered)
				require.True(t, must(inf.Lister().Has(key("a"))), "the last state known stays")
				st := inf.Status()
				require.False(t, st.NotServed)
				require.Error(t, st.LastError)
				require.Greater(t, st.Silent, 4*time.Minute)
				mu.Lock()
				require.NotEmpty(t, failures)
				mu.Unlock()
				l.prefix.Store("")
				_, err = cms.Create(t.Context(), cm("b", "k", "1"))
				require.NoError(t, err)
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, []string{"Added a", "Added b"}, delivered)

				// A collection that has never been read does not count as empty either.
				l.prefix.Store(prefix)
				late := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{})
				secrets := informers.For[*corev1.ConfigMap](late)
				run(t, late)
				time.Sleep(time.Minute)
				require.Error(t, late.Ready())
				_, err = secrets.Lister().List(informers.ListOptions{})
				require.ErrorAs(t, err, new(*informers.NotSyncedError))
				l.prefix.Store("")
			})
		})
	}
}

// TestARemovedResourceIsReportedOnce removes the definition of a resource whose objects cannot be deleted one
// by one before.
func TestARemovedResourceIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		failures := 0
		gone := 0
		unsynced := map[string]int{}
		set, api := websites(t, informers.SetOptions{Metrics: informers.Metrics{Unsynced: func(resource string, delta int) {
			mu.Lock()
			defer mu.Unlock()
			unsynced[resource] += delta
		}}, OnError: func(_ string, err error) {
			mu.Lock()
			defer mu.Unlock()
			failures++
			if _, ok := err.(*informers.NotServedError); ok {
				gone++
			}
		}})
		put(t, api, "a", "h")
		inf := informers.For[*Website](set)
		n := count(inf)
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		crds := client.For[*apiextensionsv1.CustomResourceDefinition](api.Conn())
		require.NoError(t, crds.Delete(t.Context(), types.NamespacedName{Name: "websites.example.com"}))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, comings{1, 1}, *n)
		require.True(t, inf.Status().NotServed)
		require.NoError(t, set.Ready(), "a resource that is not served does not affect readiness")
		require.Empty(t, must(inf.Lister().List(informers.ListOptions{})), "there are none, and that is known")
		mu.Lock()
		require.Equal(t, map[string]int{"websites.example.com": 1}, unsynced)
		require.Equal(t, 1, gone)
		seen := failures
		mu.Unlock()
		time.Sleep(time.Hour)
		mu.Lock()
		require.Equal(t, seen, failures, "reported once")
		mu.Unlock()
		_, err := crds.Create(t.Context(), websiteCRD())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		put(t, api, "b", "h")
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, comings{2, 1}, *n)
		require.False(t, inf.Status().NotServed)
		mu.Lock()
		require.Zero(t, unsynced["websites.example.com"])
		mu.Unlock()
	})
}

// TestSyncTimeout has an informer that cannot read its resource: a wait for it ends, and says why.
func TestSyncTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Wrap: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`))
			})
		}})
		unsynced := atomic.Int64{}
		set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{SyncTimeout: time.Minute, Metrics: informers.Metrics{
			Unsynced: func(_ string, delta int) { unsynced.Add(int64(delta)) },
		}})
		inf := informers.For[*corev1.ConfigMap](set)
		run(t, set)
		for _, wait := range []func(context.Context) error{set.WaitForSync, set.WaitForSyncOrAbsent} {
			began := time.Now()
			err := wait(t.Context())
			require.ErrorIs(t, err, informers.ErrSyncTimeout)
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			require.ErrorAs(t, err, new(*informers.NotSyncedError))
			require.Equal(t, time.Minute, time.Since(began))
		}
		require.EqualValues(t, 1, unsynced.Load())
		inf.Release()
		require.Zero(t, unsynced.Load())
	})
}

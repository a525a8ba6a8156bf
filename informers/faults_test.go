package informers_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// faulty fails requests at random while it is on: refusals, lost answers, slow answers, streams cut in the
// middle.
type faulty struct {
	http.Handler
	on    atomic.Bool
	draws *seeds.Draws
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.on.Load() {
		f.Handler.ServeHTTP(w, r)
		return
	}
	watch := r.URL.Query().Has("watch")
	rng := f.draws.For(fmt.Sprint(r.Method, " ", r.URL.Path, " ", watch))
	switch rng.IntN(12) {
	case 10, 11:
		// A proxy that has lost its server answers every path like this, discovery included.
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	case 0:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many", http.StatusTooManyRequests)
		return
	case 1:
		http.Error(w, "boom", http.StatusInternalServerError)
		return
	case 2:
		panic(http.ErrAbortHandler)
	case 3:
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
	case 4:
		if watch {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`)
			return
		}
	case 5, 6:
		if watch {
			// The stream breaks after a while, in the middle of whatever is being sent.
			ctx, cancel := context.WithTimeout(r.Context(), time.Duration(rng.IntN(3000))*time.Millisecond)
			defer cancel()
			f.Handler.ServeHTTP(&cut{ResponseWriter: w, left: rng.IntN(4000)}, r.WithContext(ctx))
			panic(http.ErrAbortHandler)
		}
	}
	f.Handler.ServeHTTP(w, r)
}

// cut drops what is written after so many bytes.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(p []byte) (int, error) {
	n := min(c.left, len(p))
	c.left -= n
	if _, err := c.ResponseWriter.Write(p[:n]); err != nil {
		return n, err
	}
	if n < len(p) {
		http.NewResponseController(c.ResponseWriter).Flush()
		return n, http.ErrAbortHandler
	}
	return n, nil
}

func (c *cut) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// TestFaultyServer runs two writers through a set against a real server that fails at random: own writes are
// seen at once, and in the end all copies agree.
func TestFaultyServer(t *testing.T) {
	for _, seed := range seeds.Of(t, 30) {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faultyServer(t, seed) })
		}) {
			return
		}
	}
}

func faultyServer(t *testing.T, seed uint64) {
	f := &faulty{draws: seeds.NewDraws(seed)}
	s := clienttest.Start(t, clienttest.Options{TLS: seed%8 == 0, Wrap: func(h http.Handler) http.Handler { f.Handler = h; return f }})
	clean, set := s.Conn(t, rest.Options{}), informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{})
	inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default", "kube-system"}})
	known := map[types.NamespacedName]string{}
	inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
		if ev.Type == informers.Deleted {
			delete(known, ev.Key)
			return
		}
		known[ev.Key] = ev.ResourceVersion
	}, informers.HandlerOptions{})
	run(t, set)
	require.NoError(t, set.WaitForSync(t.Context()))
	f.on.Store(true)
	writer, reader := client.For[*corev1.ConfigMap](set.Conn()), inf.Lister()
	var wg sync.WaitGroup
	for _, ns := range []string{"default", "kube-system"} {
		rng := seeds.Stream(seed, uint64(len(ns)))
		wg.Go(func() {
			for i := range 25 {
				time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
				k := types.NamespacedName{Namespace: ns, Name: fmt.Sprintf("o%d", rng.IntN(4))}
				c := &corev1.ConfigMap{Data: map[string]string{"i": strconv.Itoa(i)}}
				c.Namespace, c.Name = k.Namespace, k.Name
				var made *corev1.ConfigMap
				var err error
				switch rng.IntN(3) {
				case 0:
					made, err = writer.Create(t.Context(), c)
				case 1:
					made, err = writer.Update(t.Context(), c)
				default:
					if err = writer.Delete(t.Context(), k); err == nil {
						require.False(t, must(reader.Has(k)), "deleted through this set")
					}
				}
				if made == nil || err != nil {
					continue
				}
				found := false
				for _, got := range must(reader.Keys(informers.ListOptions{Namespace: ns})) {
					found = found || got == k
				}
				require.True(t, found)
			}
		})
	}
	wg.Wait()
	f.on.Store(false)
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	want := map[types.NamespacedName]string{}
	for _, ns := range []string{"default", "kube-system"} {
		l, err := client.For[*corev1.ConfigMap](clean).List(t.Context(), client.ListOptions{Namespace: ns})
		require.NoError(t, err)
		for _, c := range l.Items {
			want[metav1.KeyOf(c)] = c.ResourceVersion
			got, err := reader.Get(metav1.KeyOf(c))
			require.NoError(t, err)
			require.Equal(t, c.Data, got.Data)
		}
	}
	got := map[types.NamespacedName]string{}
	for _, c := range must(reader.List(informers.ListOptions{})) {
		got[metav1.KeyOf(c)] = c.ResourceVersion
	}
	require.Equal(t, want, got)
	require.Equal(t, want, known)
	require.NoError(t, inf.Verify(t.Context()))
}

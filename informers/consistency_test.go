package informers_test

import (
	"bytes"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// swallow loses what watches send about one object while it is on, like a broken proxy.
type swallow struct {
	http.Handler
	name string
	on   atomic.Bool
	lost atomic.Int32
}

func (s *swallow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("watch") {
		w = &swallowing{w, s}
	}
	s.Handler.ServeHTTP(w, r)
}

type swallowing struct {
	http.ResponseWriter
	s *swallow
}

func (w *swallowing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *swallowing) Write(p []byte) (int, error) {
	if w.s.on.Load() && bytes.Contains(p, []byte(w.s.name)) {
		w.s.lost.Add(1)
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// TestALostEventIsFound has one event of each type lost on the way: the comparison names the object each
// time, and nothing else.
func TestALostEventIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lossy := &swallow{name: "the-lost-one"}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { lossy.Handler = h; return lossy }})
		var failures []error
		set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{
			VerifyEvery: 10 * time.Minute,
			OnError:     func(_ string, err error) { failures = append(failures, err) },
		})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		cms := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
		next := func() *informers.InconsistentError {
			failures = nil
			_, err := client.Update(t.Context(), cms, key("other"), func(c *corev1.ConfigMap) error {
				c.Data = map[string]string{"now": time.Now().String()}
				return nil
			})
			require.NoError(t, err)
			time.Sleep(15 * time.Minute)
			synctest.Wait()
			if len(failures) == 0 {
				return nil
			}
			var bad *informers.InconsistentError
			require.ErrorAs(t, failures[0], &bad)
			require.ErrorContains(t, bad, "default/the-lost-one")
			return bad
		}
		_, err := cms.Create(t.Context(), cm("other"))
		require.NoError(t, err)
		require.Nil(t, next())

		lossy.on.Store(true)
		made, err := cms.Create(t.Context(), cm("the-lost-one"))
		require.NoError(t, err)
		synctest.Wait()
		require.Positive(t, lossy.lost.Load())
		lost := []types.NamespacedName{key("the-lost-one")}
		bad := next()
		require.NotNil(t, bad)
		require.Equal(t, informers.InconsistentError{Resource: "configmaps", Version: bad.Version, Missing: lost}, *bad)

		lossy.on.Store(false)
		made.Data = map[string]string{"a": "1"}
		made, err = cms.Update(t.Context(), made)
		require.NoError(t, err)
		require.Nil(t, next(), "the next event of the object mends it")

		lossy.on.Store(true)
		made.Data = map[string]string{"a": "2"}
		_, err = cms.Update(t.Context(), made)
		require.NoError(t, err)
		synctest.Wait()
		bad = next()
		require.NotNil(t, bad)
		require.Equal(t, informers.InconsistentError{Resource: "configmaps", Version: bad.Version, Different: lost}, *bad)

		require.NoError(t, cms.Delete(t.Context(), key("the-lost-one")))
		synctest.Wait() // otherwise the next event is part of the same read, and lost with this one
		bad = next()
		require.NotNil(t, bad)
		require.Equal(t, informers.InconsistentError{Resource: "configmaps", Version: bad.Version, Extra: lost}, *bad)
		require.True(t, must(inf.Lister().Has(key("the-lost-one"))))
	})
}

// TestReadersCannotCorruptACopy modifies every result of a read, and then reads again: through every method,
// with and without a shared decoded form, encoded and decoded.
func TestReadersCannotCorruptACopy(t *testing.T) {
	for name, o := range map[string]informers.SetOptions{"encoded": {}, "decoded": {Decoded: true}} {
		t.Run(name, func(t *testing.T) {
			recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
				set := informers.NewSet(c, o)
				inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
				byK := inf.Index(informers.DefineIndex("k", func(c *corev1.ConfigMap) []string { return []string{c.Data["k"]} }))
				original := cm("a", "k", "v")
				original.Labels, original.Annotations, original.BinaryData = map[string]string{"l": "v"}, map[string]string{"n": "v"}, map[string][]byte{"b": {1, 2, 3}}
				_, err := client.For[*corev1.ConfigMap](c).Create(t.Context(), original)
				require.NoError(t, err)
				run(t, set)
				require.NoError(t, set.WaitForSync(t.Context()))
				l := inf.Lister()
				spoil := func(c *corev1.ConfigMap) {
					c.Data["k"], c.Labels["l"], c.Annotations["n"] = "spoiled", "spoiled", "spoiled"
					c.BinaryData["b"][0] = 9
					c.ResourceVersion, c.Namespace = "spoiled", "spoiled"
				}
				snapshot := must(l.Snapshot())
				get := func() *corev1.ConfigMap { c, err := l.Get(key("a")); require.NoError(t, err); return c }
				reads := map[string]func() *corev1.ConfigMap{
					"Get":          get,
					"List":         func() *corev1.ConfigMap { return must(l.List(informers.ListOptions{}))[0] },
					"ByIndex":      func() *corev1.ConfigMap { return must(byK.List("v"))[0] },
					"Snapshot.Get": func() *corev1.ConfigMap { c, err := snapshot.Get(key("a")); require.NoError(t, err); return c },
				}
				whole := get()
				for _, held := range []bool{false, true} {
					var shared *corev1.ConfigMap // keeps the shared one alive, or not
					if held {
						require.NoError(t, l.View(key("a"), func(c *corev1.ConfigMap) { shared = c }))
					}
					for name, read := range reads {
						spoil(read())
						require.Equal(t, whole, get(), "%s, held: %v", name, held)
						require.Equal(t, whole, read(), "%s, held: %v", name, held)
						require.NoError(t, l.View(key("a"), func(c *corev1.ConfigMap) { require.Equal(t, whole, c) }))
						keys := must(byK.Keys("v"))
						keys[0].Name = "spoiled"
						require.Equal(t, []types.NamespacedName{key("a")}, must(byK.Keys("v")))
						if held {
							require.Equal(t, whole, shared)
						}
					}
				}
			})
		})
	}
}

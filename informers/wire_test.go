package informers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// asked records the queries of requests for config maps and secrets.
type asked struct {
	http.Handler
	mu      sync.Mutex
	queries []string
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/configmaps") && r.Method == http.MethodGet {
		a.mu.Lock()
		a.queries = append(a.queries, r.URL.Path+"?"+r.URL.RawQuery)
		a.mu.Unlock()
	}
	a.Handler.ServeHTTP(w, r)
}

// recorded runs f in a bubble with a server whose requests are recorded.
func recorded(t *testing.T, f func(t *testing.T, a *asked, c *rest.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		a := &asked{}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { a.Handler = h; return a }})
		f(t, a, s.Conn(t, rest.Options{}))
	})
}

func TestOneWatchServesAll(t *testing.T) {
	recorded(t, func(t *testing.T, a *asked, c *rest.Conn) {
		goroutines := 0
		for round := range 10 {
			a.queries = nil
			set := informers.NewSet(c, informers.SetOptions{})
			delivered := make([]int, 5)
			for i := range delivered {
				informers.For[*corev1.ConfigMap](set).AddHandler(func(informers.Event[*corev1.ConfigMap]) { delivered[i]++ }, informers.HandlerOptions{})
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); _ = set.Run(ctx) }()
			require.NoError(t, set.WaitForSync(ctx))
			_, err := client.For[*corev1.ConfigMap](c).Create(ctx, cm(fmt.Sprintf("a%d", round)))
			require.NoError(t, err)
			time.Sleep(time.Minute)
			synctest.Wait()
			require.NotContains(t, delivered, 0)
			require.Len(t, a.queries, 1, "one request for five users: %v", a.queries)
			require.Contains(t, a.queries[0], "sendInitialEvents=true")
			require.Contains(t, a.queries[0], "allowWatchBookmarks=true")
			cancel()
			<-done
			require.NoError(t, c.Close())
			synctest.Wait()
			if round == 0 {
				goroutines = runtime.NumGoroutine()
			}
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+5, "less than one for each round")
	})
}

func TestSelectorsAreTheServersWork(t *testing.T) {
	recorded(t, func(t *testing.T, a *asked, c *rest.Conn) {
		set := informers.NewSet(c, informers.SetOptions{NoWatchList: true})
		informers.For(set, informers.Options[*corev1.ConfigMap]{
			Namespaces: []string{"default", "kube-system"}, LabelSelector: labels.MustParse("app=web"), FieldSelector: fields.OneEqual("metadata.name", "x"),
		})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		synctest.Wait()
		require.Len(t, a.queries, 4)
		for _, q := range a.queries {
			require.True(t, strings.HasPrefix(q, "/api/v1/namespaces/default/") || strings.HasPrefix(q, "/api/v1/namespaces/kube-system/"), q)
			require.Contains(t, q, "labelSelector=app%3Dweb")
			require.Contains(t, q, "fieldSelector=metadata.name%3Dx")
		}
	})
}

func TestEventsOfManyObjectsComeInTheServersOrder(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		var got []string
		inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			if !ev.Initial {
				got = append(got, ev.ResourceVersion)
			}
		}, informers.HandlerOptions{})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		cms := client.For[*corev1.ConfigMap](c)
		var want []string
		for i := range 100 {
			made, err := client.GetOrCreate(t.Context(), cms, cm(fmt.Sprintf("o%d", i*7%5)))
			require.NoError(t, err)
			made.Data = map[string]string{"i": fmt.Sprint(i)}
			made, err = cms.Update(t.Context(), made)
			require.NoError(t, err)
			want = append(want, made.ResourceVersion)
			synctest.Wait()
		}
		require.Subset(t, got, want)
		require.IsIncreasing(t, numbers(t, got))
	})
}

func numbers(t *testing.T, versions []string) []int {
	out := make([]int, len(versions))
	for i, v := range versions {
		_, err := fmt.Sscan(v, &out[i])
		require.NoError(t, err)
	}
	return out
}

func TestAnIdleInformerMovesOn(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		reads, events := 0, 0
		set := informers.NewSet(c, informers.SetOptions{Metrics: informers.Metrics{
			Read: func(string, bool, time.Duration) { reads++ }, Event: func(string, string) { events++ },
		}})
		inf := informers.For[*corev1.Secret](set)
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		before := inf.Lister().Version()
		made, err := client.For[*corev1.ConfigMap](c).Create(t.Context(), cm("a"))
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.NotEqual(t, before, inf.Lister().Version())
		require.GreaterOrEqual(t, numbers(t, []string{inf.Lister().Version()})[0], numbers(t, []string{made.ResourceVersion})[0])
		require.Equal(t, 1, reads)
		require.Zero(t, events)
		require.Less(t, inf.Status().Silent, time.Minute)
		_, err = client.For[*corev1.Secret](c).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}})
		require.NoError(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, events)
	})
}

func TestMetadataOfLargeObjectsIsSmall(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		const n, size = 200, 20_000
		for i := range n {
			s := &corev1.Secret{Data: map[string][]byte{"k": make([]byte, size)}}
			s.Namespace, s.Name = "default", fmt.Sprintf("s%d", i)
			_, err := client.For[*corev1.Secret](c).Create(t.Context(), s)
			require.NoError(t, err)
		}
		set := informers.NewSet(c, informers.SetOptions{})
		r := dynamic.Resource(c, corev1.GroupVersion.WithResource("secrets"))
		whole := informers.ForResource[*metav1.Unstructured](set, r)
		r.Metadata = true
		meta := informers.ForResource[*metav1.PartialObjectMetadata](set, r)
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		require.Equal(t, n, meta.Status().Objects)
		require.Less(t, meta.Status().Bytes, int64(n*1000))
		require.Greater(t, whole.Status().Bytes, int64(n*size))
	})
}

// serveUndecodable serves config maps of which some cannot be decoded, in a list and in a watch.
func serveUndecodable(w http.ResponseWriter, r *http.Request) {
	good := func(name, version string) string {
		return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default","uid":"u-%s","resourceVersion":%q},"data":{"k":"v"}}`, name, name, version)
	}
	bad := func(name, version string) string { return strings.Replace(good(name, version), `{"k":"v"}`, `7`, 1) }
	w.Header().Set("Content-Type", client.MediaJSON)
	if !r.URL.Query().Has("watch") {
		fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[%s,%s,{"metadata":{"uid":"nameless"}},%s]}`, good("a", "1"), bad("b", "2"), good("c", "3"))
		return
	}
	send := func(typ, obj string) { fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", typ, obj) }
	if r.URL.Query().Has("sendInitialEvents") {
		send("ADDED", good("a", "1"))
		send("ADDED", bad("b", "2"))
		send("ADDED", `{"metadata":{"uid":"nameless"}}`)
		send("ADDED", good("c", "3"))
		send("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"10","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	}
	send("ADDED", bad("d", "11"))
	send("WHAT", good("e", "12"))
	fmt.Fprintln(w, "this is no JSON")
	send("ADDED", good("f", "13"))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// TestUndecodableObjects has a server send objects that cannot be decoded, in a list and in a watch: each is
// reported, and the others are available.
func TestUndecodableObjects(t *testing.T) {
	for _, plain := range []bool{true, false} {
		t.Run(fmt.Sprintf("list=%v", plain), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.Start(t, clienttest.Options{Handler: http.HandlerFunc(serveUndecodable)})
				var mu sync.Mutex
				failures, counted := []error{}, 0
				set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{NoWatchList: plain,
					OnError: func(_ string, err error) {
						mu.Lock()
						defer mu.Unlock()
						failures = append(failures, err)
					},
					Metrics: informers.Metrics{Failed: func(string) {
						mu.Lock()
						defer mu.Unlock()
						counted++
					}},
				})
				inf := informers.For[*corev1.ConfigMap](set)
				var delivered []string
				inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
					if ev.New() != nil {
						delivered = append(delivered, ev.Key.Name)
					}
				}, informers.HandlerOptions{})
				run(t, set)
				require.NoError(t, set.WaitForSync(t.Context()))
				time.Sleep(time.Second / 2) // before the collection is read again
				synctest.Wait()
				require.ElementsMatch(t, []string{"a", "c", "f"}, delivered)
				var names []string
				list, err := inf.Lister().List(informers.ListOptions{})
				for _, cm := range list {
					names = append(names, cm.Name)
				}
				var partial *client.PartialError
				require.ErrorAs(t, err, &partial)
				var left []string
				for _, item := range partial.Items {
					left = append(left, item.Key.Name)
				}
				require.Subset(t, left, []string{"b", "d", ""}, "what cannot be read is in the error")
				require.Equal(t, []string{"a", "c", "f"}, names)
				_, err = inf.Lister().Get(key("b"))
				var undecodable *client.DecodeError
				require.ErrorAs(t, err, &undecodable)
				require.Equal(t, key("b"), undecodable.Key)
				require.Equal(t, len(failures), counted)
				require.GreaterOrEqual(t, counted, 5)
				for _, err := range failures {
					require.True(t, errors.As(err, &undecodable), "%T: %v", err, err)
				}
			})
		})
	}
}

// TestAPanickingTransformLeavesOneObjectOut has a transform that panics for one object.
func TestAPanickingTransformLeavesOneObjectOut(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		var failures []error
		set := informers.NewSet(c, informers.SetOptions{OnError: func(_ string, err error) { failures = append(failures, err) }})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}, Transform: func(c *corev1.ConfigMap) error {
			if c.Name == "b" {
				panic("not this one")
			}
			return nil
		}})
		for _, name := range []string{"a", "b", "c"} {
			_, err := client.For[*corev1.ConfigMap](c).Create(t.Context(), cm(name))
			require.NoError(t, err)
		}
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		synctest.Wait()
		require.True(t, must(inf.Lister().Has(key("a"))) && must(inf.Lister().Has(key("c"))))
		_, err := inf.Lister().Get(key("b"))
		require.ErrorAs(t, err, new(*client.DecodeError), "it exists, and cannot be read")
		require.Len(t, failures, 1)
		var p *informers.PanicError
		require.ErrorAs(t, failures[0], &p)
	})
}

// held lets watches of config maps write until the mark that ends their initial events, and withholds that
// until release is closed.
type held struct {
	http.Handler
	mu      sync.Mutex
	asked   []string // requests for config maps: method and query
	reached chan struct{}
	release chan struct{}
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/configmaps") && r.Method == http.MethodGet {
		h.mu.Lock()
		h.asked = append(h.asked, r.URL.RawQuery)
		h.mu.Unlock()
		w = &heldWriter{ResponseWriter: w, held: h}
	}
	h.Handler.ServeHTTP(w, r)
}

type heldWriter struct {
	http.ResponseWriter
	held *held
	gone bool
}

func (w *heldWriter) Write(b []byte) (int, error) {
	if !w.gone && bytes.Contains(b, []byte(metav1.InitialEventsAnnotationKey)) {
		w.gone = true
		w.Flush()
		close(w.held.reached)
		<-w.held.release
	}
	return w.ResponseWriter.Write(b)
}

func (w *heldWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// An informer of very many objects reads them all from one stream, and has not synced before the bookmark
// that ends them.
func TestOneStreamBringsAll(t *testing.T) {
	many := 20_000
	if testing.Short() {
		many = 2_000
	}
	synctest.Test(t, func(t *testing.T) {
		h := &held{reached: make(chan struct{}), release: make(chan struct{})}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(next http.Handler) http.Handler { h.Handler = next; return h }})
		c := s.Conn(t, rest.Options{})
		cms := client.For[*corev1.ConfigMap](c)
		for i := range many {
			_, err := cms.Create(t.Context(), cm(fmt.Sprintf("c%05d", i)))
			require.NoError(t, err)
		}
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For[*corev1.ConfigMap](set)
		run(t, set)
		<-h.reached
		time.Sleep(time.Second)
		require.False(t, inf.HasSynced())
		close(h.release)
		require.NoError(t, inf.WaitForSync(t.Context()))
		require.True(t, inf.HasSynced())
		// The namespace may contain other config maps.
		require.GreaterOrEqual(t, inf.Status().Objects, many)
		last, err := inf.Lister().Get(key(fmt.Sprintf("c%05d", many-1)))
		require.NoError(t, err)
		require.NotEmpty(t, last.ResourceVersion)
		time.Sleep(time.Minute)
		h.mu.Lock()
		defer h.mu.Unlock()
		require.Len(t, h.asked, 1, "one request")
		query, err := url.ParseQuery(h.asked[0])
		require.NoError(t, err)
		for name, value := range map[string]string{"watch": "true", "sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"} {
			require.Contains(t, []string{value, "1"}, query.Get(name), name)
		}
	})
}

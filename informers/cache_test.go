package informers_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// TestACacheIsAFullCacheFiltered compares the informers of sets with random Caches with the naive model:
// every object on the server, filtered. The writes come through the sets and from elsewhere; those of a set
// are visible in it at once. Handlers receive each object of their cache once.
func TestACacheIsAFullCacheFiltered(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { filteredCaches(t, seeds.Stream(seed, 11)) })
		})
		if !ok {
			return
		}
	}
}

// filtered is a set with a Cache, the filter that the Cache stands for, and what a handler was called with.
type filtered struct {
	set      *informers.Set
	informer *informers.Informer[*corev1.ConfigMap]
	keeps    func(*corev1.ConfigMap) bool
	slim     bool
	known    map[types.NamespacedName]string
	broken   string
}

var cacheNamespaces = []string{"default", "kube-public", "kube-system"}

func newFiltered(rng *rand.Rand, conn client.Conn) *filtered {
	f := &filtered{known: map[types.NamespacedName]string{}, slim: rng.IntN(2) == 0}
	var o informers.Options[*corev1.ConfigMap]
	for range rng.IntN(4) { // the same one twice is one
		o.Namespaces = append(o.Namespaces, cacheNamespaces[rng.IntN(3)])
	}
	if rng.IntN(5) == 0 {
		o.Namespaces = append(o.Namespaces, metav1.NamespaceAll)
	}
	switch rng.IntN(3) {
	case 0:
		o.LabelSelector = labels.MustParse([]string{"l=0", "l!=0", "l in (0,1)", "!l"}[rng.IntN(4)])
	case 1:
		o.FieldSelector = fields.OneEqual("metadata.name", "o1")
	}
	namespaces := o.Namespaces
	f.keeps = func(c *corev1.ConfigMap) bool {
		all := len(namespaces) == 0 || slices.Contains(namespaces, "")
		return (all || slices.Contains(namespaces, c.Namespace)) && o.LabelSelector.Matches(c.Labels) && (o.FieldSelector.Empty() || c.Name == "o1")
	}
	cache := informers.Cache{Namespaces: o.Namespaces}
	if rng.IntN(2) == 0 { // as the default, or as the entry of the type
		cache.LabelSelector, cache.FieldSelector = o.LabelSelector, o.FieldSelector
		if f.slim {
			cache.Transform = func(obj metav1.Object) error { obj.(*corev1.ConfigMap).Data = nil; return nil }
		}
	} else {
		cache.LabelSelector = labels.MustParse("nothing=has-this")
		if f.slim {
			o.Transform = func(c *corev1.ConfigMap) error { c.Data = nil; return nil }
		}
		if rng.IntN(2) == 0 {
			o.Namespaces = nil // those of the cache
		}
		cache.Types = []informers.TypeCache{informers.CacheOf(o)}
	}
	f.set = informers.NewSet(conn, informers.SetOptions{Cache: cache})
	f.informer = informers.For[*corev1.ConfigMap](f.set)
	f.informer.AddHandler(f.handle, informers.HandlerOptions{})
	return f
}

func (f *filtered) handle(ev informers.Event[*corev1.ConfigMap]) {
	_, known := f.known[ev.Key]
	if known != (ev.Type != informers.Added) {
		f.broken = fmt.Sprint(ev.Type, " ", ev.Key, ", known before: ", known)
	}
	f.known[ev.Key] = ev.ResourceVersion
	if ev.Type == informers.Deleted {
		delete(f.known, ev.Key)
	}
}

func filteredCaches(t *testing.T, rng *rand.Rand) {
	s := clienttest.Start(t, clienttest.Options{})
	conn := s.Conn(t, rest.Options{})
	caches := make([]*filtered, 4)
	for i := range caches {
		caches[i] = newFiltered(rng, conn)
	}
	for i, f := range caches {
		if i%2 == 0 {
			run(t, f.set)
			require.NoError(t, f.set.WaitForSync(t.Context()))
		}
	}
	live := client.For[*corev1.ConfigMap](conn)
	for step := range 60 {
		if step == 20 {
			for i, f := range caches {
				if i%2 == 1 {
					run(t, f.set)
					require.NoError(t, f.set.WaitForSync(t.Context()))
				}
			}
		}
		f := caches[rng.IntN(len(caches))]
		cms, own := live, false
		if rng.IntN(2) == 0 {
			cms, own = client.For[*corev1.ConfigMap](f.set.Conn()), f.informer.HasSynced()
		}
		k := types.NamespacedName{Namespace: cacheNamespaces[rng.IntN(3)], Name: fmt.Sprint("o", rng.IntN(3))}
		if randomWrite(t, rng, cms, k) && own {
			f.check(t, live, k)
		}
		if rng.IntN(4) == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	all, err := live.List(t.Context(), client.ListOptions{})
	require.NoError(t, err)
	for _, f := range caches {
		f.compare(t, all.Items)
	}
}

// randomWrite creates, changes or deletes an object. It reports whether there was something to write.
func randomWrite(t *testing.T, rng *rand.Rand, cms *client.Client[*corev1.ConfigMap], k types.NamespacedName) bool {
	set := func(c *corev1.ConfigMap) error {
		c.Data = map[string]string{"v": fmt.Sprint(rng.Int())}
		c.Labels = nil
		if n := rng.IntN(4); n < 3 {
			c.Labels = map[string]string{"l": fmt.Sprint(n)}
		}
		return nil
	}
	if rng.IntN(4) == 0 {
		err := cms.Delete(t.Context(), k)
		require.NoError(t, apierrors.IgnoreNotFound(err))
		return err == nil
	}
	obj := &corev1.ConfigMap{}
	obj.Namespace, obj.Name = k.Namespace, k.Name
	_, _, err := client.CreateOrUpdate(t.Context(), cms, obj, set)
	require.NoError(t, err)
	return true
}

// check compares what a reader sees of one object with the server.
func (f *filtered) check(t *testing.T, live *client.Client[*corev1.ConfigMap], k types.NamespacedName) {
	t.Helper()
	want, err := live.Get(t.Context(), k)
	require.NoError(t, apierrors.IgnoreNotFound(err))
	got, readErr := f.informer.Lister().Get(k)
	if err != nil || !f.keeps(want) {
		require.Error(t, readErr, "%s: server %v %v, selector %v/%v, got %+v", k, err, want, f.set.Status()[0].LabelSelector, f.set.Status()[0].FieldSelector, got)
		return
	}
	require.NoError(t, readErr, "%s", k)
	require.Equal(t, want.ResourceVersion, got.ResourceVersion)
}

// compare compares everything.
func (f *filtered) compare(t *testing.T, all []*corev1.ConfigMap) {
	t.Helper()
	want := map[types.NamespacedName]string{}
	for _, c := range all {
		if f.keeps(c) {
			want[c.Key()] = c.ResourceVersion
		}
	}
	got := map[types.NamespacedName]string{}
	for _, c := range must(f.informer.Lister().List(informers.ListOptions{})) {
		require.NotContains(t, got, c.Key())
		got[c.Key()] = c.ResourceVersion
		require.Equal(t, f.slim, c.Data == nil)
	}
	require.Equal(t, want, got)
	require.Empty(t, f.broken)
	require.Equal(t, want, f.known, "what the handler knows")
	require.Equal(t, len(want), f.set.Status()[0].Objects)
}

// requested records the paths of lists and watches of ConfigMaps, Namespaces and Secrets.
type requested struct {
	http.Handler
	mu    sync.Mutex
	paths []string
}

func (r *requested) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.URL.Query().Has("watch") {
		r.mu.Lock()
		r.paths = append(r.paths, req.URL.Path)
		r.mu.Unlock()
	}
	r.Handler.ServeHTTP(w, req)
}

func (r *requested) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.paths))
}

// TestOneInformerForATypeAndAPolicy: all users of a type share its informer, which makes one request per
// namespace and starts and stops with them. Resources without namespaces are watched as a whole.
func TestOneInformerForATypeAndAPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &requested{}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { r.Handler = h; return r }})
		conn := s.Conn(t, rest.Options{})
		set := informers.NewSet(conn, informers.SetOptions{Cache: informers.Cache{
			Namespaces: []string{"kube-public", "default", "default"},
			Transform:  func(obj metav1.Object) error { obj.SetAnnotations(nil); return nil },
			Types: []informers.TypeCache{
				informers.CacheOf(informers.Options[*corev1.Secret]{LabelSelector: labels.MustParse("a=b"), Namespaces: []string{""}}),
			},
		}})
		run(t, set)
		require.Empty(t, r.all(), "no informer runs before its first use")
		a, b := informers.For[*corev1.ConfigMap](set), informers.For[*corev1.ConfigMap](set)
		require.Same(t, a, b)
		require.NotSame(t, a, informers.For(set, informers.Options[*corev1.ConfigMap]{LabelSelector: labels.MustParse("x=y")}))
		secrets, namespaces := informers.For[*corev1.Secret](set), informers.For[*corev1.Namespace](set)
		secretResource := dynamic.Resource(conn, corev1.GroupVersion.WithResource("secrets"))
		secretResource.Metadata = true
		metadata := informers.ForResource[*metav1.PartialObjectMetadata](set, secretResource)
		require.NoError(t, set.WaitForSync(t.Context()))
		require.Equal(t, []string{
			"/api/v1/namespaces", "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/configmaps",
			"/api/v1/namespaces/kube-public/configmaps", "/api/v1/namespaces/kube-public/configmaps", "/api/v1/secrets", "/api/v1/secrets",
		}, r.all())
		require.Equal(t, "a=b", set.Status()[4].LabelSelector)
		require.Equal(t, "*metav1.PartialObjectMetadata", set.Status()[4].Type)
		require.NotNil(t, metadata)

		_, err := client.For[*corev1.Namespace](set.Conn()).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "else"}})
		require.NoError(t, err)
		require.True(t, must(namespaces.Lister().Has(types.NamespacedName{Name: "else"})))
		_, err = secrets.Lister().Get(types.NamespacedName{Namespace: "kube-system", Name: "x"})
		require.True(t, apierrors.IsNotFound(err))
		unheld := types.NamespacedName{Namespace: "kube-system", Name: "x"}
		_, err = a.Lister().Get(unheld)
		var notHeld *informers.NotHeldError
		require.ErrorAs(t, err, &notHeld)
		require.False(t, apierrors.IsNotFound(err))
		require.EqualError(t, err, `informers: the cache of configmaps does not hold namespace "kube-system", only ["default" "kube-public"]: add it to Cache.Namespaces or Options.Namespaces`)
		_, err = a.Lister().List(informers.ListOptions{Namespace: "kube-system"})
		require.ErrorAs(t, err, &notHeld)
		_, err = must(a.Lister().Snapshot()).Get(unheld)
		require.ErrorAs(t, err, &notHeld)

		require.Equal(t, 2, set.Status()[0].Users)
		a.Release()
		require.Len(t, set.Status(), 5)
		b.Release()
		require.Len(t, set.Status(), 4)
		again := informers.For[*corev1.ConfigMap](set)
		require.NotSame(t, a, again)
		require.NoError(t, again.WaitForSync(t.Context()))
		require.Equal(t, 3, strings.Count(fmt.Sprint(r.all()), "kube-public/configmaps"))
	})
}

// A Cache that cannot be what was meant is an error of every wait.
func TestCachesThatAreMistakes(t *testing.T) {
	type website struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		two := informers.CacheOf(informers.Options[*corev1.Secret]{})
		for want, types := range map[string][]informers.TypeCache{
			"Cache.Types has two entries for secrets": {two, two},
			"an entry of Cache.Types is empty":        {{}},
			"is not registered":                       {informers.CacheOf(informers.Options[*website]{})},
		} {
			set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{Cache: informers.Cache{Types: types}})
			inf := informers.For[*corev1.ConfigMap](set)
			run(t, set)
			require.ErrorContains(t, set.WaitForSync(t.Context()), want)
			_, err := inf.Lister().Get(key("a"))
			require.ErrorContains(t, err, want)
		}
	})
}

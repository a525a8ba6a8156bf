package informers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// TestAnIndexFindsWhatAFieldSelectorDoes compares an index of Pods by node with what the server selects by
// spec.nodeName.
func TestAnIndexFindsWhatAFieldSelectorDoes(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		pods := client.For[*corev1.Pod](c)
		for i := range 30 {
			p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i*i%7), Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
			p.Namespace, p.Name = []string{"default", "kube-system"}[i%2], fmt.Sprint("p", i)
			_, err := pods.Create(t.Context(), p)
			require.NoError(t, err)
		}
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For[*corev1.Pod](set)
		nodes := func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }
		definition := informers.DefineIndex("node", nodes)
		byNode := inf.Index(definition)
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		late := inf.Index(informers.DefineIndex("late", nodes))
		require.Equal(t, byNode, inf.Index(definition), "a definition is one index")
		values := must(byNode.Values())
		require.Equal(t, []string{"node-0", "node-1", "node-2", "node-4"}, values)
		for _, node := range values {
			selected, err := pods.List(t.Context(), client.ListOptions{FieldSelector: fields.OneEqual("spec.nodeName", node)})
			require.NoError(t, err)
			var want []types.NamespacedName
			for _, p := range selected.Items {
				want = append(want, metav1.KeyOf(p))
			}
			require.Equal(t, want, must(byNode.Keys(node)))
			require.Equal(t, want, must(late.Keys(node)))
			for i, p := range must(byNode.List(node)) {
				require.Equal(t, want[i], metav1.KeyOf(p))
			}
		}
		require.Empty(t, must(byNode.Keys("node-3")))
	})
}

// blind makes watches impossible while it is on: those that are open end, and the versions they had are
// expired.
type blind struct {
	http.Handler
	on atomic.Bool
}

func (b *blind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.on.Load() && r.URL.Query().Has("watch") {
		http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`, http.StatusGone)
		return
	}
	b.Handler.ServeHTTP(w, r)
}

// TestAMissedDeletionIsReportedOnce deletes one object, and another one that is then created again, while no
// watch is open.
func TestAMissedDeletionIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blind{}
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler { b.Handler = h; return b }})
		set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{NoWatchList: true, Silence: time.Minute})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		cms := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
		for _, name := range []string{"stays", "goes", "returns", "seen"} {
			_, err := cms.Create(t.Context(), cm(name, "k", "1"))
			require.NoError(t, err)
		}
		var delivered []string
		inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			if !ev.Initial {
				delivered = append(delivered, fmt.Sprint(ev.Type, " ", ev.Key.Name, " ", ev.Object().Data["k"], " ", ev.StateUnknown))
			}
		}, informers.HandlerOptions{})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		synctest.Wait() // an object deleted before the handler has received it is not delivered at all
		require.NoError(t, cms.Delete(t.Context(), key("seen")))
		synctest.Wait()
		require.Equal(t, []string{"Deleted seen 1 false"}, delivered)
		delivered = nil

		b.on.Store(true)
		time.Sleep(15 * time.Minute) // every watch has ended by now
		_, err := client.Update(t.Context(), cms, key("goes"), func(c *corev1.ConfigMap) error { c.Data["k"] = "2"; return nil })
		require.NoError(t, err)
		require.NoError(t, cms.Delete(t.Context(), key("goes")))
		require.NoError(t, cms.Delete(t.Context(), key("returns")))
		_, err = cms.Create(t.Context(), cm("returns", "k", "2"))
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		b.on.Store(false)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		// The order of different objects is not promised when a collection was read again.
		slices.Sort(delivered)
		unknown := slices.IndexFunc(delivered, func(s string) bool { return s[:7] == "Deleted" && s[8:12] == "goes" })
		require.GreaterOrEqual(t, unknown, 0)
		require.Equal(t, "true", delivered[unknown][len(delivered[unknown])-4:])
		require.Len(t, delivered, 3, "%v", delivered)
		require.Equal(t, []string{"Added returns 2 false", "Deleted returns 1 true"}, slices.Delete(slices.Clone(delivered), unknown, unknown+1))
	})
}

// TestAtLeastOfManyNamespaces: in all namespaces but one nothing happens, and no bookmark comes either. They
// are read again side by side.
func TestAtLeastOfManyNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{BookmarkInterval: time.Hour}})
		c := s.Conn(t, rest.Options{})
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("ns-", i))
			_, err := client.For[*corev1.Namespace](c).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names[i]}})
			require.NoError(t, err)
		}
		set := informers.NewSet(c, informers.SetOptions{Silence: -1})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: names})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		made, err := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{})).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns-7", Name: "m"}})
		require.NoError(t, err)
		start := time.Now()
		require.NoError(t, inf.Lister().AtLeast(t.Context(), made.ResourceVersion))
		require.Less(t, time.Since(start), 3*time.Second)
		require.True(t, must(inf.Lister().Has(made.Key())))
	})
}

// TestASnapshotIsOneMoment takes snapshots while a writer changes two objects in turn: in each the two agree
// as they did at one moment, nothing is newer than the snapshot's version, and nothing changes afterwards.
func TestASnapshotIsOneMoment(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		cms := client.For[*corev1.ConfigMap](c)
		for _, name := range []string{"first", "second"} {
			_, err := cms.Create(t.Context(), cm(name, "n", "0"))
			require.NoError(t, err)
		}
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		var wg sync.WaitGroup
		var over atomic.Bool
		wg.Go(func() {
			defer over.Store(true)
			for n := range 300 {
				for _, name := range []string{"first", "second"} {
					_, err := client.Update(t.Context(), cms, key(name), func(c *corev1.ConfigMap) error { c.Data["n"] = strconv.Itoa(n + 1); return nil })
					if err != nil {
						t.Error(err)
						return
					}
				}
				time.Sleep(time.Millisecond)
			}
		})
		seen := map[string]bool{}
		var kept []*informers.Snapshot[*corev1.ConfigMap]
		var was []string
		content := func(s *informers.Snapshot[*corev1.ConfigMap]) string {
			version := numbers(t, []string{s.Version})[0]
			counts := map[string]int{}
			s.View(func(c *corev1.ConfigMap) bool {
				require.LessOrEqual(t, numbers(t, []string{c.ResourceVersion})[0], version)
				if text, ok := c.Data["n"]; ok {
					counts[c.Name] = numbers(t, []string{text})[0]
				}
				return true
			})
			ahead := counts["first"] - counts["second"]
			require.True(t, ahead == 0 || ahead == 1, "%v", counts)
			return fmt.Sprint(s.Version, counts)
		}
		for !over.Load() {
			s := must(inf.Lister().Snapshot())
			text := content(s)
			seen[text] = true
			if len(seen)%20 == 1 {
				kept, was = append(kept, s), append(was, text)
			}
			time.Sleep(300 * time.Microsecond)
		}
		wg.Wait()
		require.Greater(t, len(seen), 50)
		for i, s := range kept {
			require.Equal(t, was[i], content(s))
		}
	})
}

package informers_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// blocked adds a handler that a first object occupies until the returned function is called, which returns
// the events that the handler was called with afterwards.
func blocked(t *testing.T, set *informers.Set, cms *client.Client[*corev1.ConfigMap]) (release func() []string) {
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(open)
	var events []string
	informers.For[*corev1.ConfigMap](set).AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
		<-gate
		if ev.Key.Name != "first" {
			events = append(events, fmt.Sprint(ev.Type, " ", ev.Key.Name, " ", ev.Object().Data["v"]))
		}
	}, informers.HandlerOptions{})
	run(t, set)
	require.NoError(t, set.WaitForSync(t.Context()))
	_, err := cms.Create(t.Context(), cm("first"))
	require.NoError(t, err)
	synctest.Wait()
	return func() []string {
		open()
		synctest.Wait()
		return events
	}
}

// TestAHandlerSeesWhatReadersHaveSeen has objects come, change and go while a handler is blocked. What a
// reader has got in between decides what the handler is called with.
func TestAHandlerSeesWhatReadersHaveSeen(t *testing.T) {
	byV := informers.DefineIndex("v", func(cm *corev1.ConfigMap) []string { return []string{cm.Data["v"]} })
	type reads func(t *testing.T, inf *informers.Informer[*corev1.ConfigMap])
	all := []string{"Added x 1", "Updated x 2", "Deleted x 2"}
	for name, c := range map[string]struct {
		first, second reads
		want          []string
	}{
		"nothing":     {},
		"each state":  {first: get, second: get, want: all},
		"the first":   {first: get, want: []string{"Added x 1", "Deleted x 2"}},
		"the last":    {second: get, want: []string{"Added x 2", "Deleted x 2"}},
		"a list":      {first: list, want: []string{"Added x 1", "Deleted x 2"}},
		"a snapshot":  {second: snapshot, want: []string{"Added x 2", "Deleted x 2"}},
		"the key":     {second: has, want: []string{"Added x 2", "Deleted x 2"}},
		"an index":    {second: func(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) { lookUp(t, inf.Index(byV), "2", 1) }, want: []string{"Added x 2", "Deleted x 2"}},
		"other value": {second: func(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) { lookUp(t, inf.Index(byV), "1", 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
				inf, cms := informers.For[*corev1.ConfigMap](set), client.For[*corev1.ConfigMap](other)
				inf.Index(byV)
				release := blocked(t, set, cms)
				read := func(f reads) {
					synctest.Wait()
					if f != nil {
						f(t, inf)
					}
				}
				made, err := cms.Create(t.Context(), cm("x", "v", "1"))
				require.NoError(t, err)
				read(c.first)
				made.Data["v"] = "2"
				_, err = cms.Update(t.Context(), made)
				require.NoError(t, err)
				read(c.second)
				require.NoError(t, cms.Delete(t.Context(), key("x")))
				synctest.Wait()
				require.Equal(t, c.want, release())
			})
		})
	}
}

func get(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) {
	_, err := inf.Lister().Get(key("x"))
	require.NoError(t, err)
}

func has(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) {
	require.True(t, must(inf.Lister().Has(key("x"))))
}

func list(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) {
	require.Len(t, must(inf.Lister().List(informers.ListOptions{})), 2)
}

func snapshot(t *testing.T, inf *informers.Informer[*corev1.ConfigMap]) {
	require.Equal(t, 2, must(inf.Lister().Snapshot()).Len())
}

func lookUp(t *testing.T, x informers.Index[*corev1.ConfigMap], value string, n int) {
	require.Len(t, must(x.Keys(value)), n)
}

// TestAHandlerSeesOwnWrites has the program itself create an object and delete it while a handler is blocked:
// whatever has created it waits for its events, also without having read it.
func TestAHandlerSeesOwnWrites(t *testing.T) {
	bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		release := blocked(t, set, client.For[*corev1.ConfigMap](other))
		cms := client.For[*corev1.ConfigMap](set.Conn())
		_, err := cms.Create(t.Context(), cm("x", "v", "1"))
		require.NoError(t, err)
		require.NoError(t, cms.Delete(t.Context(), key("x")))
		synctest.Wait()
		require.Equal(t, []string{"Added x 1", "Deleted x 1"}, release())
	})
}

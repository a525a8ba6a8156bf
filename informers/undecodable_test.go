package informers_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// websites is a set over a server with the resource Website, and a client that writes Websites of any shape.
func websites(t *testing.T, opts informers.SetOptions) (*informers.Set, *client.Client[*metav1.Unstructured]) {
	sch, err := apiserver.BuiltinScheme()
	require.NoError(t, err)
	mine := sch.Clone()
	require.NoError(t, scheme.Add[*Website](mine, example, scheme.Kind{Resource: "websites", Namespaced: true}))
	s := clienttest.Start(t, clienttest.Options{Scheme: mine})
	c := s.Conn(t, rest.Options{})
	_, err = client.For[*apiextensionsv1.CustomResourceDefinition](c).Create(t.Context(), websiteCRD())
	require.NoError(t, err)
	time.Sleep(10 * time.Second)
	r := client.Resource{GVR: example.WithResource("websites"), GVK: example.WithKind("Website"), Namespaced: true}
	return informers.NewSet(c, opts), client.ForResource[*metav1.Unstructured](s.Conn(t, rest.Options{}), r)
}

// put writes a Website whose host is any value.
func put(t *testing.T, c *client.Client[*metav1.Unstructured], name string, host any) {
	old, err := c.Get(t.Context(), key(name))
	if apierrors.IsNotFound(err) {
		u := &metav1.Unstructured{Fields: map[string]any{"spec": map[string]any{"host": host}}}
		u.Namespace, u.Name = "default", name
		_, err = c.Create(t.Context(), u)
		require.NoError(t, err)
		return
	}
	require.NoError(t, err)
	old.Fields["spec"] = map[string]any{"host": host}
	_, err = c.Update(t.Context(), old)
	require.NoError(t, err)
}

// TestNoHandlerGetsWhatCannotBeDecoded has objects go through states whose spec is not that of the Go type: 7
// for a text.
func TestNoHandlerGetsWhatCannotBeDecoded(t *testing.T) {
	slim := informers.Options[*Website]{Share: "slim", Transform: func(w *Website) error {
		if w.Spec.Host == "refused" {
			return errors.New("refused")
		}
		return nil
	}}
	for name, c := range map[string]struct {
		set informers.SetOptions
		o   informers.Options[*Website]
		bad any
	}{
		"encoded":     {bad: int64(7)},
		"decoded":     {set: informers.SetOptions{Decoded: true}, bad: int64(7)},
		"transform":   {o: slim, bad: "refused"},
		"transformed": {o: slim, bad: int64(7)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex // guards reports and told
				reports := 0
				c.set.OnError = func(string, error) {
					mu.Lock()
					defer mu.Unlock()
					reports++
				}
				set, api := websites(t, c.set)
				put(t, api, "always-good", "h")
				put(t, api, "never-good", c.bad)
				inf := informers.For(set, c.o)
				byHost := inf.Index(informers.DefineIndex("host", func(w *Website) []string { return []string{w.Spec.Host} }))
				var told []string
				handler := func(ev informers.Event[*Website]) {
					text := fmt.Sprint(ev.Type, " ", ev.Key.Name)
					switch ev.Type {
					case informers.Added:
						text += fmt.Sprint(" ", ev.New().Spec.Host, " ", ev.Initial)
					case informers.Updated:
						text += fmt.Sprint(" ", ev.Old().Spec.Host, " ", ev.New().Spec.Host)
					case informers.Deleted:
						text += fmt.Sprint(" ", ev.Old().Spec.Host, " ", ev.StateUnknown)
					}
					require.NotNil(t, ev.Object())
					mu.Lock()
					defer mu.Unlock()
					told = append(told, text)
				}
				inf.AddHandler(handler, informers.HandlerOptions{Resync: time.Hour})
				run(t, set)
				require.NoError(t, set.WaitForSync(t.Context()))
				step := func(want ...string) {
					time.Sleep(time.Second)
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					require.Equal(t, want, told)
					told = nil
				}
				step("Added always-good h true")
				require.Equal(t, 1, reports, "once, whoever meets it")
				l := inf.Lister()
				partly := func(err error, names ...string) {
					var partial *client.PartialError
					require.ErrorAs(t, err, &partial)
					var got []string
					for _, item := range partial.Items {
						got = append(got, item.Key.Name)
					}
					require.Equal(t, names, got)
				}
				all, err := l.List(informers.ListOptions{})
				require.Len(t, all, 1, "the others are there")
				partly(err, "never-good")
				seen := 0
				partly(l.ViewAll(informers.ListOptions{}, func(*Website) bool { seen++; return true }), "never-good")
				require.Equal(t, 1, seen)
				_, err = l.Get(key("never-good"))
				require.ErrorAs(t, err, new(*client.DecodeError))
				require.False(t, apierrors.IsNotFound(err))
				require.ErrorAs(t, l.View(key("never-good"), func(*Website) { t.Error("viewed") }), new(*client.DecodeError))
				require.True(t, must(l.Has(key("never-good"))))
				require.Equal(t, []types.NamespacedName{key("always-good"), key("never-good")}, must(l.Keys(informers.ListOptions{})))
				for _, host := range []string{"h", "none"} {
					_, err := byHost.List(host)
					partly(err, "never-good")
				}
				_, err = must(l.Snapshot()).Get(key("never-good"))
				require.ErrorAs(t, err, new(*client.DecodeError))

				put(t, api, "a", "1")
				step("Added a 1 false")
				put(t, api, "a", c.bad)
				step()
				_, err = l.Get(key("a"))
				require.ErrorAs(t, err, new(*client.DecodeError), "not the state before")
				put(t, api, "a", "2")
				step("Updated a 1 2")
				put(t, api, "a", c.bad)
				require.NoError(t, api.Delete(t.Context(), key("a")))
				step("Deleted a 2 true")
				require.NoError(t, api.Delete(t.Context(), key("never-good")))
				step()
				require.NoError(t, l.ViewAll(informers.ListOptions{}, func(*Website) bool { return true }))
				require.Len(t, must(byHost.List("h")), 1)

				put(t, api, "b", c.bad)
				step()
				reports = 0
				inf.AddHandler(handler, informers.HandlerOptions{})
				step("Added always-good h true")
				require.Zero(t, reports)
				put(t, api, "b", "1")
				step("Added b 1 false", "Added b 1 false")
				require.NoError(t, api.Delete(t.Context(), key("b")))
				put(t, api, "b", c.bad)
				step("Deleted b 1 false", "Deleted b 1 false")
			})
		})
	}
}

// TestAListerThatHasNotSyncedSaysSo: "not read yet" is never taken for "there is none".
func TestAListerThatHasNotSyncedSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, api := websites(t, informers.SetOptions{})
		put(t, api, "a", "h")
		inf := informers.For[*Website](set)
		l, byHost := inf.Lister(), inf.Index(informers.DefineIndex("host", func(w *Website) []string { return []string{w.Spec.Host} }))
		readings := func() []error {
			_, get := l.Get(key("a"))
			_, has := l.Has(key("a"))
			_, list := l.List(informers.ListOptions{})
			_, keys := l.Keys(informers.ListOptions{})
			_, snapshot := l.Snapshot()
			_, found := byHost.List("h")
			_, filed := byHost.Keys("h")
			_, values := byHost.Values()
			return []error{
				get, has, list, keys, snapshot, found, filed, values, l.View(key("a"), func(*Website) {}),
				l.ViewAll(informers.ListOptions{}, func(*Website) bool { return true }), byHost.View("h", func(*Website) bool { return true }),
			}
		}
		for _, err := range readings() {
			var unsynced *informers.NotSyncedError
			require.ErrorAs(t, err, &unsynced)
			require.Equal(t, "websites.example.com", unsynced.Resource)
			require.False(t, apierrors.IsNotFound(err))
		}
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		for _, err := range readings() {
			require.NoError(t, err)
		}
	})
}

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

// undecodable is an informer of Websites with a handler that records its calls. Of two objects the handler
// has been called with always-good; the state of never-good is bad.
type undecodable struct {
	t      *testing.T
	bad    any // a host with which a Website cannot be decoded
	api    *client.Client[*metav1.Unstructured]
	inf    *informers.Informer[*Website]
	byHost informers.Index[*Website]

	mu        sync.Mutex // guards the rest
	reports   int
	delivered []string
}

// startUndecodable starts the informer, in a bubble.
func startUndecodable(t *testing.T, bad any, o informers.SetOptions, opts informers.Options[*Website]) *undecodable {
	u := &undecodable{t: t, bad: bad}
	o.OnError = func(string, error) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.reports++
	}
	set, api := websites(t, o)
	u.api = api
	u.put("always-good", "h")
	u.put("never-good", bad)
	u.inf = informers.For(set, opts)
	u.byHost = u.inf.Index(informers.DefineIndex("host", func(w *Website) []string { return []string{w.Spec.Host} }))
	u.inf.AddHandler(u.handle, informers.HandlerOptions{Resync: time.Hour})
	run(t, set)
	require.NoError(t, set.WaitForSync(t.Context()))
	u.handled("Added always-good h true")
	return u
}

func (u *undecodable) put(name string, host any) { put(u.t, u.api, name, host) }

func (u *undecodable) delete(name string) {
	require.NoError(u.t, u.api.Delete(u.t.Context(), key(name)))
}

func (u *undecodable) handle(ev informers.Event[*Website]) {
	text := fmt.Sprint(ev.Type, " ", ev.Key.Name)
	switch ev.Type {
	case informers.Added:
		text += fmt.Sprint(" ", ev.New().Spec.Host, " ", ev.Initial)
	case informers.Updated:
		text += fmt.Sprint(" ", ev.Old().Spec.Host, " ", ev.New().Spec.Host)
	case informers.Deleted:
		text += fmt.Sprint(" ", ev.Old().Spec.Host, " ", ev.StateUnknown)
	}
	require.NotNil(u.t, ev.Object())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.delivered = append(u.delivered, text)
}

// handled checks the events since the last call.
func (u *undecodable) handled(want ...string) {
	time.Sleep(time.Second)
	synctest.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	require.Equal(u.t, want, u.delivered)
	u.delivered = nil
}

// lacksNeverGood checks that a read has omitted never-good and nothing else.
func (u *undecodable) lacksNeverGood(err error) {
	var partial *client.PartialError
	require.ErrorAs(u.t, err, &partial)
	require.Len(u.t, partial.Items, 1)
	require.Equal(u.t, "never-good", partial.Items[0].Key.Name)
}

// TestUndecodableStates has objects in states that do not decode into the Go type: 7 in place of a string.
func TestUndecodableStates(t *testing.T) {
	inUndecodable(t, "every read reports them", (*undecodable).readsReport)
	inUndecodable(t, "no handler gets them", (*undecodable).handlerSkips)
	inUndecodable(t, "a deletion has the last good one", (*undecodable).deletionHasGood)
	inUndecodable(t, "a late handler does not get them", (*undecodable).lateHandlerSkips)
	inUndecodable(t, "without them no read has an error", (*undecodable).readsRecover)
}

// inUndecodable runs a subtest in bubbles, for each way in which a state can be undecodable.
func inUndecodable(t *testing.T, name string, test func(u *undecodable)) {
	slim := informers.Options[*Website]{Share: "slim", Transform: func(w *Website) error {
		if w.Spec.Host == "refused" {
			return errors.New("refused")
		}
		return nil
	}}
	for way, c := range map[string]struct {
		set informers.SetOptions
		o   informers.Options[*Website]
		bad any
	}{
		"encoded":     {bad: int64(7)},
		"decoded":     {set: informers.SetOptions{Decoded: true}, bad: int64(7)},
		"transform":   {o: slim, bad: "refused"},
		"transformed": {o: slim, bad: int64(7)},
	} {
		t.Run(name+"/"+way, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(startUndecodable(t, c.bad, c.set, c.o)) })
		})
	}
}

func (u *undecodable) readsReport() {
	t, l := u.t, u.inf.Lister()
	require.Equal(t, 1, u.reports, "once, whichever read finds it")
	all, err := l.List(informers.ListOptions{})
	require.Len(t, all, 1, "the others are there")
	u.lacksNeverGood(err)
	seen := 0
	u.lacksNeverGood(l.ViewAll(informers.ListOptions{}, func(*Website) bool { seen++; return true }))
	require.Equal(t, 1, seen)
	_, err = l.Get(key("never-good"))
	require.ErrorAs(t, err, new(*client.DecodeError))
	require.False(t, apierrors.IsNotFound(err))
	require.ErrorAs(t, l.View(key("never-good"), func(*Website) { t.Error("viewed") }), new(*client.DecodeError))
	require.True(t, must(l.Has(key("never-good"))))
	require.Equal(t, []types.NamespacedName{key("always-good"), key("never-good")}, must(l.Keys(informers.ListOptions{})))
	for _, host := range []string{"h", "none"} {
		_, err := u.byHost.List(host)
		u.lacksNeverGood(err)
	}
	_, err = must(l.Snapshot()).Get(key("never-good"))
	require.ErrorAs(t, err, new(*client.DecodeError))
	require.Equal(t, 1, u.reports)
}

func (u *undecodable) handlerSkips() {
	u.put("a", "1")
	u.handled("Added a 1 false")
	u.put("a", u.bad)
	u.handled()
	_, err := u.inf.Lister().Get(key("a"))
	require.ErrorAs(u.t, err, new(*client.DecodeError), "not the state before")
	u.put("a", "2")
	u.handled("Updated a 1 2")
}

func (u *undecodable) deletionHasGood() {
	u.put("a", "2")
	u.handled("Added a 2 false")
	u.put("a", u.bad)
	u.delete("a")
	u.handled("Deleted a 2 true")
	u.delete("never-good")
	u.handled()
}

func (u *undecodable) lateHandlerSkips() {
	u.put("b", u.bad)
	u.handled()
	u.reports = 0
	u.inf.AddHandler(u.handle, informers.HandlerOptions{})
	u.handled("Added always-good h true")
	require.Zero(u.t, u.reports)
	u.put("b", "1")
	u.handled("Added b 1 false", "Added b 1 false")
	u.delete("b")
	u.put("b", u.bad)
	u.handled("Deleted b 1 false", "Deleted b 1 false")
}

func (u *undecodable) readsRecover() {
	u.delete("never-good")
	u.handled()
	require.NoError(u.t, u.inf.Lister().ViewAll(informers.ListOptions{}, func(*Website) bool { return true }))
	require.Len(u.t, must(u.byHost.List("h")), 1)
}

// TestAListerThatHasNotSyncedReturnsAnError: a collection that has not been read yet is never reported as
// empty.
func TestAListerThatHasNotSyncedReturnsAnError(t *testing.T) {
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

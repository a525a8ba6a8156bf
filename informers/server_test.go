package informers_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/dynamic"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/store/apiserver"
)

func cm(name string, data ...string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{Data: map[string]string{}}
	c.Namespace, c.Name = "default", name
	for i := 0; i+1 < len(data); i += 2 {
		c.Data[data[i]] = data[i+1]
	}
	return c
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// run starts a set in a bubble and ends it with the test.
func run(t *testing.T, set *informers.Set) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = set.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

func bubble(t *testing.T, o informers.SetOptions, f func(t *testing.T, set *informers.Set, other *rest.Conn)) {
	for _, tls := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%v", tls), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.Start(t, clienttest.Options{TLS: tls})
				c := s.Conn(t, rest.Options{})
				o := o
				if o.OnError == nil {
					o.OnError = func(r string, err error) { t.Errorf("%s: %v", r, err) }
				}
				f(t, informers.NewSet(c, o), s.Conn(t, rest.Options{}))
			})
		})
	}
}

func TestReadYourWrites(t *testing.T) {
	bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		ctx := t.Context()
		inf := informers.For[*corev1.ConfigMap](set, informers.Options[*corev1.ConfigMap]{LabelSelector: labels.MustParse("hide!=yes")})
		byV := inf.Index(informers.DefineIndex("v", func(c *corev1.ConfigMap) []string { return []string{c.Data["v"]} }))
		run(t, set)
		require.NoError(t, set.WaitForSync(ctx))
		cms, l := client.For[*corev1.ConfigMap](set.Conn()), inf.Lister()
		for i := range 50 {
			made, err := cms.Create(ctx, cm("a", "v", "1"))
			require.NoError(t, err)
			got, err := l.Get(key("a"))
			require.NoError(t, err, "round %d", i)
			require.Equal(t, made.ResourceVersion, got.ResourceVersion)
			require.Len(t, must(byV.List("1")), 1)
			made.Data["v"] = "2"
			made, err = cms.Update(ctx, made)
			require.NoError(t, err)
			got, err = l.Get(key("a"))
			require.NoError(t, err)
			require.Equal(t, "2", got.Data["v"])
			require.Empty(t, must(byV.List("1")))
			require.Equal(t, []types.NamespacedName{key("a")}, must(byV.Keys("2")))
			made.Labels = map[string]string{"hide": "yes"}
			_, err = cms.Update(ctx, made)
			require.NoError(t, err)
			_, err = l.Get(key("a"))
			require.True(t, apierrors.IsNotFound(err), "left the selector")
			_, err = cms.Patch(ctx, key("a"), client.Patch{Type: types.MergePatchType, Data: []byte(`{"metadata":{"labels":null}}`)})
			require.NoError(t, err)
			require.True(t, must(l.Has(key("a"))), "came back")
			require.NoError(t, cms.Delete(ctx, key("a")))
			require.False(t, must(l.Has(key("a"))))
			require.Empty(t, must(byV.List("2")))
			require.NotContains(t, must(l.Keys(informers.ListOptions{})), key("a"))
			if i%3 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		require.Zero(t, inf.Status().Overlay, "everything was delivered by the watch")
	})
}

func TestAtLeastSeesWritesOfOthers(t *testing.T) {
	bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		ctx := t.Context()
		inf := informers.For[*corev1.ConfigMap](set)
		run(t, set)
		theirs := client.For[*corev1.ConfigMap](other)
		for i := range 20 {
			made, err := theirs.Create(ctx, cm(fmt.Sprintf("x%d", i)))
			require.NoError(t, err)
			require.NoError(t, inf.Lister().AtLeast(ctx, made.ResourceVersion))
			require.True(t, must(inf.Lister().Has(metav1.KeyOf(made))))
		}
		require.NoError(t, inf.Lister().AtLeast(ctx, "not-a-number"))
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		require.ErrorIs(t, inf.Lister().AtLeast(short, "999999999"), context.DeadlineExceeded)
	})
}

// TestCatchUp: a copy that has not reached a version is read once more, and waits for the sync wait for that.
func TestCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{BookmarkInterval: time.Hour}})
		var reads atomic.Int64
		set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{Silence: -1, Metrics: informers.Metrics{Read: func(string, bool, time.Duration) { reads.Add(1) }}})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default", "kube-system"}})
		other := s.Conn(t, rest.Options{})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		synctest.Wait() // a read is counted after it has been taken over
		require.EqualValues(t, 2, reads.Load())
		made, err := client.For[*corev1.Secret](other).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}})
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		require.NotEqual(t, made.ResourceVersion, inf.Lister().Version(), "nothing has said that the copy is so recent")
		set.CatchUp(made.ResourceVersion)
		require.NoError(t, set.Ready(), "there is a copy")
		require.NoError(t, set.WaitForSyncOrAbsent(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 4, reads.Load())
		set.CatchUp(made.ResourceVersion)
		require.NoError(t, inf.WaitForSync(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 4, reads.Load())
		// A version that no copy of the store has yet is a read all the same.
		set.CatchUp("999999999")
		require.NoError(t, inf.WaitForSync(t.Context()))
		synctest.Wait()
		require.EqualValues(t, 6, reads.Load())
	})
}

func TestSharedDynamicMetadataAndTransform(t *testing.T) {
	bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		ctx := t.Context()
		theirs := client.For[*corev1.ConfigMap](other)
		_, err := theirs.Create(ctx, cm("a", "k", "v"))
		require.NoError(t, err)
		require.Same(t, informers.For[*corev1.ConfigMap](set), informers.For[*corev1.ConfigMap](set))
		gvr := corev1.GroupVersion.WithResource("configmaps")
		dyn := informers.ForResource[*metav1.Unstructured](set, dynamic.Resource(other, gvr))
		res := dynamic.Resource(other, gvr)
		res.Metadata = true
		meta := informers.ForResource[*metav1.PartialObjectMetadata](set, res)
		slim := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default", "kube-system"}, Transform: func(c *corev1.ConfigMap) error { c.Data = nil; return nil }})
		run(t, set)
		require.NoError(t, set.WaitForSync(ctx))
		full, err := informers.For[*corev1.ConfigMap](set).Lister().Get(key("a"))
		require.NoError(t, err)
		require.Equal(t, "v", full.Data["k"])
		require.Empty(t, full.ManagedFields)
		u, err := dyn.Lister().Get(key("a"))
		require.NoError(t, err)
		v, _ := u.Nested("data", "k")
		require.Equal(t, "v", v)
		m, err := meta.Lister().Get(key("a"))
		require.NoError(t, err)
		require.Equal(t, full.UID, m.UID)
		s, err := slim.Lister().Get(key("a"))
		require.NoError(t, err)
		require.Nil(t, s.Data)
		// Writes of the typed client are visible in every informer of the resource.
		full.Data["k"] = "w"
		_, err = client.For[*corev1.ConfigMap](set.Conn()).Update(ctx, full)
		require.NoError(t, err)
		u, err = dyn.Lister().Get(key("a"))
		require.NoError(t, err)
		v, _ = u.Nested("data", "k")
		require.Equal(t, "w", v)
		snap := must(informers.For[*corev1.ConfigMap](set).Lister().Snapshot())
		require.Positive(t, snap.Len())
		require.NoError(t, client.For[*corev1.ConfigMap](set.Conn()).Delete(ctx, key("a")))
		_, err = snap.Get(key("a"))
		require.NoError(t, err, "a snapshot does not change")
		require.False(t, must(meta.Lister().Has(key("a"))))
	})
}

func TestLateInformersHandlersAndRelease(t *testing.T) {
	bubble(t, informers.SetOptions{}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		ctx := t.Context()
		run(t, set)
		_, err := client.For[*corev1.ConfigMap](other).Create(ctx, cm("a"))
		require.NoError(t, err)
		for range 20 {
			inf := informers.For[*corev1.ConfigMap](set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
			initial := 0
			reg := inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
				if ev.Initial {
					initial++
				}
			}, informers.HandlerOptions{})
			<-reg.Synced()
			require.Equal(t, 1, initial)
			inf.Release()
			<-reg.Done()
		}
	})
}

func TestUnregisteredType(t *testing.T) {
	type Website struct {
		metav1.TypeMeta
		metav1.ObjectMeta
	}
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		set := informers.NewSet(s.Conn(t, rest.Options{}), informers.SetOptions{})
		inf := informers.For[*Website](set)
		require.ErrorContains(t, inf.WaitForSync(t.Context()), "scheme.Add")
		_, err := inf.Lister().Get(key("a"))
		require.Error(t, err)
	})
}

func TestPanicsAndMutations(t *testing.T) {
	var failures []error
	bubble(t, informers.SetOptions{DetectMutations: true, OnError: func(_ string, err error) { failures = append(failures, err) }}, func(t *testing.T, set *informers.Set, other *rest.Conn) {
		failures = nil
		inf := informers.For[*corev1.ConfigMap](set)
		n := 0
		inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			if n++; n == 1 {
				panic("first")
			}
			if ev.Key.Name == "b" {
				ev.New().Data["spoiled"] = "yes"
			}
		}, informers.HandlerOptions{Name: "h"})
		run(t, set)
		require.NoError(t, set.WaitForSync(t.Context()))
		for _, name := range []string{"a", "b", "c"} {
			_, err := client.For[*corev1.ConfigMap](other).Create(t.Context(), cm(name, "k", "v"))
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.GreaterOrEqual(t, n, 3)
		require.Len(t, failures, 2)
		var p *informers.PanicError
		require.ErrorAs(t, failures[0], &p)
		var m *informers.MutationError
		require.ErrorAs(t, failures[1], &m)
		require.Equal(t, key("b"), m.Key)
		got, err := inf.Lister().Get(key("b"))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "v"}, got.Data)
	})
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

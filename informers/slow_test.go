package informers_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/informers"
)

// slowness collects the reports about the handlers of a set.
type slowness struct {
	mu     sync.Mutex
	errs   []*informers.SlowHandlerError
	metric []int
}

func (s *slowness) options(t *testing.T) informers.SetOptions {
	return informers.SetOptions{
		OnError: func(_ string, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var slow *informers.SlowHandlerError
			require.ErrorAs(t, err, &slow)
			s.errs = append(s.errs, slow)
		},
		Metrics: informers.Metrics{Slow: func(_, _ string, backlog int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.metric = append(s.metric, backlog)
		}},
	}
}

// TestASlowHandlerDoesNotBlockOthers has one blocked and one fast handler on one watch.
// The slow one is reported, once, and when it continues it receives the final state of everything and nothing
// in between.
func TestASlowHandlerDoesNotBlockOthers(t *testing.T) {
	recorded(t, func(t *testing.T, a *asked, c *rest.Conn) {
		seen := &slowness{}
		set := informers.NewSet(c, seen.options(t))
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		gate, calls := make(chan struct{}), map[string]int{}
		open := sync.OnceFunc(func() { close(gate) })
		last, fast := map[string]string{}, 0
		slow := inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			<-gate
			calls[ev.Key.Name]++
			last[ev.Key.Name] = ev.ResourceVersion
		}, informers.HandlerOptions{Name: "slow", MaxBacklog: 5})
		inf.AddHandler(func(informers.Event[*corev1.ConfigMap]) { fast++ }, informers.HandlerOptions{Name: "fast", MaxBacklog: 5})
		run(t, set)
		t.Cleanup(open)
		require.NoError(t, set.WaitForSync(t.Context()))
		<-slow.Synced()
		cms := client.For[*corev1.ConfigMap](c)
		want := map[string]string{}
		for i := range 200 {
			made, err := client.GetOrCreate(t.Context(), cms, cm(fmt.Sprint("o", i%20)))
			require.NoError(t, err)
			synctest.Wait()
			made.Data = map[string]string{"i": fmt.Sprint(i)}
			made, err = cms.Update(t.Context(), made)
			require.NoError(t, err)
			want[made.Name] = made.ResourceVersion
			synctest.Wait()
		}
		require.Equal(t, 220, fast, "the other handler receives everything as it happens")
		n, behind := slow.Backlog()
		require.LessOrEqual(t, n, 21)
		time.Sleep(time.Minute)
		_, later := slow.Backlog()
		require.Equal(t, time.Minute, later-behind)
		require.Len(t, seen.errs, 1, "once")
		require.Equal(t, []int{6}, seen.metric)
		require.Equal(t, informers.SlowHandlerError{Resource: "configmaps", Handler: "slow", Backlog: 6, Behind: seen.errs[0].Behind}, *seen.errs[0])
		require.ErrorContains(t, seen.errs[0], `"slow" of configmaps`)
		require.NoError(t, slow.Err())
		open()
		synctest.Wait()
		require.Equal(t, want, last)
		for name, n := range calls {
			require.LessOrEqual(t, n, 2, "%s: the one under way and the last", name)
		}
		require.Len(t, a.queries, 1, "one watch for both")
	})
}

// TestASlowHandlerIsEnded is the other policy: it is no longer called, and when added again it starts from
// the beginning.
func TestASlowHandlerIsEnded(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		seen := &slowness{}
		set := informers.NewSet(c, seen.options(t))
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		cms := client.For[*corev1.ConfigMap](c)
		for i := range 10 {
			_, err := cms.Create(t.Context(), cm(fmt.Sprint("before", i)))
			require.NoError(t, err)
		}
		entered, gate := make(chan struct{}, 1), make(chan struct{})
		leave := sync.OnceFunc(func() { close(gate) })
		calls := 0
		o := informers.HandlerOptions{Name: "stuck", MaxBacklog: 5, EndSlow: true}
		reg := inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			calls++
			if !ev.Initial {
				entered <- struct{}{}
				<-gate
			}
		}, o)
		run(t, set)
		t.Cleanup(leave)
		<-reg.Synced()
		require.Equal(t, 10, calls, "initial objects are no backlog")
		for i := range 20 {
			_, err := cms.Create(t.Context(), cm(fmt.Sprint("after", i)))
			require.NoError(t, err)
			if i == 0 {
				<-entered // before the backlog is long enough to remove the handler
			}
		}
		synctest.Wait()
		var slow *informers.SlowHandlerError
		require.ErrorAs(t, reg.Err(), &slow)
		require.True(t, slow.Ended)
		require.Len(t, seen.errs, 1)
		n, _ := reg.Backlog()
		require.LessOrEqual(t, n, 1, "what waited is given up")
		select {
		case <-reg.Done():
			t.Fatal("a call is under way")
		default:
		}
		leave()
		<-reg.Done()
		require.Equal(t, 11, calls)

		again := 0
		reg = inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			require.True(t, ev.Initial)
			again++
		}, o)
		<-reg.Synced()
		require.Equal(t, 30, again)
		require.NoError(t, reg.Err())
	})
}

// TestRemovedHandlersAreNotCalled adds handlers late and removes them, at rest and in the middle of a call.
func TestRemovedHandlersAreNotCalled(t *testing.T) {
	recorded(t, func(t *testing.T, _ *asked, c *rest.Conn) {
		set := informers.NewSet(c, informers.SetOptions{})
		inf := informers.For(set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}})
		never := inf.AddHandler(func(informers.Event[*corev1.ConfigMap]) { t.Error("called after Remove") }, informers.HandlerOptions{})
		never.Remove()
		never.Remove()
		<-never.Done()
		run(t, set)
		cms := client.For[*corev1.ConfigMap](c)
		for i := range 20 {
			_, err := cms.Create(t.Context(), cm(fmt.Sprint("o", i)))
			require.NoError(t, err)
		}
		require.NoError(t, set.WaitForSync(t.Context()))
		synctest.Wait()
		initial := map[string]int{}
		late := inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			require.Equal(t, informers.Added, ev.Type)
			require.True(t, ev.Initial)
			initial[ev.Key.Name]++
		}, informers.HandlerOptions{})
		<-late.Synced()
		require.Len(t, initial, 20)
		for name, n := range initial {
			require.Equal(t, 1, n, name)
		}
		late.Remove()
		<-late.Done()
		repeats, began := map[string]int{}, time.Now()
		repeated := inf.AddHandler(func(ev informers.Event[*corev1.ConfigMap]) {
			if ev.Resync {
				require.Equal(t, informers.Updated, ev.Type)
				require.Zero(t, time.Since(began)%time.Minute)
				require.Same(t, ev.Old(), ev.New())
				repeats[ev.Key.Name]++
			}
		}, informers.HandlerOptions{Resync: time.Minute})
		time.Sleep(150 * time.Second)
		synctest.Wait()
		require.Len(t, repeats, 20)
		for name, n := range repeats {
			require.Equal(t, 2, n, name)
		}
		repeated.Remove()
		calls, ctx := 0, context.Background()
		var self *informers.Registration
		ready := make(chan struct{})
		self = inf.AddHandler(func(informers.Event[*corev1.ConfigMap]) {
			<-ready
			calls++
			self.Remove()
		}, informers.HandlerOptions{})
		close(ready)
		<-self.Done()
		require.Equal(t, 1, calls, "a handler may remove itself")
		_, err := cms.Create(ctx, cm("last"))
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.Equal(t, 1, calls)
		require.Len(t, initial, 20)
	})
}

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/workqueue"
)

// copies is the ConfigMaps that a controller has seen last, by cluster and name.
type copies struct {
	mu   sync.Mutex
	seen map[string]string
	runs map[string]int // by cluster
}

func (s *copies) reconcile(_ context.Context, c *controllers.Cluster, req reconcile.Request) (reconcile.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[c.Name()]++
	m, err := controllers.ListerIn[*corev1.ConfigMap](c).Get(req)
	if err != nil {
		return reconcile.Result{}, err
	}
	s.seen[c.Name()+"/"+req.Name] = m.Data["v"]
	return reconcile.Result{}, nil
}

func (s *copies) get(cluster, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[cluster+"/"+name]
}

func (s *copies) of(cluster string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[cluster]
}

// wanted passes the ConfigMaps of this test.
func wanted(m *corev1.ConfigMap) bool { return m.Data["v"] != "" }

// fleet is a set of clusters, each of which has a ConfigMap a.
type fleet struct {
	*controllers.Clusters
	t        *testing.T
	snapshot controllertest.Snapshot
	members  map[string]*controllertest.Cluster
	*copies
}

func newFleet(t *testing.T, hub *controllertest.Cluster, m *manager.Manager) *fleet {
	f := &fleet{Clusters: controllers.NewClusters(m, controllers.ClustersOptions{}), t: t, snapshot: hub.Snapshot(),
		members: map[string]*controllertest.Cluster{}, copies: &copies{seen: map[string]string{}, runs: map[string]int{}}}
	_, err := controllers.Add(m, "copies", f.Reconciler(f.reconcile), controllers.Options{Options: controller.Options{Concurrency: 4}},
		controllers.InClusters(f.Clusters, controllers.For(controllers.Matching(wanted))))
	require.NoError(t, err)
	return f
}

func (f *fleet) engage(name string) {
	c, ok := f.members[name]
	if !ok {
		c = controllertest.StartFrom(f.t, f.snapshot, controllertest.Options{})
		f.members[name] = c
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a"), Data: map[string]string{"v": name}})
	}
	_, err := f.Engage(name, c.Conn())
	require.NoError(f.t, err)
}

func (f *fleet) disengage(name string) {
	c, ok := f.Get(name)
	require.True(f.t, ok)
	there, err := f.Disengage(f.t.Context(), name)
	require.True(f.t, there)
	require.NoError(f.t, err)
	<-c.Done()
	require.NoError(f.t, c.Err())
}

func (f *fleet) change(name, v string) {
	controllertest.Update(f.members[name], "default", "a", func(m *corev1.ConfigMap) { m.Data["v"] = v })
	f.members[name].Settle()
}

// TestClusters: one controller works on 50 clusters that come and go, while another one never responds.
func TestClusters(t *testing.T) {
	clusters := 50
	if testing.Short() {
		clusters = 10
	}
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		f := newFleet(t, hub, m)
		silent := controllertest.StartFrom(t, f.snapshot, controllertest.Options{})
		held := silent.Hold(controllertest.Requests{})
		_, err := f.Engage("silent", silent.Conn())
		require.NoError(t, err)
		for i := range clusters / 2 { // before the program runs
			f.engage(fmt.Sprintf("c%02d", i))
		}
		stop := hub.Run(m)
		for i := clusters / 2; i < clusters; i++ { // and while it does
			f.engage(fmt.Sprintf("c%02d", i))
		}
		hub.Sleep(time.Second)
		names := slices.Sorted(maps.Keys(f.members))
		require.Equal(t, append(slices.Clone(names), "silent"), f.Names())
		for _, name := range names {
			require.Equal(t, name, f.get(name, "a"))
		}
		_, err = f.Engage(names[0], hub.Conn())
		require.ErrorContains(t, err, "engaged already")

		// Every third one leaves: its changes are no longer seen, those of the others are.
		gone := func(i int) bool { return i%3 == 0 }
		for i, name := range names {
			if gone(i) {
				f.disengage(name)
			}
		}
		for i, name := range names {
			f.change(name, "second")
			require.Equal(t, map[bool]string{true: name, false: "second"}[gone(i)], f.get(name, "a"))
		}
		there, err := f.Disengage(t.Context(), names[0])
		require.False(t, there)
		require.NoError(t, err)

		// They come back, and the silent one responds at last.
		for i, name := range names {
			if gone(i) {
				f.engage(name)
			}
		}
		hub.Sleep(time.Second)
		for _, name := range names {
			require.Equal(t, "second", f.get(name, "a"))
		}
		require.Zero(t, f.of("silent"))
		held.Release()
		controllertest.Create(silent, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a"), Data: map[string]string{"v": "x"}})
		hub.Sleep(time.Minute)
		require.Equal(t, "x", f.get("silent", "a"))

		stop()
		_, err = f.Engage("late", hub.Conn())
		require.ErrorContains(t, err, "the manager has stopped")
	})
}

// TestClustersThatBlock: reconciles that block in one cluster leave workers for the others, run again
// one after the other, and end with the cluster.
func TestClustersThatBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
		var mu sync.Mutex
		running, most, done := 0, 0, map[string]int{}
		var causes []error
		proceed := make(chan struct{})
		r := fleet.Reconciler(func(ctx context.Context, c *controllers.Cluster, _ reconcile.Request) (reconcile.Result, error) {
			mu.Lock()
			running++
			if c.Name() == "blocked" {
				most = max(most, running)
			}
			mu.Unlock()
			if c.Name() == "blocked" {
				select {
				case <-proceed:
				case <-ctx.Done():
				}
			}
			mu.Lock()
			defer mu.Unlock()
			running--
			done[c.Name()]++
			if ctx.Err() != nil {
				causes = append(causes, context.Cause(ctx))
			}
			return reconcile.Result{}, ctx.Err()
		})
		c, err := controllers.Add(m, "keys", r, controllers.Options{Options: controller.Options{Concurrency: 8}}, controllers.InClusters(fleet))
		require.NoError(t, err)
		_, err = controllers.Add(m, "twice", r, controllers.Options{}, controllers.InClusters(fleet))
		require.ErrorContains(t, err, "is for one controller")
		count := func(name string) int {
			mu.Lock()
			defer mu.Unlock()
			return done[name]
		}
		for _, name := range []string{"blocked", "free"} {
			_, err := fleet.Engage(name, hub.Conn())
			require.NoError(t, err)
		}
		hub.Run(m)
		for i := range 20 {
			c.Enqueue(controllers.ClusterRequest{Cluster: "blocked", Request: reconcile.Request{Name: fmt.Sprint(i)}})
		}
		synctest.Wait()
		for i := range 20 {
			c.Enqueue(controllers.ClusterRequest{Cluster: "free", Request: reconcile.Request{Name: fmt.Sprint(i)}})
			c.Enqueue(controllers.ClusterRequest{Cluster: "unknown", Request: reconcile.Request{Name: fmt.Sprint(i)}})
		}
		synctest.Wait()
		require.Equal(t, 20, count("free"))
		require.Zero(t, count("blocked"))
		require.Equal(t, 2, most, "a quarter of the workers")
		proceed <- struct{}{}
		synctest.Wait()
		require.Equal(t, 1, count("blocked"), "and the next one has taken its place")
		proceed <- struct{}{}
		synctest.Wait()
		require.Equal(t, 2, count("blocked"))
		require.Equal(t, 2, most)
		_, err = fleet.Disengage(t.Context(), "blocked")
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 4, count("blocked"))
		require.Equal(t, []error{controllers.ErrDisengaged, controllers.ErrDisengaged}, causes)
		require.Empty(t, c.Queue().Entries())
		require.Equal(t, 0, count("unknown"))
	})
}

// TestAClusterThatFails: a cluster whose manager fails is disengaged with the reason, and can be engaged
// again; others work on. The controller reads a second kind, whose informer it waits for in each cluster.
func TestAClusterThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		fleet := controllers.NewClusters(m, controllers.ClustersOptions{})
		var mu sync.Mutex
		got := map[string]string{}
		r := fleet.Reconciler(func(_ context.Context, c *controllers.Cluster, req reconcile.Request) (reconcile.Result, error) {
			secret, err := controllers.ListerIn[*corev1.Secret](c).Get(req)
			if err != nil {
				return reconcile.Result{}, err
			}
			mu.Lock()
			defer mu.Unlock()
			got[c.Name()] = string(secret.Data["v"])
			return reconcile.Result{}, nil
		})
		seen := func() map[string]string {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(got)
		}
		_, err := controllers.Add(m, "pairs", r, controllers.Options{}, controllers.InClusters(fleet, controllers.For(controllers.Matching(wanted)), controllers.Reads[*corev1.Secret]()))
		require.NoError(t, err)
		members := map[string]*controllertest.Cluster{}
		engage := func(name string) *controllers.Cluster {
			if members[name] == nil {
				members[name] = controllertest.StartFrom(t, hub.Snapshot(), controllertest.Options{})
				controllertest.Create(members[name], &corev1.Secret{ObjectMeta: controllertest.Name("default", "a"), Data: map[string][]byte{"v": []byte(name)}})
				controllertest.Create(members[name], &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a"), Data: map[string]string{"v": name}})
			}
			c, err := fleet.Engage(name, members[name].Conn())
			require.NoError(t, err)
			return c
		}
		hub.Run(m)
		lost := engage("lost")
		engage("kept")
		broken := errors.New("broken")
		lost.Manager().AddWithoutLeaderElection("probe", manager.Func(func(ctx context.Context) error {
			select {
			case <-time.After(time.Minute):
				return broken
			case <-ctx.Done():
				return nil
			}
		}))
		time.Sleep(30 * time.Second)
		require.Equal(t, map[string]string{"lost": "lost", "kept": "kept"}, seen())
		require.NoError(t, lost.Err())
		<-lost.Done()
		require.ErrorIs(t, lost.Err(), broken)
		require.Equal(t, []string{"kept"}, fleet.Names())
		there, err := fleet.Disengage(t.Context(), "lost")
		require.NoError(t, err)
		require.False(t, there)
		controllertest.Update(members["kept"], "default", "a", func(s *corev1.Secret) { s.Data["v"] = []byte("again") })
		time.Sleep(time.Second) // the two informers do not wait for each other
		controllertest.Update(members["kept"], "default", "a", func(m *corev1.ConfigMap) { m.Data["v"] = "again" })
		mu.Lock()
		delete(got, "lost")
		mu.Unlock()
		engage("lost")
		time.Sleep(time.Minute)
		require.Equal(t, map[string]string{"lost": "lost", "kept": "again"}, seen())
	})
}

// shard is a key that names no object.
type shard struct{ Number int }

// TestOwnKeys: a controller has keys of its own type, and Add refuses sources and options for another type.
func TestOwnKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := controllertest.Start(t, controllertest.Options{})
		m := manager.New(hub.Conn(), manager.Options{})
		var mu sync.Mutex
		var got []shard
		r := reconcile.Func(func(ctx context.Context, s shard) (reconcile.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, s, reconcile.FromContext(ctx).Key)
			got = append(got, s)
			return reconcile.Result{}, nil
		})
		numbers := make(chan shard)
		secrets := controllers.Watches(func(e informers.Event[*corev1.Secret]) []shard { return []shard{{len(e.Key.Name)}} })
		c, err := controllers.Add(m, "shards", r, controllers.Options{}, secrets, controllers.Channel(numbers), controllers.Reads[*corev1.ConfigMap]())
		require.NoError(t, err)
		hub.Run(m)
		controllertest.Create(hub, &corev1.Secret{ObjectMeta: controllertest.Name("default", "abc")})
		hub.Settle()
		require.Equal(t, []shard{{3}}, got)
		numbers <- shard{7}
		hub.Settle()
		require.Equal(t, []shard{{3}, {7}}, got)
		require.Contains(t, c.Explain(shard{3}).String(), "{3}: not queued\n")
		require.Contains(t, c.Explain(shard{3}).String(), "because of Secret Added")

		refused := func(r reconcile.Reconciler[shard], opts controllers.Options, s controllers.Source, problem string) {
			_, err := controllers.Add(m, "refused", r, opts, s)
			require.ErrorContains(t, err, problem)
		}
		queue := controllers.Options{Options: controller.Options{Queue: workqueue.Options[reconcile.Request]{}}}
		refused(r, queue, secrets, "but must be a workqueue.Options[")
		refused(r, controllers.Options{}, controllers.For[*corev1.Secret](), "a source has keys of type types.NamespacedName")
		refused(r, controllers.Options{}, controllers.Channel(make(chan string)), "a source has keys of type string")
	})
}

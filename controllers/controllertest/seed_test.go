package controllertest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/builtin/deployment"
	"github.com/keelson-dev/keelson/controllers/builtin/garbagecollector"
	"github.com/keelson-dev/keelson/controllers/builtin/nodelifecycle"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/fakenode"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/store"
)

// trace is what happened in a cluster: the requests in order with their callers, and every write with its
// revision, time and bytes.
type trace struct {
	mu       sync.Mutex
	requests []string
	writes   []string
}

// intercept records requests, and fails every seventh write.
func (r *trace) intercept(w http.ResponseWriter, req *http.Request, next http.HandlerFunc) {
	r.mu.Lock()
	line := fmt.Sprintf("%s %s %s %s", time.Now().Format(time.RFC3339Nano), req.UserAgent(), req.Method, req.URL.RequestURI())
	fails := req.Method != http.MethodGet && len(r.requests)%7 == 6
	if fails {
		line += " fails"
	}
	r.requests = append(r.requests, line)
	r.mu.Unlock()
	if fails {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	next(w, req)
}

// history records the writes of a cluster's store until the test ends.
func (r *trace) history(t *testing.T, c *controllertest.Cluster) {
	ctx, cancel := context.WithCancel(context.Background())
	s := c.Server().Registry().Store()
	from, err := s.Progress(ctx, "")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Watch(ctx, "", from, store.WatchOptions{}, func(b store.Batch) error {
			for _, e := range b.Events {
				r.writes = append(r.writes, fmt.Sprintf("%d %v %s %q", e.KV.Revision, e.Type, e.KV.Key, e.KV.Value))
			}
			return nil
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// rollout runs a Deployment with all of its controllers, changes it, and loses pods.
func rollout(t *testing.T, seed uint64) *trace {
	r := &trace{}
	synctest.Test(t, func(t *testing.T) {
		o := controllertest.Options{Seed: seed, Controllers: []controllertest.Adder{
			addReplicaSets,
			func(m *manager.Manager) error { return deployment.Add(m, deployment.Options{}) },
			func(m *manager.Manager) error { return garbagecollector.Add(m, garbagecollector.Options{}) },
			func(m *manager.Manager) error { return nodelifecycle.Add(m, nodelifecycle.Options{}) },
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{}) },
			func(m *manager.Manager) error { return fakenode.Add(m, fakenode.Options{Count: 3}) },
		}}
		o.Server.Intercept = r.intercept
		c := controllertest.Start(t, o)
		r.history(t, c)
		c.Sleep(time.Minute)
		rs := replicaSet("web", 5)
		d := &appsv1.Deployment{ObjectMeta: rs.ObjectMeta}
		d.Spec.Replicas, d.Spec.Selector, d.Spec.Template = rs.Spec.Replicas, rs.Spec.Selector, rs.Spec.Template
		controllertest.Create(c, d)
		controllertest.Create(c, &corev1.Service{ObjectMeta: controllertest.Name("default", "web"), Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}})
		c.Sleep(time.Minute)
		controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
		c.Sleep(2 * time.Minute)
		for _, p := range controllertest.List[*corev1.Pod](c, "default")[:2] {
			controllertest.Delete[*corev1.Pod](c, p.Namespace, p.Name)
		}
		c.Sleep(10 * time.Minute)
		require.EqualValues(t, 5, controllertest.Get[*appsv1.Deployment](c, "default", "web").Status.ReadyReplicas)
	})
	return r
}

// A seed repeats a run: all requests, and all writes with their bytes. Another seed is another run.
func TestSeedsReplay(t *testing.T) {
	t.Setenv("KEELSON_SEED", "")
	want := rollout(t, 7)
	require.Greater(t, len(want.writes), 100)
	got := rollout(t, 7)
	require.Equal(t, strings.Join(want.requests, "\n"), strings.Join(got.requests, "\n"))
	require.Equal(t, strings.Join(want.writes, "\n"), strings.Join(got.writes, "\n"))
	require.NotEqual(t, want.writes, rollout(t, 8).writes)
}

// The environment replays a seed that a failed test has logged.
func TestSeedOfTheEnvironment(t *testing.T) {
	uids := func(seed uint64) (uid string, logged []string) {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{TB: t, failed: true}
			c := controllertest.Start(r, controllertest.Options{Seed: seed})
			uid = string(controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a")}).UID)
			require.NoError(t, c.Close())
			logged = r.logs
		})
		return uid, logged
	}
	t.Setenv("KEELSON_SEED", "")
	one, logged := uids(1)
	require.Contains(t, strings.Join(logged, "\n"), "replay with KEELSON_SEED=1")
	two, _ := uids(2)
	random, logged := uids(0)
	require.Len(t, map[string]bool{one: true, two: true, random: true}, 3)
	require.NotContains(t, strings.Join(logged, "\n"), "replay")
	t.Setenv("KEELSON_SEED", "1")
	again, _ := uids(2)
	require.Equal(t, one, again)
	t.Setenv("KEELSON_SEED", "many")
	_, err := controllertest.New(t.Context(), controllertest.Options{})
	require.EqualError(t, err, `controllertest: KEELSON_SEED="many" is not a positive number`)
}

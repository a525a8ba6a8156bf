package metrics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/informers"
	"github.com/keelson-dev/keelson/leaderelection"
	"github.com/keelson-dev/keelson/leaderelection/leaselock"
	"github.com/keelson-dev/keelson/workqueue"
)

// page reads the metrics page: each series with its value.
func page(t *testing.T, m *metrics.Metrics) map[string]float64 {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	all := map[string]float64{}
	for s := bufio.NewScanner(w.Body); s.Scan(); {
		if line := s.Text(); !strings.HasPrefix(line, "#") {
			i := strings.LastIndexByte(line, ' ')
			v, err := strconv.ParseFloat(line[i+1:], 64)
			require.NoError(t, err)
			all[line[:i]] = v
		}
	}
	return all
}

// queues reads the debug page.
func queues(t *testing.T, m *metrics.Metrics, query string) map[string][]workqueue.Entry[types.NamespacedName] {
	w := httptest.NewRecorder()
	m.Queues().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/debug/queues"+query, nil))
	all := map[string][]workqueue.Entry[types.NamespacedName]{}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	return all
}

// replicas are two replicas of an operator with a leader election, the first of which leads. Their controller
// fails twice for the ConfigMap failing, and waits for held with the ConfigMap stuck.
type replicas struct {
	t        *testing.T
	c        *controllertest.Cluster
	held     chan struct{}
	failures int
	stops    []func()
	measured []*metrics.Metrics
}

func startReplicas(t *testing.T) *replicas {
	r := &replicas{t: t, c: controllertest.Start(t, controllertest.Options{}), held: make(chan struct{}), failures: 2}
	for _, name := range []string{"one", "two"} {
		m := metrics.New()
		conn := r.c.Conn()
		rec := events.New(conn, events.Options{Component: "operator"})
		lock := leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: "operator"}, leaselock.Options{
			Event: func(l *coordinationv1.Lease, reason, message string) { rec.Event(l, events.Normal, reason, message) },
		})
		elector, err := leaderelection.New(lock, leaderelection.Options{Identity: name, Metrics: m.Leader("operator")})
		require.NoError(t, err)
		mgr := manager.New(conn, manager.Options{Elector: elector, Monitor: m, Informers: informers.SetOptions{Metrics: m.Informers()}})
		mgr.AddWithoutLeaderElection("events", rec)
		_, err = controllers.Add(mgr, "maps", reconcile.Func(r.reconcile), controllers.Options{}, controllers.For[*corev1.ConfigMap]())
		require.NoError(t, err)
		r.stops, r.measured = append(r.stops, r.c.Run(mgr)), append(r.measured, m)
		r.c.Sleep(5 * time.Second)
	}
	return r
}

func (r *replicas) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	switch {
	case req.Name == "stuck":
		select {
		case <-r.held:
		case <-ctx.Done():
		}
	case req.Name == "failing" && r.failures > 0:
		r.failures--
		return reconcile.Result{}, errors.New("not yet")
	}
	return reconcile.Result{}, nil
}

func (r *replicas) create(name string) {
	controllertest.Create(r.c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
}

// TestTwoReplicas runs a leader and a standby whose controller fails at first: the pages show the names that
// dashboards know, who leads, what was retried, what waits, and why.
func TestTwoReplicas(t *testing.T) {
	inReplicas(t, "who leads", (*replicas).standby)
	inReplicas(t, "what was retried", (*replicas).retried)
	inReplicas(t, "what waits, and why", (*replicas).waiting)
	inReplicas(t, "a change of leaders", (*replicas).failover)
}

// inReplicas runs a subtest in a bubble, with replicas of its own.
func inReplicas(t *testing.T, name string, test func(r *replicas)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(startReplicas(t)) })
	})
}

func (r *replicas) standby() {
	lead, standby := page(r.t, r.measured[0]), page(r.t, r.measured[1])
	require.EqualValues(r.t, 1, lead[`leader_election_master_status{name="operator"}`])
	require.Zero(r.t, standby[`leader_election_master_status{name="operator"}`])
	require.Contains(r.t, standby, `leader_election_master_status{name="operator"}`)
	require.EqualValues(r.t, 1, standby[`reflector_lists_total{cluster="",name="configmaps"}`], "standbys are warm")
	require.NotContains(r.t, standby, `controller_runtime_reconcile_total{controller="maps",result="success"}`)
	require.EqualValues(r.t, 1, standby[`reflector_list_duration_seconds_count{cluster="",name="configmaps"}`])
}

func (r *replicas) retried() {
	before := page(r.t, r.measured[0])
	r.create("failing")
	r.c.Sleep(time.Second)
	now := page(r.t, r.measured[0])
	require.EqualValues(r.t, 2, now[`workqueue_retries_total{controller="maps",name="maps"}`]-before[`workqueue_retries_total{controller="maps",name="maps"}`])
	require.EqualValues(r.t, 3, now[`workqueue_adds_total{controller="maps",name="maps"}`]-before[`workqueue_adds_total{controller="maps",name="maps"}`])
	require.EqualValues(r.t, 2, now[`controller_runtime_reconcile_total{controller="maps",result="error"}`])
	require.EqualValues(r.t, 2, now[`controller_runtime_reconcile_errors_total{controller="maps"}`])
	require.EqualValues(r.t, 1, now[`informer_events_total{cluster="",name="configmaps",type="ADDED"}`])
	require.Zero(r.t, now[`informer_unsynced{cluster="",name="configmaps"}`])
	require.Zero(r.t, now[`workqueue_depth{controller="maps",name="maps",priority="0"}`])
}

func (r *replicas) waiting() {
	t := r.t
	r.create("stuck")
	r.c.Sleep(time.Second)
	r.create("waiting")
	r.c.Sleep(2 * time.Second)
	now := page(t, r.measured[0])
	require.EqualValues(t, 1, now[`workqueue_depth{controller="maps",name="maps",priority="0"}`])
	require.EqualValues(t, 1, now[`controller_runtime_active_workers{controller="maps"}`])
	require.InDelta(t, 3, now[`workqueue_unfinished_work_seconds{controller="maps",name="maps"}`], 0.1)
	require.InDelta(t, 3, now[`workqueue_longest_running_processor_seconds{controller="maps",name="maps"}`], 0.1)
	entries := queues(t, r.measured[0], "")["maps"]
	require.Len(t, entries, 2)
	stuck := types.NamespacedName{Namespace: "default", Name: "stuck"}
	require.Equal(t, workqueue.Entry[types.NamespacedName]{Key: stuck, State: workqueue.Processing, Cause: "ConfigMap Added", Age: entries[0].Age}, entries[0])
	require.Equal(t, "waiting", entries[1].Key.Name)
	require.Equal(t, workqueue.Ready, entries[1].State)
	require.Equal(t, "ConfigMap Added", entries[1].Cause)
	require.InDelta(t, 2*time.Second, entries[1].Age, float64(100*time.Millisecond))
	require.Len(t, queues(t, r.measured[0], "?controller=maps"), 1)
	require.Empty(t, queues(t, r.measured[0], "?controller=other"))
	close(r.held)
	r.c.Sleep(time.Second)
	now = page(t, r.measured[0])
	require.Empty(t, queues(t, r.measured[0], "")["maps"])
	require.Equal(t, now[`workqueue_adds_total{controller="maps",name="maps"}`], now[`workqueue_work_duration_seconds_count{controller="maps",name="maps"}`])
	require.Equal(t, now[`workqueue_adds_total{controller="maps",name="maps"}`], now[`workqueue_queue_duration_seconds_count{controller="maps",name="maps"}`])
}

func (r *replicas) failover() {
	r.stops[0]()
	r.c.Sleep(time.Second)
	require.Zero(r.t, page(r.t, r.measured[0])[`leader_election_master_status{name="operator"}`])
	require.EqualValues(r.t, 1, page(r.t, r.measured[1])[`leader_election_master_status{name="operator"}`])
	r.c.Sleep(time.Minute)
	recorded, err := client.For[*corev1.Event](r.c.Admin()).List(r.t.Context(), client.ListOptions{Namespace: "default"})
	require.NoError(r.t, err)
	var messages []string
	for _, e := range recorded.Items {
		if e.Reason == leaselock.EventReason {
			require.Equal(r.t, "Lease", e.InvolvedObject.Kind)
			require.Equal(r.t, "operator", e.InvolvedObject.Name)
			messages = append(messages, e.Message)
		}
	}
	require.Contains(r.t, messages, "one became leader")
	require.Contains(r.t, messages, "two became leader")
}

// TestOutcomes runs reconciles of every outcome: all that failed count as "error", as controller-runtime
// counts them, and each family of its own counts only what it names. Every series is there before the first
// reconcile.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		m := metrics.New()
		mgr := manager.New(c.Conn(), manager.Options{Monitor: m, Logger: slog.New(slog.DiscardHandler)})
		runs := map[string]int{}
		r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			if runs[req.Name]++; runs[req.Name] > 1 {
				return reconcile.Result{}, nil
			}
			switch req.Name {
			case "fails":
				return reconcile.Result{}, errors.New("not yet")
			case "is-terminal":
				return reconcile.Result{}, reconcile.TerminalError(errors.New("never"))
			case "panics":
				panic("boom")
			case "is-later":
				return reconcile.Result{RequeueAfter: time.Hour}, nil
			case "hangs":
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			}
			return reconcile.Result{}, nil
		})
		_, err := controllers.Add(mgr, "maps", r, controllers.Options{Options: controller.Options{Concurrency: 1, Timeout: time.Minute}}, controllers.For[*corev1.ConfigMap](
			func(ev informers.Event[*corev1.ConfigMap]) bool { return ev.Key.Namespace == "default" }))
		require.NoError(t, err)
		stop := c.Run(mgr)
		c.Sleep(time.Second)
		families := []string{
			`controller_runtime_reconcile_total{controller="maps",result="error"}`, `controller_runtime_reconcile_total{controller="maps",result="requeue"}`,
			`controller_runtime_reconcile_total{controller="maps",result="requeue_after"}`, `controller_runtime_reconcile_total{controller="maps",result="success"}`,
			`controller_runtime_reconcile_errors_total{controller="maps"}`, `controller_runtime_terminal_reconcile_errors_total{controller="maps"}`,
			`controller_runtime_reconcile_panics_total{controller="maps"}`, `controller_runtime_reconcile_timeouts_total{controller="maps"}`,
		}
		values := func() []float64 {
			now, all := page(t, m), make([]float64, len(families))
			for n, f := range families {
				require.Contains(t, now, f)
				all[n] = now[f]
			}
			return all
		}
		before := values()
		require.Equal(t, []float64{0, 0, 0, before[3], 0, 0, 0, 0}, before)
		for _, name := range []string{"fails", "is-terminal", "panics", "is-later", "hangs", "succeeds"} {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", name)})
		}
		c.Sleep(5 * time.Minute)
		stop()
		after := values()
		for n := range after {
			after[n] -= before[n]
		}
		// Failed: fails, is-terminal, panics, hangs. Succeeded: succeeds, and those of these that were
		// repeated.
		require.Equal(t, []float64{4, 0, 1, 4, 4, 1, 1, 1}, after)
		now := page(t, m)
		require.EqualValues(t, 1, now[`controller_runtime_max_concurrent_reconciles{controller="maps"}`])
		require.Zero(t, now[`controller_runtime_active_workers{controller="maps"}`])
	})
}

// TestPriorities: the depth of a queue has a series per priority, up to 25; further priorities share one, and
// every series returns to zero.
func TestPriorities(t *testing.T) {
	m := metrics.New()
	q := workqueue.New(workqueue.Options[int]{Metrics: m.Queue("q")})
	for n := range 40 {
		q.AddWith(n, workqueue.AddOptions{Priority: n})
	}
	sums := map[string]float64{}
	for series, v := range page(t, m) {
		if strings.HasPrefix(series, "workqueue_depth{") {
			sums[series] = v
		}
	}
	require.Len(t, sums, 26)
	require.EqualValues(t, 1, sums[`workqueue_depth{controller="q",name="q",priority="24"}`])
	require.EqualValues(t, 15, sums[`workqueue_depth{controller="q",name="q",priority="exceeded_cardinality_limit"}`])
	for range 40 {
		key, err := q.Get(t.Context())
		require.NoError(t, err)
		q.Done(key)
	}
	for series := range sums {
		require.Zero(t, page(t, m)[series], series)
	}
}

// TestInformerGauges: what informers hold and what waits for their handlers is on the page, and not after the
// set has gone.
func TestInformerGauges(t *testing.T) {
	m := metrics.New()
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		conn := c.Conn()
		set := informers.NewSet(conn, informers.SetOptions{Metrics: m.Informers()})
		m.InformerSet(set)
		held := make(chan struct{})
		release := sync.OnceFunc(func() { close(held) })
		defer release()
		informers.For[*corev1.ConfigMap](set, informers.Options[*corev1.ConfigMap]{Namespaces: []string{"default"}}).AddHandler(
			func(informers.Event[*corev1.ConfigMap]) { <-held }, informers.HandlerOptions{Name: "slow"})
		stop := c.Run(runnable(set.Run))
		time.Sleep(time.Second)
		for n := range 3 {
			controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "a"+strconv.Itoa(n))})
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		now := page(t, m)
		objects := now[`informer_objects{cluster="",name="configmaps"}`]
		require.EqualValues(t, 3, objects)
		require.Positive(t, now[`informer_bytes{cluster="",name="configmaps"}`])
		require.Zero(t, now[`informer_overlay_objects{cluster="",name="configmaps"}`])
		require.InDelta(t, 3, now[`informer_silence_seconds{cluster="",name="configmaps"}`], 0.1)
		require.Equal(t, objects, now[`informer_handler_backlog{cluster="",handler="slow",name="configmaps"}`])
		require.InDelta(t, 3, now[`informer_handler_behind_seconds{cluster="",handler="slow",name="configmaps"}`], 0.1)
		caches := httptest.NewRecorder()
		m.Caches().ServeHTTP(caches, httptest.NewRequest("GET", "/debug/caches?resource=configmaps", nil))
		var listed []map[string]any
		require.NoError(t, json.Unmarshal(caches.Body.Bytes(), &listed))
		require.Len(t, listed, 1)
		require.EqualValues(t, 3, listed[0]["Objects"])
		require.EqualValues(t, now[`informer_bytes{cluster="",name="configmaps"}`], listed[0]["Bytes"])
		require.Equal(t, []any{"default"}, listed[0]["Namespaces"])
		require.EqualValues(t, 1, listed[0]["Users"])
		release()
		synctest.Wait()
		require.Zero(t, page(t, m)[`informer_handler_backlog{cluster="",handler="slow",name="configmaps"}`])
		stop()
	})
	for range 10 {
		runtime.GC()
	}
	require.NotContains(t, page(t, m), `informer_objects{cluster="",name="configmaps"}`)
}

// runnable is a function as a manager.Runnable.
type runnable func(context.Context) error

func (r runnable) Run(ctx context.Context) error { return r(ctx) }

// TestWebhooks: requests, rejections, panics and wrong requests of a webhook server under the names of
// controller-runtime.
func TestWebhooks(t *testing.T) {
	m := metrics.New()
	var during map[string]float64
	s := webhook.New(webhook.Options{Metrics: m.Webhooks(), Logger: slog.New(slog.DiscardHandler)})
	s.Handle("/validate", webhook.Validating(func(_ context.Context, _ *webhook.Request, cm *corev1.ConfigMap) error {
		during = page(t, m)
		switch cm.Name {
		case "panics":
			panic("boom")
		case "denied":
			return errors.New("no")
		}
		return nil
	}))
	s.Handle("/convert", webhook.Conversion(func(context.Context, *metav1.Unstructured, schema.GroupVersion) error { panic("boom") }))
	post := func(path, body string) {
		r := httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, name := range []string{"fine", "denied", "panics"} {
		post("/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","object":{"metadata":{"name":"`+name+`"}}}}`)
	}
	require.EqualValues(t, 1, during[`controller_runtime_webhook_requests_in_flight{webhook="/validate"}`])
	post("/validate", `{`)
	post("/convert", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"1","desiredAPIVersion":"example.com/v2",
		"objects":[{"apiVersion":"example.com/v1","kind":"Website","metadata":{"name":"a"}}]}}`)
	now := page(t, m)
	require.EqualValues(t, 3, now[`controller_runtime_webhook_requests_total{code="200",webhook="/validate"}`])
	require.EqualValues(t, 1, now[`controller_runtime_webhook_requests_total{code="400",webhook="/validate"}`])
	require.EqualValues(t, 4, now[`controller_runtime_webhook_latency_seconds_count{webhook="/validate"}`])
	require.EqualValues(t, 1, now[`controller_runtime_webhook_requests_total{code="200",webhook="/convert"}`])
	require.Zero(t, now[`controller_runtime_webhook_requests_in_flight{webhook="/validate"}`])
	require.EqualValues(t, 1, now[`controller_runtime_webhook_panics_total`])
	require.EqualValues(t, 1, now[`controller_runtime_conversion_webhook_panics_total`])
}

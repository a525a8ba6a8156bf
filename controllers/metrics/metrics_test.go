package metrics_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/metrics"
	"github.com/keelson-dev/keelson/controllers/reconcile"
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

// TestTwoReplicas runs a leader and a standby whose controller fails at first: the pages show the names that
// dashboards know, who leads, what was retried, what waits, and why.
func TestTwoReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		held, stuck := make(chan struct{}), types.NamespacedName{Namespace: "default", Name: "stuck"}
		failures := 2
		var stops []func()
		var measured []*metrics.Metrics
		for _, name := range []string{"one", "two"} {
			m := metrics.New()
			conn := c.Conn()
			rec := events.New(conn, events.Options{Component: "operator"})
			lock := leaselock.New(conn, types.NamespacedName{Namespace: "default", Name: "operator"}, leaselock.Options{
				Event: func(l *coordinationv1.Lease, reason, message string) { rec.Event(l, events.Normal, reason, message) },
			})
			elector, err := leaderelection.New(lock, leaderelection.Options{Identity: name, Metrics: m.Leader("operator")})
			require.NoError(t, err)
			mgr := manager.New(conn, manager.Options{Elector: elector, Monitor: m, Informers: informers.SetOptions{Metrics: m.Informers()}})
			mgr.AddWithoutLeaderElection("events", rec)
			r := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				switch {
				case req == stuck:
					select {
					case <-held:
					case <-ctx.Done():
					}
				case req.Name == "failing" && failures > 0:
					failures--
					return reconcile.Result{}, errors.New("not yet")
				}
				return reconcile.Result{}, nil
			})
			_, err = controllers.Add(mgr, "maps", r, controllers.Options{}, controllers.For[*corev1.ConfigMap]())
			require.NoError(t, err)
			stops, measured = append(stops, c.Run(mgr)), append(measured, m)
			c.Sleep(5 * time.Second)
		}
		lead, standby := page(t, measured[0]), page(t, measured[1])
		require.EqualValues(t, 1, lead[`leader_election_master_status{name="operator"}`])
		require.Zero(t, standby[`leader_election_master_status{name="operator"}`])
		require.Contains(t, standby, `leader_election_master_status{name="operator"}`)
		require.EqualValues(t, 1, standby[`reflector_lists_total{name="configmaps"}`], "standbys are warm")
		require.Zero(t, standby[`controller_runtime_reconcile_total{controller="maps",result="success"}`])

		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "failing")})
		c.Sleep(time.Second)
		now := page(t, measured[0])
		require.EqualValues(t, 2, now[`workqueue_retries_total{name="maps"}`]-lead[`workqueue_retries_total{name="maps"}`])
		require.EqualValues(t, 3, now[`workqueue_adds_total{name="maps"}`]-lead[`workqueue_adds_total{name="maps"}`])
		require.EqualValues(t, 2, now[`controller_runtime_reconcile_total{controller="maps",result="error"}`])
		require.EqualValues(t, 2, now[`controller_runtime_reconcile_errors_total{controller="maps"}`])
		require.EqualValues(t, 1, now[`informer_events_total{name="configmaps",type="ADDED"}`])
		require.Zero(t, now[`informer_unsynced{name="configmaps"}`])
		require.Zero(t, now[`workqueue_depth{name="maps"}`])

		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "stuck")})
		c.Sleep(time.Second)
		controllertest.Create(c, &corev1.ConfigMap{ObjectMeta: controllertest.Name("default", "waiting")})
		c.Sleep(2 * time.Second)
		now = page(t, measured[0])
		require.EqualValues(t, 1, now[`workqueue_depth{name="maps"}`])
		require.EqualValues(t, 1, now[`controller_runtime_active_workers{controller="maps"}`])
		require.InDelta(t, 3, now[`workqueue_unfinished_work_seconds{name="maps"}`], 0.1)
		require.InDelta(t, 3, now[`workqueue_longest_running_processor_seconds{name="maps"}`], 0.1)
		entries := queues(t, measured[0], "")["maps"]
		require.Len(t, entries, 2)
		require.Equal(t, workqueue.Entry[types.NamespacedName]{Key: stuck, State: workqueue.Processing, Cause: "ConfigMap Added", Age: entries[0].Age}, entries[0])
		require.Equal(t, "waiting", entries[1].Key.Name)
		require.Equal(t, workqueue.Ready, entries[1].State)
		require.Equal(t, "ConfigMap Added", entries[1].Cause)
		require.InDelta(t, 2*time.Second, entries[1].Age, float64(100*time.Millisecond))
		require.Len(t, queues(t, measured[0], "?controller=maps"), 1)
		require.Empty(t, queues(t, measured[0], "?controller=other"))
		close(held)
		c.Sleep(time.Second)
		now = page(t, measured[0])
		require.Empty(t, queues(t, measured[0], "")["maps"])
		require.Equal(t, now[`workqueue_adds_total{name="maps"}`], now[`workqueue_work_duration_seconds_count{name="maps"}`])
		require.Equal(t, now[`workqueue_adds_total{name="maps"}`], now[`workqueue_queue_duration_seconds_count{name="maps"}`])

		stops[0]()
		c.Sleep(time.Second)
		require.Zero(t, page(t, measured[0])[`leader_election_master_status{name="operator"}`])
		require.EqualValues(t, 1, page(t, measured[1])[`leader_election_master_status{name="operator"}`])
		c.Sleep(time.Minute)
		recorded, err := client.For[*corev1.Event](c.Admin()).List(t.Context(), client.ListOptions{Namespace: "default"})
		require.NoError(t, err)
		var messages []string
		for _, e := range recorded.Items {
			if e.Reason == leaselock.EventReason {
				require.Equal(t, "Lease", e.InvolvedObject.Kind)
				require.Equal(t, "operator", e.InvolvedObject.Name)
				messages = append(messages, e.Message)
			}
		}
		require.Contains(t, messages, "one became leader")
		require.Contains(t, messages, "two became leader")
	})
}

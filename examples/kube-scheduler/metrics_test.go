package main

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// The metrics have the names and labels of kube-scheduler's, and count what the scheduler does.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMetrics(false)
		registry := prometheus.NewRegistry()
		registry.MustRegister(m.all...)
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{func(mgr *manager.Manager) error {
			s, err := scheduler.New(mgr, scheduler.Options{Metrics: m.functions()})
			m.follow(s)
			return err
		}}})
		p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "p")}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
		controllertest.Create(c, p)
		gated := &corev1.Pod{ObjectMeta: controllertest.Name("default", "gated")}
		gated.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
		gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		controllertest.Create(c, gated)
		c.Settle()
		w := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		require.Contains(t, w.Body.String(), `scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_pending_pods{queue="unschedulable"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_pending_pods{queue="gated"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="unschedulable"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_framework_extension_point_duration_seconds_count{extension_point="PostFilter",profile="default-scheduler",status="Unschedulable"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_plugin_evaluation_total{extension_point="PreFilter",plugin="NodeResourcesFit",profile="default-scheduler"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_plugin_execution_duration_seconds_count{extension_point="PreFilter",plugin="NodeResourcesFit",status="Success"} 1`)
		require.Contains(t, w.Body.String(), `scheduler_event_handling_duration_seconds_count{event="UnschedulablePodAdd"} 2`)
	})
}

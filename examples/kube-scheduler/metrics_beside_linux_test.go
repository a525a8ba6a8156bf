package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/storetest"
)

// otherFamilies are those that only one of the two has, with the reason.
var otherFamilies = map[string]string{
	"scheduler_plugin_failures_total":                     "ours: plugins that fail are counted",
	"scheduler_async_api_call_execution_duration_seconds": "SchedulerAsyncAPICalls is off",
	"scheduler_async_api_call_execution_total":            "the same",
	"scheduler_pending_async_api_calls":                   "the same",
	"scheduler_volume_binder_cache_requests_total":        "there is no such cache: volumes are a part of the cluster's state",
	"scheduler_volume_scheduling_stage_error_total":       "the same",
}

// families are those of the scheduler with the names of their labels.
func families(t *testing.T, text io.Reader) map[string]string {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(text)
	require.NoError(t, err)
	out := map[string]string{}
	for name, f := range all {
		if !strings.HasPrefix(name, "scheduler_") {
			continue
		}
		labels := map[string]bool{}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				labels[l.GetName()] = true
			}
		}
		out[name] = fmt.Sprint(f.GetType(), slices.Sorted(maps.Keys(labels)), buckets(f))
	}
	return out
}

// buckets are the upper bounds of a histogram.
func buckets(f *dto.MetricFamily) (out []float64) {
	for _, b := range f.Metric[0].GetHistogram().GetBucket() {
		out = append(out, b.GetUpperBound())
	}
	return out
}

// work gives a scheduler pods that are bound, that have no room, that preempt, and that are gated.
func (w *groupsWorld) work() {
	controllertest.Create(w.c, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 10})
	w.node("a", "3", "r1")
	w.node("b", "3", "r1")
	bound := func(n int) func() bool {
		return func() bool {
			have := 0
			for _, p := range controllertest.List[*corev1.Pod](w.c, "default") {
				if p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
					have++
				}
			}
			return have == n
		}
	}
	for i := range 6 {
		w.pod(fmt.Sprint("p-", i), "", "1", "")
	}
	require.Eventually(w.t, bound(6), time.Minute, 10*time.Millisecond)
	w.pod("large", "", "8", "")
	w.pod("high", "", "1", "high")
	gated := &corev1.Pod{ObjectMeta: controllertest.Name("default", "gated")}
	gated.Spec.Containers = []corev1.Container{{Name: "main", Image: "web:1"}}
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	controllertest.Create(w.c, gated)
	require.Eventually(w.t, func() bool {
		for _, p := range controllertest.List[*corev1.Pod](w.c, "default") {
			if p.DeletionTimestamp != nil {
				w.end(p.Name)
			}
		}
		p := controllertest.Get[*corev1.Pod](w.c, "default", "high")
		return p.Spec.NodeName != ""
	}, time.Minute, 50*time.Millisecond)
}

// TestMetricsBeside compares the families of metrics with kube-scheduler's, with their types, labels and
// buckets, after both have had the same work.
func TestMetricsBeside(t *testing.T) {
	upstream := seeds.Peer(t, "kube-scheduler")
	const gates = "--feature-gates=GenericWorkload=true"
	theirs := newGroupsWorld(t)
	_, port, err := net.SplitHostPort(storetest.FreeAddress(t))
	require.NoError(t, err)
	cmd := exec.Command(upstream, "--kubeconfig="+theirs.c.Kubeconfig(), "--leader-elect=false", "--cert-dir="+t.TempDir(),
		"--bind-address=127.0.0.1", "--secure-port="+port, "--authorization-always-allow-paths=/metrics", gates)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	theirs.work()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	var want map[string]string
	require.Eventually(t, func() bool { // some are written later
		r, err := client.Get(fmt.Sprintf("https://127.0.0.1:%s/metrics", port))
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, http.StatusOK, r.StatusCode)
		want = families(t, r.Body)
		return want["scheduler_inflight_events"] != ""
	}, time.Minute, 100*time.Millisecond)

	ours := newGroupsWorld(t)
	o := options{Options: component.Options{Name: "kube-scheduler"}}
	f := newFlags(&o)
	require.NoError(t, f.Parse([]string{gates}))
	opts, err := o.complete(f)
	require.NoError(t, err)
	m := newMetrics(true)
	opts.Metrics = m.functions()
	ours.c.Run(ours.c.Manager("scheduler", func(mgr *manager.Manager) error {
		s, err := scheduler.New(mgr, opts)
		m.follow(s)
		return err
	}))
	ours.work()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.all...)
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	have := families(t, bytes.NewReader(w.Body.Bytes()))

	for name, f := range want {
		switch has, ok := have[name]; {
		case !ok && otherFamilies[name] == "":
			t.Errorf("%s %s is missing", name, f)
		case ok && has != f:
			t.Errorf("%s: kube-scheduler %s, this scheduler %s", name, f, has)
		}
	}
	for name := range have {
		if want[name] == "" && otherFamilies[name] == "" {
			t.Errorf("%s: kube-scheduler does not have it", name)
		}
	}
}

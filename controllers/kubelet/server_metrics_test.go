package kubelet

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// counted are the counters of a family, by the values of their labels in the order of the labels' names.
func counted(t *testing.T, r registrar, family string) map[string]float64 {
	t.Helper()
	all, err := r.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, f := range all {
		if f.GetName() != family {
			continue
		}
		for _, m := range f.Metric {
			values := ""
			for _, l := range m.Label {
				values += l.GetValue() + " "
			}
			found[values] = m.GetCounter().GetValue()
		}
	}
	return found
}

// Requests are counted by what they are for, whatever their paths and methods are.
func TestMetricsOfServers(t *testing.T) {
	r := registrar{prometheus.NewRegistry()}
	m := newServerMetrics(r)
	inner := 0
	h := m.measured(serverAll, m.countStreams(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inner++ })))
	for _, q := range []struct{ method, path, protocols string }{
		{"GET", "/metrics/cadvisor", ""}, {"GET", "/metrics", ""}, {"BREW", "/pods", ""}, {"GET", "/a/b/c", ""}, {"POST", "/exec/ns/p/c", ""},
		{"GET", "/exec/ns/p/c", "v4.channel.k8s.io"}, {"GET", "/exec/ns/p/c", "v5.channel.k8s.io, v4.channel.k8s.io"}, {"GET", "/attach/ns/p/c", "v5.channel.k8s.io"},
		{"GET", "/portForward/ns/p", "SPDY/3.1+portforward.k8s.io"}, {"GET", "/logs/x", "v5.channel.k8s.io"},
	} {
		request := httptest.NewRequest(q.method, q.path, nil)
		if q.protocols != "" {
			request.Header.Set("Upgrade", "websocket")
			request.Header.Set("Sec-WebSocket-Protocol", q.protocols)
		}
		h.ServeHTTP(httptest.NewRecorder(), request)
	}
	require.Equal(t, 10, inner)
	require.Equal(t, map[string]float64{"false GET metrics/cadvisor readwrite ": 1, "false GET metrics readwrite ": 1, "false other pods readwrite ": 1, "false GET other readwrite ": 1,
		"true POST exec readwrite ": 1, "true GET exec readwrite ": 2, "true GET attach readwrite ": 1, "false GET portForward readwrite ": 1, "false GET logs readwrite ": 1},
		counted(t, r, "kubelet_http_requests_total"))
	require.Equal(t, map[string]float64{"exec ": 1, "attach ": 1, "portforward ": 1}, counted(t, r, "kubelet_websocket_streaming_requests_total"))
}

// What is measured often costs no memory: calls of the runtime, steps of workers, probes, and events of pods.
func TestMetricsAllocateNothing(t *testing.T) {
	k := &Kubelet{opts: Options{NodeName: "n1"}}
	k.metrics = newMetrics(k)
	answer := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	w := &prober{p: &probes{k: k}, key: probeKey{kind: readiness}, spec: &corev1.Container{Name: "a"}, pod: &corev1.Pod{}}
	starts := newPodStarts(k.metrics.starts)
	pod := &corev1.Pod{}
	pod.UID = "u"
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = k.metrics.call(t.Context(), "/runtime.v1.RuntimeService/ListContainers", nil, nil, nil, answer)
		k.metrics.worked[stepSync]().Observe(1)
		w.count(t.Context(), passed, time.Second)
		w.count(t.Context(), failed, time.Second)
		starts.observe(pod)
		starts.initEnded(pod, nil)
	}))
}

// The outcome of a probe that was cancelled meanwhile leaves nothing of a pod that may have been forgotten.
func TestACancelledProbeLeavesNothing(t *testing.T) {
	k := &Kubelet{opts: Options{NodeName: "n1"}}
	k.metrics = newMetrics(k)
	k.probes = newProbes(k)
	ctx, cancel := context.WithCancel(t.Context())
	key := probeKey{pod: "u", containerID: "c", kind: readiness}
	k.probes.active["u"] = map[probeKey]context.CancelFunc{key: cancel}
	w := &prober{p: k.probes, key: key, spec: &corev1.Container{Name: "a"}, pod: &corev1.Pod{}}
	k.probes.end("u")
	require.False(t, w.count(ctx, passed, time.Second))
	require.True(t, k.probes.note(ctx, key, true))
	require.Empty(t, k.probes.results)
	r := prometheus.NewRegistry()
	r.MustRegister(k.metrics.probed, k.metrics.probeTook)
	all, err := r.Gather()
	require.NoError(t, err)
	require.Empty(t, all)
}

package kubelet_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// The three servers serve what they promise and nothing else.
func TestThreeServers(t *testing.T) {
	var p port
	health, readOnly := pipenet.New(), pipenet.New()
	verbosity := ""
	var traced atomic.Int32
	bubble(t, func(r *rig) {
		p.open(r)
		health, readOnly = pipenet.New(), pipenet.New()
		r.opts.HealthzListener, r.opts.ReadOnlyListener = health, readOnly
		r.opts.SystemLogDir = r.t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(r.opts.SystemLogDir, "boot.log"), []byte("started\n"), 0o600))
		r.opts.Pages = map[string]http.Handler{"/configz": textPage("the configuration"), "/debug/pprof/": textPage("a profile"), "/flagz": textPage("the flags"), "/statusz": textPage("the state")}
		r.opts.Tracing.Handler = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				traced.Add(1)
				next.ServeHTTP(w, r)
			})
		}
		r.opts.SetVerbosity = func(v string) error { verbosity = v; return nil }
		r.rt.Measure = func(*cri.ContainerConfig) fakecri.Usage {
			return fakecri.Usage{CPU: 1500 * time.Millisecond, Memory: 1 << 20, Disk: 1 << 10, Processes: 3}
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 1}
		}, "a")
		time.Sleep(15 * time.Second)
		r.allow("reader", []string{"get", "create", "update"}, "nodes/proxy", "nodes/log", "nodes/stats", "nodes/metrics", "nodes/checkpoint", "nodes/configz", "nodes/statusz")
		user := p.user("reader")
		plain := func(l *pipenet.Listener) func(string, string) (int, string) {
			return (&caller{t: r.t, http: plainClient(l)}).do
		}
		for _, c := range []struct {
			method, path, want      string
			health, readOnly, whole int
		}{
			{"GET", "/healthz", "ok", 200, 200, 200},
			{"GET", "/healthz/syncloop", "ok", 200, 200, 200},
			{"GET", "/pods", `"phase":"Running"`, 404, 200, 200},
			{"GET", "/stats/summary", `"process_stats":{"process_count":3}`, 404, 200, 200},
			{"GET", "/stats/summary?only_cpu_and_memory=true", `"usageCoreNanoSeconds":1500000000`, 404, 200, 200},
			{"GET", "/metrics", "kubelet_running_pods 1", 404, 200, 200},
			{"GET", "/metrics/resource", `container_cpu_usage_seconds_total{container="a",namespace="default",pod="web"} 1.5 `, 404, 200, 200},
			{"GET", "/metrics/cadvisor", `container_memory_working_set_bytes{container="a"`, 404, 200, 200},
			{"GET", "/metrics/probes", `result="successful"} `, 404, 200, 200},
			{"GET", "/metrics/probes", `prober_probe_duration_seconds_count{container="a",namespace="default",pod="web",probe_type="Readiness"} `, 404, 200, 200},
			{"GET", "/metrics/slis", `kubernetes_healthcheck{name="syncloop",type="healthz"} 1`, 404, 200, 200},
			{"GET", "/metrics/slis", `kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 3`, 404, 200, 200},
			{"GET", "/runningpods/", `"name":"web"`, 404, 404, 200},
			{"GET", "/logs/boot.log", "started", 404, 404, 200},
			{"GET", "/configz", "the configuration", 404, 404, 200},
			{"GET", "/flagz", "the flags", 404, 404, 200},
			{"GET", "/statusz", "the state", 404, 404, 200},
			{"GET", "/debug/pprof/cmdline", "a profile", 404, 404, 200},
			{"PUT", "/debug/flags/v", "successfully set", 404, 404, 200},
			{"POST", "/checkpoint/default/web/a", "does not implement CheckpointContainer", 404, 404, 404},
			{"POST", "/checkpoint/default/none/a", "pod does not exist", 404, 404, 404},
		} {
			for where, do := range map[int]func(string, string) (int, string){0: plain(health), 1: plain(readOnly), 2: user.do} {
				status, text := do(c.method, c.path)
				want := []int{c.health, c.readOnly, c.whole}[where]
				if status == http.StatusMethodNotAllowed && want == 404 {
					continue // of a path that has another method
				}
				require.Equal(t, want, status, "%s %s on server %d: %s", c.method, c.path, where, text)
				if want == 200 || where == 2 {
					require.Contains(t, text, c.want, "%s on server %d", c.path, where)
				}
			}
		}
		require.Empty(t, verbosity, "an empty body")
		before := traced.Load()
		r.shows(`kubelet_http_requests_total{long_running="false",method="GET",path="metrics/probes",server_type="readonly"} 2`,
			`kubelet_http_requests_total{long_running="false",method="GET",path="metrics/probes",server_type="readwrite"} 2`,
			`kubelet_http_requests_duration_seconds_count{long_running="false",method="GET",path="metrics/cadvisor",server_type="readwrite"} 1`,
			`kubelet_http_inflight_requests{long_running="false",method="GET",path="pods",server_type="readonly"} 0`)
		require.EqualValues(t, 21, before, "each permitted request of the kubelet API")
		code, _ := p.as(nil, "").do("GET", "/pods")
		require.Equal(t, 401, code)
		require.Equal(t, before, traced.Load())
	})
}

// textPage is a page with a text.
func textPage(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

func plainClient(l *pipenet.Listener) *http.Client {
	return &http.Client{Transport: &plainTransport{&http.Transport{DialContext: l.Dial, DisableKeepAlives: true}}}
}

// plainTransport makes https requests without TLS.
type plainTransport struct{ http.RoundTripper }

func (p *plainTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	return p.RoundTripper.RoundTrip(r)
}

// The health of a kubelet whose runtime hangs turns bad, and its list of pods keeps the status.
func TestHealthFailsWithTheRuntime(t *testing.T) {
	var hang atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if hang.Load() {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		get := func() int {
			w := httptest.NewRecorder()
			r.k.Healthz().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "GET", "/healthz", nil))
			return w.Code
		}
		r.pod("web", nil, "a")
		time.Sleep(5 * time.Second)
		require.Equal(t, 200, get())
		hang.Store(true)
		time.Sleep(4 * time.Minute)
		require.Equal(t, 500, get())
		w := httptest.NewRecorder()
		r.k.ReadOnly().ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "GET", "/pods", nil))
		var list metav1.List[*corev1.Pod]
		require.NoError(t, codec.Unmarshal(w.Body.Bytes(), &list))
		require.Len(t, list.Items, 1)
		require.True(t, strings.HasPrefix(list.Items[0].Status.ContainerStatuses[0].ContainerID, "fake://"))
		hang.Store(false)
		time.Sleep(3 * time.Minute)
		require.Equal(t, 200, get())
	})
}

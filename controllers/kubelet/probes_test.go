package kubelet_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// execProbe runs a command every second and fails after the third failure in a row.
func execProbe(cmd string) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{cmd}}}, PeriodSeconds: 1, FailureThreshold: 3}
}

// eventsOf are the events about a pod, as reason: message.
func (r *rig) eventsOf(name string) []string {
	var list []string
	for _, e := range controllertest.List[*corev1.Event](r.c, "default") {
		if e.InvolvedObject.Name == name {
			list = append(list, e.Reason+": "+e.Message)
		}
	}
	return list
}

func TestARuntimeThatIsAwayFailsNoProbe(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("live", func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = execProbe("x") }, "a")
		r.pod("ready", func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = execProbe("x") }, "a")
		r.pod("startup", func(p *corev1.Pod) {
			p.Spec.Containers[0].StartupProbe = execProbe("x")
			p.Spec.Containers[0].StartupProbe.InitialDelaySeconds = 8
		}, "a")
		time.Sleep(5 * time.Second)
		r.rt.SetAway(true)
		time.Sleep(25 * time.Second)
		require.True(t, ready(r.get("ready")), "what was found out last stands")
		r.rt.SetAway(false)
		time.Sleep(10 * time.Second)
		for _, name := range []string{"live", "ready", "startup"} {
			p := r.get(name)
			require.Zero(t, p.Status.ContainerStatuses[0].RestartCount, name)
			require.True(t, ready(p), name)
		}
		require.Equal(t, 3, r.rt.Calls("StartContainer"))
		require.Contains(t, r.eventsOf("live"), "Unhealthy: Liveness probe errored and resulted in unknown state: connection error: the runtime is away")
	})
}

func TestACommandThatTakesTooLongFailsItsProbe(t *testing.T) {
	for _, events := range []bool{false, true} {
		testCommandsThatTakeTooLong(t, events)
	}
}

func testCommandsThatTakeTooLong(t *testing.T, events bool) {
	var slow, hang, frozen atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.Events, r.opts.ContainerEvents = events, events
		r.rt.Execute = func(*cri.ContainerConfig, []string) (string, int32) {
			if slow.Load() {
				time.Sleep(3 * time.Second)
			}
			return "", 0
		}
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if frozen.Load() || hang.Load() && method == "ExecSync" {
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = execProbe("x") }, "a")
		restarts := func() int32 { return r.get("web").Status.ContainerStatuses[0].RestartCount }
		time.Sleep(5 * time.Second)
		slow.Store(true)
		time.Sleep(4 * time.Second)
		slow.Store(false)
		time.Sleep(20 * time.Second)
		require.EqualValues(t, 1, restarts(), "the runtime ended the command after a second, three times")

		time.Sleep(10 * time.Minute)
		hang.Store(true)
		time.Sleep(10 * time.Minute)
		hang.Store(false)
		require.EqualValues(t, 2, restarts(), "the runtime answers all but this container's commands")

		time.Sleep(20 * time.Minute)
		before := restarts()
		frozen.Store(true)
		time.Sleep(10 * time.Minute)
		frozen.Store(false)
		time.Sleep(time.Minute)
		require.Equal(t, before, restarts(), "the runtime answers nothing: %v", r.eventsOf("web"))
	})
}

func TestAProbeThatCannotBeMadeIsNoFailure(t *testing.T) {
	bubble(t, nil, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 1,
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("nowhere")}}}
		}, "a", "b")
		time.Sleep(time.Minute)
		require.Zero(t, r.get("web").Status.ContainerStatuses[0].RestartCount)
		require.True(t, ready(r.get("web")))
		require.Contains(t, r.eventsOf("web"), `Unhealthy: Liveness probe errored and resulted in unknown state: couldn't find port: "nowhere" in container "a"`)
	})
}

func TestAnyAnswerSatisfiesAnHTTPHook(t *testing.T) {
	// The server is outside of the bubble: waiting for its socket would keep the bubble's clock still.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	bubble(t, nil, func(r *rig) {
		hook := func(port int32) *corev1.LifecycleHandler {
			return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1", Port: intstr.FromInt32(port), Path: "/"}}
		}
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook(port), PreStop: hook(port)}
			p.Spec.Containers[0].Lifecycle.PreStop.HTTPGet.Scheme = corev1.URISchemeHTTPS
		}, "a")
		r.pod("none", func(p *corev1.Pod) {
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook(1)}
		}, "a")
		time.Sleep(5 * time.Second)
		require.True(t, ready(r.get("web")))
		require.Equal(t, []string{"web/a"}, r.rt.Running(), "no answer at all is a failure")
		r.delete("web", 5)
		time.Sleep(5 * time.Second)
		require.False(t, r.exists("web"))
		for _, e := range r.eventsOf("web") {
			require.NotContains(t, e, "Failed")
		}
		require.Contains(t, r.eventsOf("web"), fmt.Sprintf("LifecycleHTTPFallback: request to HTTPS lifecycle hook 127.0.0.1:%d got HTTP response, retry with HTTP succeeded", port))
		require.Contains(t, r.metrics(), "kubelet_lifecycle_handler_http_fallbacks_total 1\n")
	})
}

// A probe follows redirects on its own host only. One to another host passes with a warning, and too many
// fail.
func TestRedirectsOfProbes(t *testing.T) {
	// The server is outside of the bubble: waiting for its socket would keep the bubble's clock still.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			w.Header().Set("Location", "http://other.test/ok")
			w.WriteHeader(http.StatusFound)
			_, _ = io.WriteString(w, "moved")
		case "/unchanged":
			w.WriteHeader(http.StatusNotModified)
		case "/here":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		}
	}))
	defer server.Close()
	port := int32(server.Listener.Addr().(*net.TCPAddr).Port)
	bubble(t, nil, func(r *rig) {
		for _, path := range []string{"away", "unchanged", "here", "loop", "broken"} {
			r.pod(path, func(p *corev1.Pod) {
				p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{PeriodSeconds: 1,
					ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Host: "127.0.0.1", Port: intstr.FromInt32(port), Path: "/" + path}}}
			}, "a")
		}
		time.Sleep(20 * time.Second)
		for path, want := range map[string]struct {
			ready bool
			event string
		}{
			"away":      {true, "ProbeWarning: Readiness probe warning: Probe terminated redirects, Response body: moved"},
			"unchanged": {true, "ProbeWarning: Readiness probe warning: Probe terminated redirects, Response body: "},
			"here":      {true, ""},
			"loop":      {false, `Unhealthy: Readiness probe failed: Get "/loop": stopped after 10 redirects`},
			"broken":    {false, "Unhealthy: Readiness probe errored and resulted in unknown state: unexpected EOF"},
		} {
			require.Equal(t, want.ready, ready(r.get(path)), path)
			if want.event != "" {
				require.Contains(t, r.eventsOf(path), want.event, path)
				continue
			}
			for _, e := range r.eventsOf(path) {
				require.NotContains(t, e, "probe")
			}
		}
	})
}

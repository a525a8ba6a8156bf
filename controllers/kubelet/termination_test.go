package kubelet_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// held keeps the object of a pod after the kubelet has deleted it, so that its last status can be read.
func held(p *corev1.Pod) { p.Finalizers = []string{"example.com/held"} }

func TestDeletedPodsReachATerminalPhase(t *testing.T) {
	for name, test := range map[string]struct {
		exit int32
		edit func(*corev1.Pod)
		want corev1.PodPhase
	}{
		"always, exits well":     {0, func(*corev1.Pod) {}, corev1.PodSucceeded},
		"always, exits badly":    {3, func(*corev1.Pod) {}, corev1.PodFailed},
		"on failure, exits well": {0, func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure }, corev1.PodSucceeded},
		"on failure, exits badly": {3, func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure },
			corev1.PodFailed},
		"never started": {0, func(p *corev1.Pod) { p.Spec.Containers[1].Image = "none" }, corev1.PodFailed},
		"init container runs": {0, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "img", ImagePullPolicy: corev1.PullNever}}
		}, corev1.PodFailed},
		"no volume": {0, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{fromConfigMap("none")} }, corev1.PodFailed},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.rt.Play = func(*cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopCode: test.exit} }
			}, func(r *rig) {
				r.pod("web", func(p *corev1.Pod) { held(p); test.edit(p) }, "a", "b")
				time.Sleep(5 * time.Second)
				before := r.get("web").Status.Phase
				require.NotEqual(t, test.want, before)
				r.delete("web", 30)
				time.Sleep(5 * time.Second)
				p := r.get("web")
				require.Equal(t, test.want, p.Status.Phase)
				require.False(t, ready(p))
				r.nothingLeft()
			})
		})
	}
}

func TestExitCodesSurviveTheDeathOfTheKubelet(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.rt.Play = func(*cri.ContainerConfig) fakecri.Script {
			return fakecri.Script{StopCode: 7, StopAfter: 2 * time.Second}
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) { held(p) }, "a")
		time.Sleep(3 * time.Second)
		r.delete("web", 30)
		time.Sleep(time.Second)
		r.line.set(refused)
		time.Sleep(time.Minute)
		r.stop()
		r.opts.StopPods = true
		r.start()
		time.Sleep(10 * time.Second)
		ended := r.get("web").Status.ContainerStatuses[0].State.Terminated
		require.NotNil(t, ended)
		require.EqualValues(t, 7, ended.ExitCode)
		require.Equal(t, "Error", ended.Reason)
		r.nothingLeft()
	})
}

func TestReadinessIsProbedUntilTheEnd(t *testing.T) {
	var refuses, sick atomic.Bool
	bubble(t, func(r *rig) {
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "quick" {
				return fakecri.Script{StopAfter: 5 * time.Second}
			}
			return fakecri.Script{StopAfter: 50 * time.Second}
		}
		r.rt.Execute = func(_ *cri.ContainerConfig, cmd []string) (string, int32) {
			if cmd[0] == "ready" && refuses.Load() || cmd[0] == "live" && sick.Load() {
				return "", 1
			}
			return "", 0
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].ReadinessProbe = execProbe("ready")
			p.Spec.Containers[0].ReadinessProbe.FailureThreshold = 1
			p.Spec.Containers[0].LivenessProbe = execProbe("live")
		}, "slow", "quick")
		time.Sleep(5 * time.Second)
		ofSlow := func() bool { return r.get("web").Status.ContainerStatuses[0].Ready }
		require.True(t, ofSlow())
		r.delete("web", 60)
		time.Sleep(10 * time.Second)
		require.True(t, ofSlow(), "it still serves")
		require.NotNil(t, r.get("web").Status.ContainerStatuses[1].State.Terminated, "what ends meanwhile is seen")
		sick.Store(true)
		refuses.Store(true)
		time.Sleep(5 * time.Second)
		require.False(t, ofSlow())
		refuses.Store(false)
		time.Sleep(5 * time.Second)
		require.True(t, ofSlow())
		time.Sleep(35 * time.Second)
		require.False(t, r.exists("web"))
		calls := r.rt.Calls("ExecSync")
		time.Sleep(10 * time.Second)
		require.Equal(t, calls, r.rt.Calls("ExecSync"))
	})
}

func TestARuntimeThatOnlySaysItStopsContainers(t *testing.T) {
	var lies atomic.Int32
	lies.Store(3)
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if (method == "StopContainer" || method == "StopPodSandbox") && lies.Add(-1) >= 0 {
				return fakecri.Instead
			}
			return 0
		}
		r.observe = func(w client.Write) {
			if w.Resource.Resource == "pods" && w.Verb == "delete" {
				require.Empty(t, r.rt.Running())
			}
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(3 * time.Second)
		r.delete("web", 5)
		time.Sleep(20 * time.Second)
		require.False(t, r.exists("web"))
		r.nothingLeft()
	})
}

// All preStop hooks begin when the pod is to end, those of sidecars too, and then sidecars wait for their
// turn.
func TestHooksOfSidecarsDoNotWait(t *testing.T) {
	var mu sync.Mutex
	hooks := map[string]time.Time{}
	bubble(t, func(r *rig) {
		r.rt.Execute = func(c *cri.ContainerConfig, _ []string) (string, int32) {
			mu.Lock()
			hooks[c.Metadata.Name] = time.Now()
			mu.Unlock()
			return "", 0
		}
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "main" {
				return fakecri.Script{StopAfter: 6 * time.Second}
			}
			return fakecri.Script{StopAfter: 2 * time.Second}
		}
	}, func(r *rig) {
		r.pod("p", func(p *corev1.Pod) {
			hook := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"x"}}}}
			for _, name := range []string{"one", "two"} {
				p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: name, Image: "img", ImagePullPolicy: corev1.PullNever,
					RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Lifecycle: hook})
			}
			p.Spec.Containers[0].Lifecycle = hook
		}, "main")
		time.Sleep(5 * time.Second)
		began := time.Now()
		r.delete("p", 30)
		time.Sleep(time.Second)
		mu.Lock()
		require.Len(t, hooks, 3)
		for name, at := range hooks {
			require.Less(t, at.Sub(began), time.Second, name)
		}
		mu.Unlock()
		time.Sleep(time.Until(began.Add(5500 * time.Millisecond)))
		require.Equal(t, []string{"p/main", "p/one", "p/two"}, r.rt.Running())
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"p/one", "p/two"}, r.rt.Running())
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"p/one"}, r.rt.Running())
		time.Sleep(2 * time.Second)
		require.Empty(t, r.rt.Running())
	})
}

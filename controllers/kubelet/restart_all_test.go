package kubelet_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// restartsAllAt gives a container a rule for an exit code, by which all containers start again.
func restartsAllAt(c *corev1.Container, code int32) {
	c.RestartPolicy = new(corev1.ContainerRestartPolicyNever)
	c.RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{code}}}}
}

// withRules is a pod with an init container, a sidecar and two containers, one of which restarts all at 42.
func withRules(p *corev1.Pod) {
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	p.Spec.InitContainers = []corev1.Container{
		{Name: "init", Image: "img", ImagePullPolicy: corev1.PullNever},
		{Name: "side", Image: "img", ImagePullPolicy: corev1.PullNever, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
	}
	restartsAllAt(&p.Spec.Containers[0], 42)
}

// runsOf is what the status says of the containers of a pod: restarts, state and how the last run ended.
func runsOf(p *corev1.Pod) (out []string) {
	for _, s := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
		text := fmt.Sprint(s.Name, " ", s.RestartCount)
		switch {
		case s.State.Running != nil:
			text += " running"
		case s.State.Waiting != nil:
			text += " " + s.State.Waiting.Reason
		case s.State.Terminated != nil:
			text += fmt.Sprint(" ended ", s.State.Terminated.ExitCode)
		}
		if last := s.LastTerminationState.Terminated; last != nil {
			text += fmt.Sprint(" after ", last.Reason, " ", last.ExitCode)
		}
		out = append(out, text)
	}
	return out
}

// A container that ends with the code of its rule starts all containers of the pod again, in place: the init
// container first, in the same sandbox. Another code follows the policy.
func TestAllContainersStartAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "init" {
				return fakecri.Script{RunFor: 5 * time.Second}
			}
			return fakecri.Script{StopAfter: time.Hour}
		}
	}, func(r *rig) {
		r.pod("p", withRules, "main", "other")
		time.Sleep(10 * time.Second)
		p := r.get("p")
		require.Equal(t, []string{"init 0 ended 0", "side 0 running", "main 0 running", "other 0 running"}, runsOf(p))
		require.False(t, truth(p, corev1.AllContainersRestarting))
		require.NotNil(t, r.condition("p", corev1.AllContainersRestarting), "it could be")
		ip := p.Status.PodIP

		r.rt.Kill("p", "main", 42)
		time.Sleep(3 * time.Second) // a second to see it; the others are stopped within two
		require.True(t, truth(r.get("p"), corev1.AllContainersRestarting), "%v", r.get("p").Status)
		time.Sleep(4 * time.Second)
		p = r.get("p")
		require.Equal(t, []string{"init 1 running after RestartingAllContainers 137", "side 1 PodInitializing after RestartingAllContainers 137"}, runsOf(p)[:2])
		require.True(t, truth(p, corev1.PodInitialized), "it was before")
		time.Sleep(6 * time.Second)
		const after = " after RestartingAllContainers 137"
		p = r.get("p")
		require.Equal(t, []string{"init 1 ended 0" + after, "side 1 running" + after, "main 1 running" + after, "other 1 running" + after}, runsOf(p))
		require.Equal(t, corev1.PodRunning, p.Status.Phase)
		require.False(t, truth(p, corev1.AllContainersRestarting))
		require.Equal(t, ip, p.Status.PodIP)
		sandboxes, containers := r.rt.Counts()
		require.Equal(t, 1, sandboxes)
		require.Equal(t, 4, containers, "the runs before are removed")

		r.rt.Kill("p", "main", 42)
		time.Sleep(15 * time.Second)
		require.Contains(t, runsOf(r.get("p")), "main 2 running"+after)

		r.rt.Kill("p", "main", 41)
		time.Sleep(5 * time.Second)
		require.Contains(t, runsOf(r.get("p")), "main 2 ended 41"+after)
		require.Contains(t, runsOf(r.get("p")), "other 2 running"+after)
		r.rt.Kill("p", "other", 0)
		time.Sleep(40 * time.Second) // the sidecar needs all of its grace period
		require.Equal(t, corev1.PodFailed, r.get("p").Status.Phase)
		require.Equal(t, "PodFailed", r.condition("p", corev1.AllContainersRestarting).Reason)
	})
}

// Whatever fails while all containers are removed, and a kubelet that ends then, lead to the same: each has
// started again once.
func TestAllContainersStartAgainAfterFaults(t *testing.T) {
	for _, method := range []string{"StopContainer", "RemoveContainer", "CreateContainer", "StartContainer"} {
		for _, fault := range []fakecri.Fault{fakecri.Before, fakecri.After} {
			for _, crash := range []bool{false, true} {
				t.Run(fmt.Sprint(method, fault, crash), func(t *testing.T) {
					var left atomic.Int32
					bubble(t, func(r *rig) {
						r.opts.StopPods = false
						r.rt.Fault = func(m string, _ any) fakecri.Fault {
							if m == method && left.Add(-1) == 0 {
								return fault
							}
							return 0
						}
						r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
							if c.Metadata.Name == "init" {
								return fakecri.Script{RunFor: time.Second}
							}
							return fakecri.Script{}
						}
					}, func(r *rig) {
						r.pod("p", withRules, "main", "other")
						time.Sleep(10 * time.Second)
						require.Len(t, r.rt.Running(), 3)
						left.Store(2)
						r.rt.Kill("p", "main", 42)
						if crash {
							time.Sleep(1500 * time.Millisecond)
							r.stop()
							r.start()
						}
						time.Sleep(2 * time.Minute)
						require.Equal(t, []string{"p/main", "p/other", "p/side"}, r.rt.Running())
						require.Equal(t, corev1.PodRunning, r.get("p").Status.Phase, "%v", runsOf(r.get("p")))
						require.False(t, truth(r.get("p"), corev1.AllContainersRestarting))
						_, containers := r.rt.Counts()
						require.LessOrEqual(t, containers, 8)
						r.opts.StopPods = true
					})
				})
			}
		}
	}
}

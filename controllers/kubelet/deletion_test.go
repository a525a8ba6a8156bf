package kubelet_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// nothingLeft requires that neither the runtime nor the node's disk has anything of any pod.
func (r *rig) nothingLeft() {
	r.t.Helper()
	boxes, containers := r.rt.Counts()
	require.Zero(r.t, boxes+containers, "in the runtime")
	entries, err := os.ReadDir(filepath.Join(r.opts.RootDir, "pods"))
	require.NoError(r.t, err)
	require.Empty(r.t, entries)
}

func TestDeletionWaitsForNothing(t *testing.T) {
	hour := int64(3600)
	sleep := &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: hour}}
	exec := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"forever"}}}
	for name, test := range map[string]struct {
		edit func(*corev1.Pod)
		hang string // the call of the runtime that hangs
	}{
		"image pull": {func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways }, "PullImage"},
		"sandbox":    {func(*corev1.Pod) {}, "RunPodSandbox"},
		"creation":   {func(*corev1.Pod) {}, "CreateContainer"},
		"start":      {func(*corev1.Pod) {}, "StartContainer"},
		"postStart that sleeps": {func(p *corev1.Pod) {
			p.Spec.TerminationGracePeriodSeconds = &hour
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: sleep}
		}, ""},
		"postStart that hangs": {func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: exec} }, "ExecSync"},
		"slow end after a failed probe": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Name = "slow"
			p.Spec.Containers[0].LivenessProbe = execProbe("fails")
			p.Spec.Containers[0].LivenessProbe.TerminationGracePeriodSeconds = &hour
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.rt.Execute = func(*cri.ContainerConfig, []string) (string, int32) { return "", 1 }
				r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
					if c.Metadata.Name == "slow" {
						return fakecri.Script{StopAfter: time.Hour}
					}
					return fakecri.Script{}
				}
				r.rt.Fault = func(method string, _ any) fakecri.Fault {
					if method == test.hang {
						return fakecri.Hang
					}
					return 0
				}
			}, func(r *rig) {
				r.pod("web", test.edit, "a")
				time.Sleep(20 * time.Second)
				require.True(t, r.exists("web"))
				r.delete("web", 1)
				time.Sleep(4 * time.Second)
				require.False(t, r.exists("web"))
				time.Sleep(2 * time.Second)
				r.nothingLeft()
			})
		})
	}
}

func TestADeadlineWaitsForNothing(t *testing.T) {
	var pulls atomic.Int32
	bubble(t, func(r *rig) {
		r.rt.Fault = func(method string, _ any) fakecri.Fault {
			if method == "PullImage" {
				pulls.Add(1)
				return fakecri.Hang
			}
			return 0
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			limit := int64(30)
			p.Spec.ActiveDeadlineSeconds = &limit
			p.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways
		}, "a")
		time.Sleep(32 * time.Second)
		p := r.get("web")
		require.Equal(t, corev1.PodFailed, p.Status.Phase)
		require.Equal(t, "DeadlineExceeded", p.Status.Reason)
		require.EqualValues(t, 1, pulls.Load())
	})
}

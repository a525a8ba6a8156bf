package kubelet_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecri"
)

// shows requires lines of /metrics.
func (r *rig) shows(lines ...string) {
	r.t.Helper()
	requireLines(r.t, r.metrics(), lines)
}

func requireLines(t *testing.T, text string, lines []string) {
	t.Helper()
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		all[strings.TrimSpace(line)] = true
	}
	for _, line := range lines {
		if all[line] {
			continue
		}
		family, _, _ := strings.Cut(line, "{")
		family, _, _ = strings.Cut(family, " ")
		var have []string
		for other := range all {
			if strings.HasPrefix(other, family) {
				have = append(have, other)
			}
		}
		t.Errorf("want %s, found %q", line, have)
	}
}

// The start of pods is measured from their creation, from when the kubelet saw them, and without what others
// are the cause of: pulls of images and init containers.
func TestMetricsOfStarts(t *testing.T) {
	bubble(t, func(r *rig) {
		r.rt.Pull = func(string, *cri.AuthConfig) error {
			time.Sleep(7 * time.Second)
			return nil
		}
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script {
			if c.Metadata.Name == "first" {
				return fakecri.Script{RunFor: 5 * time.Second}
			}
			return fakecri.Script{}
		}
	}, func(r *rig) {
		// The host was started a minute before the bubble; the registration takes no time.
		r.shows("kubelet_node_startup_pre_kubelet_duration_seconds 60", "kubelet_node_startup_pre_registration_duration_seconds 0", "kubelet_node_startup_registration_duration_seconds 0",
			"kubelet_node_startup_post_registration_duration_seconds 0", "kubelet_node_startup_duration_seconds 60",
			`kubelet_node_name{node="n1"} 1`, `kubelet_metrics_provider{provider="cri"} 1`)
		r.pod("plain", nil, "a", "b", "c")
		time.Sleep(10 * time.Second)
		r.shows("kubelet_containers_per_pod_count_sum 3", "kubelet_pod_worker_start_duration_seconds_count 1", "kubelet_pod_start_duration_seconds_count 1",
			"kubelet_pod_start_total_duration_seconds_count 1", "kubelet_pod_start_sli_duration_seconds_count 1",
			`kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1`,
			"kubelet_started_pods_total 1", "kubelet_started_pods_errors_total 0", `kubelet_started_containers_total{container_type="container"} 3`,
			`kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""} 1`, `kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1`)
		require.Contains(t, r.metrics(), `kubelet_pod_worker_duration_seconds_count{operation_type="sync"}`)
		require.NotContains(t, r.metrics(), "kubelet_first_network_pod_start_sli_duration_seconds 0\n")

		// Twelve seconds, of which the image took seven and the init container five.
		r.pod("slow", func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "first", Image: "img", ImagePullPolicy: corev1.PullIfNotPresent}}
			p.Spec.Containers[0].Image = "other"
		}, "a")
		time.Sleep(20 * time.Second)
		require.True(t, ready(r.get("slow")))
		r.shows(`kubelet_pod_start_total_duration_seconds_bucket{le="10"} 1`, `kubelet_pod_start_total_duration_seconds_bucket{le="20"} 2`,
			`kubelet_pod_start_sli_duration_seconds_bucket{le="2"} 2`, `kubelet_pod_start_duration_seconds_bucket{le="20"} 2`,
			`kubelet_image_pull_duration_seconds_bucket{image_size_in_bytes="0-10MB",le="5"} 0`, `kubelet_image_pull_duration_seconds_bucket{image_size_in_bytes="0-10MB",le="10"} 1`,
			`kubelet_started_containers_total{container_type="init_container"} 1`, `kubelet_terminated_containers_total{container_type="init_container",exit_code="0",reason="Completed"} 1`)

		// A pod with a volume of the machine is no pod whose start others promise.
		r.pod("stateful", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(os.Getgid()))}
		}, "a")
		time.Sleep(70 * time.Second)
		r.shows("kubelet_pod_start_total_duration_seconds_count 3", "kubelet_pod_start_sli_duration_seconds_count 2",
			`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/host-path"} 1`,
			`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/empty-dir"} 1`,
			`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_apply_access_control",status="success",volume_plugin="kubernetes.io/empty-dir"} 1`,
			`volume_operation_total_seconds_count{operation_name="overall_volume_mount",plugin_name="kubernetes.io/empty-dir"} 1`,
			`volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="desired_state_of_world"} 1`,
			`volume_manager_total_volumes{plugin_name="kubernetes.io/empty-dir",state="actual_state_of_world"} 1`)
		require.Contains(t, r.metrics(), `kubelet_volume_metric_collection_duration_seconds_count{metric_source="du"}`)
		r.delete("stateful", 0)
		time.Sleep(5 * time.Second)
		r.shows(`storage_operation_duration_seconds_count{migrated="false",operation_name="volume_unmount",status="success",volume_plugin="kubernetes.io/empty-dir"} 1`)
		require.NotContains(t, r.metrics(), "volume_manager_total_volumes")
	})
}

// The pods of the node are counted by how far they are, with what they run and how that ended.
func TestMetricsOfPods(t *testing.T) {
	bubble(t, func(r *rig) {
		r.opts.StaticPodDir = r.t.TempDir()
		r.rt.Logs = true
		r.rt.Play = func(c *cri.ContainerConfig) fakecri.Script { return fakecri.Script{StopAfter: 20 * time.Second} }
	}, func(r *rig) {
		manifest := filepath.Join(r.opts.StaticPodDir, "s.yaml")
		text := []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: s, uid: fixed}\nspec: {terminationGracePeriodSeconds: 30, containers: [{name: a, image: img, imagePullPolicy: IfNotPresent}]}\n")
		require.NoError(t, os.WriteFile(manifest, text, 0o600))
		r.pod("web", nil, "a")
		r.pod("large", wants("5"), "a")
		r.pod("done", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }, "a")
		time.Sleep(10 * time.Second)
		r.rt.Kill("done", "a", 3)
		require.NoError(t, r.rt.Print("web", "a", "hello"))
		time.Sleep(70 * time.Second)
		r.shows(`kubelet_desired_pods{static=""} 3`, `kubelet_desired_pods{static="true"} 1`, `kubelet_active_pods{static=""} 1`, `kubelet_active_pods{static="true"} 1`,
			"kubelet_mirror_pods 1", `kubelet_working_pods{config="desired",lifecycle="sync",static=""} 1`, `kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1`,
			`kubelet_working_pods{config="desired",lifecycle="terminated",static=""} 2`, `kubelet_admission_rejections_total{reason="OutOfcpu"} 1`,
			`kubelet_terminated_containers_total{container_type="container",exit_code="3",reason="Error"} 1`, "kubelet_managed_ephemeral_containers 0",
			"kubelet_orphaned_runtime_pods_total 0", "kubelet_orphan_pod_cleaned_volumes 0", "kubelet_orphan_pod_cleaned_volumes_errors 0")
		require.Regexp(t, `kubelet_container_log_filesystem_used_bytes\{container="a",namespace="default",pod="web",uid="[^"]+"\} [1-9]`, r.metrics())

		// The manifest goes and comes back with its UID while its containers are ending.
		require.NoError(t, os.Remove(manifest))
		time.Sleep(5 * time.Second)
		r.shows(`kubelet_working_pods{config="orphan",lifecycle="terminating",static="true"} 1`, `kubelet_desired_pods{static="true"} 0`)
		require.NoError(t, os.WriteFile(manifest, text, 0o600))
		time.Sleep(40 * time.Second)
		r.shows(`kubelet_restarted_pods_total{static="true"} 1`, `kubelet_restarted_pods_total{static=""} 0`, `kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 1`)
		require.Contains(t, r.metrics(), `kubelet_pod_worker_duration_seconds_count{operation_type="kill"}`)
		require.Contains(t, r.metrics(), `kubelet_pod_worker_duration_seconds_count{operation_type="terminated"}`)
	})
}

// Sandboxes and containers that cannot be made are counted by why, and each attempt to make one.
func TestMetricsOfFailures(t *testing.T) {
	var broken atomic.Pointer[string]
	broken.Store(new("RunPodSandbox"))
	bubble(t, func(r *rig) {
		r.rt.Fail = func(method string) error {
			if method == *broken.Load() {
				return errors.New("not now")
			}
			return nil
		}
	}, func(r *rig) {
		r.pod("web", func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 30}}}
		}, "a")
		time.Sleep(time.Second)
		tries := r.rt.Calls("RunPodSandbox")
		require.NotZero(t, tries)
		r.shows(fmt.Sprint("kubelet_started_pods_total ", tries), fmt.Sprint("kubelet_started_pods_errors_total ", tries), fmt.Sprint(`kubelet_run_podsandbox_errors_total{runtime_handler=""} `, tries))
		broken.Store(new("CreateContainer"))
		time.Sleep(15 * time.Second)
		r.shows(fmt.Sprint("kubelet_started_pods_total ", tries+1), fmt.Sprint("kubelet_started_pods_errors_total ", tries), `kubelet_started_containers_total{container_type="container"} 1`,
			`kubelet_started_containers_errors_total{code="CreateContainerError",container_type="container"} 1`)
		broken.Store(new(""))
		time.Sleep(12 * time.Second)
		require.True(t, ready(r.get("web")))
		r.shows(`kubelet_started_containers_total{container_type="container"} 2`)
		r.pod("absent", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = "none", corev1.PullNever
		}, "a")
		time.Sleep(time.Second)
		require.Contains(t, r.metrics(), `kubelet_started_containers_errors_total{code="ErrImageNeverPull",container_type="container"} `)

		// A shorter grace period ends the sleep of the hook, and that of the hook that is then run again.
		r.delete("web", 40)
		time.Sleep(5 * time.Second)
		r.shows("kubelet_sleep_action_terminated_early_total 0")
		r.delete("web", 1)
		time.Sleep(5 * time.Second)
		r.shows("kubelet_sleep_action_terminated_early_total 2")
		require.False(t, r.exists("web"))
	})
}

// What an earlier kubelet has left of a pod that is gone is counted once, and its folder until it is removed.
func TestMetricsOfOrphans(t *testing.T) {
	var broken atomic.Bool
	bubble(t, func(r *rig) {
		r.opts.StopPods = false
		r.rt.Fail = func(method string) error {
			if broken.Load() && method == "RemovePodSandbox" {
				return errors.New("not now")
			}
			return nil
		}
	}, func(r *rig) {
		r.pod("web", nil, "a")
		time.Sleep(5 * time.Second)
		r.stop()
		r.delete("web", 0)
		broken.Store(true)
		r.start()
		time.Sleep(20 * time.Second)
		r.shows("kubelet_orphaned_runtime_pods_total 1", "kubelet_orphan_pod_cleaned_volumes 1", "kubelet_orphan_pod_cleaned_volumes_errors 1")
		broken.Store(false)
		time.Sleep(10 * time.Second)
		r.shows("kubelet_orphaned_runtime_pods_total 1", "kubelet_orphan_pod_cleaned_volumes 0", "kubelet_orphan_pod_cleaned_volumes_errors 0",
			`kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 0`)
	})
}

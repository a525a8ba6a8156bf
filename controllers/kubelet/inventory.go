package kubelet

import (
	"github.com/prometheus/client_golang/prometheus"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/informers"
)

// inventory counts what there is at the moment.
type inventory struct{ k *Kubelet }

var (
	runningPods       = prometheus.NewDesc("kubelet_running_pods", "Pods whose sandbox is ready.", nil, nil)
	runningContainers = prometheus.NewDesc("kubelet_running_containers", "Containers, by state.", []string{"container_state"}, nil)
	desiredPods       = prometheus.NewDesc("kubelet_desired_pods", "Pods of the API server and of manifests.", []string{"static"}, nil)
	activePods        = prometheus.NewDesc("kubelet_active_pods", "Those of them that have not ended.", []string{"static"}, nil)
	mirrorPods        = prometheus.NewDesc("kubelet_mirror_pods", "Objects that show pods of manifests.", nil, nil)
	workingPods       = prometheus.NewDesc("kubelet_working_pods", "Pods that the kubelet works for, by how far they are and whether they are still wanted.", []string{"lifecycle", "config", "static"}, nil)
	debuggers         = prometheus.NewDesc("kubelet_managed_ephemeral_containers", "Ephemeral containers of the pods of the node.", nil, nil)
	logBytes          = prometheus.NewDesc("kubelet_container_log_filesystem_used_bytes", "Bytes that the logs of a container use.", []string{"uid", "namespace", "pod", "container"}, nil)
)

// Describe implements prometheus.Collector.
func (inventory) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{runningPods, runningContainers, desiredPods, activePods, mirrorPods, workingPods, debuggers, logBytes} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (i inventory) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	pods, containers := i.k.pleg.counts()
	gauge(runningPods, pods)
	for state, n := range containers {
		gauge(runningContainers, n, stateNames[state])
	}
	c := i.count()
	for _, static := range []string{"", "true"} {
		gauge(desiredPods, c.desired[static], static)
		gauge(activePods, c.active[static], static)
	}
	gauge(mirrorPods, c.mirrors)
	gauge(debuggers, c.debuggers)
	for _, lifecycle := range []string{"sync", "terminating", "terminated"} {
		for _, config := range []string{"desired", "orphan"} {
			for _, static := range []string{"", "true"} {
				gauge(workingPods, c.working[[3]string{lifecycle, config, static}], lifecycle, config, static)
			}
		}
		n := 0
		if lifecycle == "terminating" {
			n = i.k.orphans.running()
		}
		gauge(workingPods, n, lifecycle, "runtime_only", "unknown")
	}
	for uid, p := range i.k.stats.disks.all() {
		for container, logs := range p.logs {
			ch <- prometheus.MustNewConstMetric(logBytes, prometheus.GaugeValue, float64(logs.Bytes), string(uid), p.namespace, p.name, container)
		}
	}
}

var stateNames = map[cri.ContainerState]string{
	cri.ContainerState_CONTAINER_CREATED: "created", cri.ContainerState_CONTAINER_RUNNING: "running",
	cri.ContainerState_CONTAINER_EXITED: "exited", cri.ContainerState_CONTAINER_UNKNOWN: "unknown",
}

// podCounts are how many pods there are: those that are wanted and those that have not ended, by whether they
// come from manifests, and those that are worked for, by lifecycle, config and static.
type podCounts struct {
	desired, active    map[string]int
	working            map[[3]string]int
	mirrors, debuggers int
}

func (i inventory) count() podCounts {
	c := podCounts{desired: map[string]int{}, active: map[string]int{}, working: map[[3]string]int{}}
	for _, w := range i.k.allWorkers() {
		pod, removed := w.desired()
		static, config, lifecycle := "", "desired", w.lifecycle()
		if w.static {
			static = "true"
		}
		if removed {
			config = "orphan"
		} else {
			c.desired[static]++
			c.debuggers += len(pod.Spec.EphemeralContainers)
			if lifecycle != lifeTerminated {
				c.active[static]++
			}
		}
		c.working[[3]string{lifecycle, config, static}]++
	}
	// A copy that cannot be read has none.
	_ = i.k.apiPods.Lister().ViewAll(informers.ListOptions{}, func(p *corev1.Pod) bool {
		if isMirror(p) {
			c.mirrors++
		}
		return true
	})
	return c
}

// How far a pod is, as metrics call it.
const (
	lifeSync        = "sync"
	lifeTerminating = "terminating"
	lifeTerminated  = "terminated"
)

// lifecycle is how far the pod is.
func (w *worker) lifecycle() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.hasHalted() || w.ordered == nil && !w.removed && w.pod.DeletionTimestamp == nil && over(w.pod.Status.Phase):
		return lifeTerminated
	case w.removed || w.pod.DeletionTimestamp != nil || w.ordered != nil:
		return lifeTerminating
	}
	return lifeSync
}

package kubelet

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// podMetrics are about pods and their containers: what is done for them, and how long that takes.
type podMetrics struct {
	containersPerPod prometheus.Histogram
	// worked are the durations of the steps of workers, by kind.
	worked      [stepKinds]func() prometheus.Observer
	workerStart prometheus.Histogram
	// ran is how long pods took to run after the kubelet had seen them.
	ran           prometheus.Histogram
	statusWritten prometheus.Histogram
	starts        startMetrics

	started, startsFailed     prometheus.Counter
	startedUsers, usersErrors prometheus.Counter
	startedContainers         *prometheus.CounterVec
	startErrors, terminated   *prometheus.CounterVec
	rejected, restarted       *prometheus.CounterVec
	orphaned                  prometheus.Counter
	// leftover and leftoverErrors are the folders of pods that are gone.
	leftover, leftoverErrors prometheus.Gauge
	hookFallbacks            prometheus.Counter
	sleepsEnded              prometheus.Counter
}

// startMetrics are how long pods took to start, in seconds since they were created.
type startMetrics struct {
	total, own prometheus.Histogram
	network    prometheus.Gauge // of the first pod with a network of its own
}

// startBuckets are those of the durations of starts, in seconds.
var startBuckets = []float64{.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}

func newPodMetrics(r registrar) podMetrics {
	seconds := prometheus.DefBuckets
	m := podMetrics{
		containersPerPod: r.histogram("kubelet_containers_per_pod_count", "Containers of the pods that were let in.", prometheus.ExponentialBuckets(1, 2, 5)),
		workerStart:      r.histogram("kubelet_pod_worker_start_duration_seconds", "Seconds from when the kubelet saw a pod until it began to work for it.", seconds),
		ran:              r.histogram("kubelet_pod_start_duration_seconds", "Seconds from when the kubelet saw a pod until the pod ran.", startBuckets),
		statusWritten: r.histogram("kubelet_pod_status_sync_duration_seconds", "Seconds from the first change of a pod's status until the API server had it, with all changes since.",
			[]float64{.01, .05, .1, .5, 1, 5, 10, 20, 30, 45, 60}),
		starts: startMetrics{
			total:   r.histogram("kubelet_pod_start_total_duration_seconds", "Seconds from the creation of a pod until a watch showed that all its containers had been started.", startBuckets),
			own:     r.histogram("kubelet_pod_start_sli_duration_seconds", "The same of pods without volumes of the cluster, without the pulls of images and the work of init containers.", startBuckets),
			network: r.gauge("kubelet_first_network_pod_start_sli_duration_seconds", "The same of the first such pod that has a network of its own."),
		},
		started:           r.counter("kubelet_started_pods_total", "Sandboxes of pods whose start was tried."),
		startsFailed:      r.counter("kubelet_started_pods_errors_total", "Sandboxes of pods that could not be made."),
		startedUsers:      r.counter("kubelet_started_user_namespaced_pods_total", "Pods with a user namespace whose start was tried."),
		usersErrors:       r.counter("kubelet_started_user_namespaced_pods_errors_total", "Starts of pods with a user namespace that failed."),
		startedContainers: r.counters("kubelet_started_containers_total", "Containers whose start was tried.", "container_type"),
		startErrors:       r.counters("kubelet_started_containers_errors_total", "Starts of containers that failed, by reason.", "container_type", "code"),
		terminated:        r.counters("kubelet_terminated_containers_total", "Ends of containers, by exit code and reason.", "container_type", "exit_code", "reason"),
		rejected:          r.counters("kubelet_admission_rejections_total", "Pods that were not let in, by reason.", "reason"),
		restarted:         r.counters("kubelet_restarted_pods_total", "Pods that came back with their UID while they were ending.", "static"),
		orphaned:          r.counter("kubelet_orphaned_runtime_pods_total", "Pods that the runtime had and the kubelet had not."),
		leftover:          r.gauge("kubelet_orphan_pod_cleaned_volumes", "Pods without an object whose folders the latest sweep has found."),
		leftoverErrors:    r.gauge("kubelet_orphan_pod_cleaned_volumes_errors", "Those of them that an earlier sweep has failed to remove."),
		hookFallbacks:     r.counter("kubelet_lifecycle_handler_http_fallbacks_total", "Hooks over HTTPS that succeeded without TLS."),
		sleepsEnded:       r.counter("kubelet_sleep_action_terminated_early_total", "Sleeps of hooks that were ended before their time."),
	}
	took := r.histograms("kubelet_pod_worker_duration_seconds", "Seconds that a step of the work for a pod took, by its cause.", seconds, "operation_type")
	for kind, name := range [stepKinds]string{"create", "update", "sync", "kill", "terminated"} {
		m.worked[kind] = sync.OnceValue(func() prometheus.Observer { return took.WithLabelValues(name) })
	}
	for _, static := range []string{"", "true"} {
		m.restarted.WithLabelValues(static)
	}
	return m
}

// stepKind is why a worker works for its pod.
type stepKind int

const (
	stepCreate stepKind = iota // it is new here
	stepUpdate                 // it was changed
	stepSync                   // time has passed, or something has happened in the runtime
	stepKill                   // it is to end
	stepLast                   // after which nothing of it is left
	stepKinds
)

// knownRejections are the reasons for which pods are not let in. Others, of which there may be any number,
// are put together.
var knownRejections = []string{"AppArmor", "Evicted", "InitContainerRestartPolicyForbidden", "InvalidNodeInfo", "NodeShutdown", "OutOfcpu", "OutOfephemeral-storage",
	"OutOfmemory", "OutOfpods", "PodFeatureUnsupported", "PodLevelResourcesNotSupported", "PodOSNotSupported", "PodOSSelectorNodeLabelDoesNotMatch",
	"SupplementalGroupsPolicyNotSupported", "SysctlForbidden", "TopologyAffinityError", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType", "UnknownReason",
	"VolumeAttachmentLimitExceeded", "node(s) had taints that the pod didn't tolerate"}

// reject counts a pod that was not let in.
func (m *podMetrics) reject(reason string) {
	switch {
	case slices.Contains(knownRejections, reason):
	case strings.HasPrefix(reason, "OutOf"):
		reason = "OutOfExtendedResources"
	default:
		reason = "Other"
	}
	m.rejected.WithLabelValues(reason).Inc()
}

// ended counts the containers that have ended from one status of a pod to the next.
func (m *podMetrics) ended(before, after *corev1.PodStatus) {
	each := func(sort string, before, after []corev1.ContainerStatus) {
		for i := range after {
			end := after[i].State.Terminated
			if end == nil {
				continue
			}
			if was := find(before, after[i].Name); was == nil || was.State.Terminated == nil {
				m.terminated.WithLabelValues(sort, strconv.Itoa(int(end.ExitCode)), end.Reason).Inc()
			}
		}
	}
	each(initContainer, before.InitContainerStatuses, after.InitContainerStatuses)
	each("container", before.ContainerStatuses, after.ContainerStatuses)
	each("ephemeral_container", before.EphemeralContainerStatuses, after.EphemeralContainerStatuses)
}

// countUsers counts a sync that makes a sandbox, if the pod has a user namespace. The function that it
// returns is called at the end of the sync, and counts whether anything failed in it.
func (w *worker) countUsers(ctx context.Context, pod *corev1.Pod, err *error) (end func()) {
	if !ownUsers(pod) {
		return func() {}
	}
	w.k.metrics.startedUsers.Inc()
	return func() {
		if ctx.Err() == nil && (*err != nil || len(w.waiting) > 0) {
			w.k.metrics.usersErrors.Inc()
		}
	}
}

// initContainer is how metrics name the sort of init containers.
const initContainer = "init_container"

// containerType is how metrics name the sort of a container.
func containerType(pod *corev1.Pod, name string) string {
	switch {
	case slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name }):
		return initContainer
	case isMain(pod, name):
		return "container"
	}
	return "ephemeral_container"
}

// isMain reports whether a container is one of those that do the pod's work.
func isMain(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
}

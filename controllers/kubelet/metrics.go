package kubelet

import (
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/client/certificate"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/pullrecords"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// metrics are the kubelet's own, with the names of k8s.io/kubernetes/pkg/kubelet/metrics, v1.36.3.
type metrics struct {
	registry, probes *prometheus.Registry

	operations, operationErrors *prometheus.CounterVec
	operationDuration           *prometheus.HistogramVec
	relist, relistInterval      prometheus.Histogram
	relisted                    prometheus.Gauge
	started                     prometheus.Counter
	claimOperations             *prometheus.HistogramVec
	driverCalls                 *prometheus.HistogramVec
	memoryMin, memoryLow        prometheus.Gauge // nil unless memory is protected
	startedUsers, usersErrors   prometheus.Counter
	hookFallbacks               prometheus.Counter
	// imageVolumes were requested of the runtime, imagesMounted were mounted, imageErrors were not.
	imageVolumes, imagesMounted, imageErrors prometheus.Counter
	startedContainers                        *prometheus.CounterVec
	startErrors                              *prometheus.CounterVec
	evictions                                *prometheus.CounterVec
	preemptions                              *prometheus.CounterVec
	probed                                   *prometheus.CounterVec
	losingSupport                            *prometheus.GaugeVec
	verified, images                         *prometheus.CounterVec
	providerErrors                           *prometheus.CounterVec
	providerDuration                         *prometheus.HistogramVec
	servingAge                               prometheus.Histogram
	shutdownStart, shutdownEnd               prometheus.Gauge
}

func newMetrics(k *Kubelet) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), probes: prometheus.NewRegistry()}
	seconds := prometheus.DefBuckets
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	m.operations = counters("kubelet_runtime_operations_total", "Calls of the container runtime, by method.", "operation_type")
	m.operationErrors = counters("kubelet_runtime_operations_errors_total", "Calls of the container runtime that failed, by method.", "operation_type")
	m.startedContainers = counters("kubelet_started_containers_total", "Containers that were started.", "container_type")
	m.startErrors = counters("kubelet_started_containers_errors_total", "Starts of containers that failed, by reason.", "container_type", "code")
	m.evictions = counters("kubelet_evictions", "Pods evicted, by the signal that passed its threshold.", "eviction_signal")
	m.preemptions = counters("kubelet_preemptions", "Pods preempted for a critical one, by the resource it lacked.", "preemption_signal")
	m.verified = counters("kubelet_imagemanager_image_mustpull_checks_total", "Checks whether a pod may use an image that is present, by result.", "result")
	m.images = counters("kubelet_image_manager_ensure_image_requests_total", "Images that containers needed, by pull policy and whether they were present and pulled.", "pull_policy", "present_locally", "pull_required")
	m.providerErrors = counters("kubelet_credential_provider_plugin_errors_total", "Runs of credential provider plugins that failed.", "plugin_name")
	m.providerDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kubelet_credential_provider_plugin_duration",
		Help: "Seconds that runs of credential provider plugins took.", Buckets: seconds}, []string{"plugin_name"})
	m.operationDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kubelet_runtime_operations_duration_seconds",
		Help: "Seconds that calls of the container runtime took, by method.", Buckets: prometheus.ExponentialBuckets(.005, 2.5, 14)}, []string{"operation_type"})
	m.relist = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kubelet_pleg_relist_duration_seconds", Help: "Seconds that reading all pods of the runtime took.", Buckets: seconds})
	m.relistInterval = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kubelet_pleg_relist_interval_seconds", Help: "Seconds between two readings of all pods of the runtime.", Buckets: seconds})
	m.relisted = prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_pleg_last_seen_seconds", Help: "Unix time in seconds of the last reading of all pods of the runtime."})
	m.started = prometheus.NewCounter(prometheus.CounterOpts{Name: "kubelet_started_pods_total", Help: "Pods whose first sandbox was made."})
	durations := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 40}
	m.claimOperations = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dra_operations_duration_seconds", Buckets: durations,
		Help: "Seconds that preparing or releasing all claims of a pod took."}, []string{"operation_name", "is_error"})
	m.driverCalls = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "dra_grpc_operations_duration_seconds", Buckets: durations,
		Help: "Seconds that calls of DRA drivers took."}, []string{"driver_name", "method_name", "grpc_status_code"})
	m.registry.MustRegister(m.claimOperations, m.driverCalls)
	if k.opts.MemoryQoS != nil {
		m.memoryMin = prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_memory_qos_node_memory_min_bytes",
			Help: "Bytes of memory.min of the node's Guaranteed pods, which the kernel never takes back."})
		m.memoryLow = prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_memory_qos_node_memory_low_bytes",
			Help: "Bytes of memory.low of the node's Burstable pods, which the kernel takes back last."})
		m.registry.MustRegister(m.memoryMin, m.memoryLow)
	}
	m.hookFallbacks = prometheus.NewCounter(prometheus.CounterOpts{Name: "kubelet_lifecycle_handler_http_fallbacks_total", Help: "Hooks over HTTPS that succeeded without TLS."})
	m.startedUsers = prometheus.NewCounter(prometheus.CounterOpts{Name: "kubelet_started_user_namespaced_pods_total", Help: "Pods with a user namespace whose start was tried."})
	m.usersErrors = prometheus.NewCounter(prometheus.CounterOpts{Name: "kubelet_started_user_namespaced_pods_errors_total", Help: "Starts of pods with a user namespace that failed."})
	for counter, about := range map[*prometheus.Counter][2]string{
		&m.imageVolumes:  {"kubelet_image_volume_requested_total", "Image volumes that containers needed."},
		&m.imagesMounted: {"kubelet_image_volume_mounted_succeed_total", "Image volumes that were mounted."},
		&m.imageErrors:   {"kubelet_image_volume_mounted_errors_total", "Image volumes whose mount failed."},
	} {
		*counter = prometheus.NewCounter(prometheus.CounterOpts{Name: about[0], Help: about[1]})
		m.registry.MustRegister(*counter)
	}
	m.shutdownStart = prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_graceful_shutdown_start_time_seconds",
		Help: "Unix time in seconds at which the kubelet began to end pods for the last shutdown of the machine; 0 without one."})
	m.shutdownEnd = prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_graceful_shutdown_end_time_seconds",
		Help: "Unix time in seconds at which no pod was waited for any more in the last shutdown of the machine; 0 before that."})
	m.registry.MustRegister(m.shutdownStart, m.shutdownEnd)
	name := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_node_name", Help: "1, with the name of the node as a label.", ConstLabels: prometheus.Labels{"node": k.opts.NodeName}})
	name.Set(1)
	m.losingSupport = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "kubelet_cri_losing_support",
		Help: "1, with the first version of Kubernetes that this container runtime is too old for as a label."}, []string{"version"})
	m.registry.MustRegister(m.providerDuration, m.losingSupport, m.operationDuration, m.relist, m.relistInterval, m.relisted, m.started, m.startedUsers, m.usersErrors, m.hookFallbacks, name, inventory{k}, volumeUse{k},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.probed = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "prober_probe_total", Help: "Probes of containers, by kind and result."},
		[]string{"probe_type", "result", "container", "pod", "namespace", "pod_uid"})
	m.probes.MustRegister(m.probed)
	return m
}

// certificates shows how long the certificates that are renewed are valid, and how often that failed;
// either may be nil. The names are those of k8s.io/kubernetes/pkg/kubelet/certificate/kubelet.go and
// cmd/kubelet/app/server.go, v1.36.3.
func (m *metrics) certificates(serving, client *certificate.Manager) {
	show := func(c *certificate.Manager, left, leftHelp, failures string) {
		m.registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: left, Help: leftHelp}, func() float64 {
				if now := c.Current(); now != nil {
					return math.Trunc(time.Until(now.Leaf.NotAfter).Seconds())
				}
				return math.Inf(1)
			}),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: failures, Help: "Failed attempts to renew the certificate."}, func() float64 {
				n, _ := c.Failures()
				return float64(n)
			}))
	}
	if client != nil {
		show(client, "kubelet_certificate_manager_client_ttl_seconds", "Seconds until the client certificate expires; +Inf without one.", "kubelet_certificate_manager_client_expiration_renew_errors")
	}
	if serving == nil {
		return
	}
	show(serving, "kubelet_certificate_manager_server_ttl_seconds", "Seconds until the serving certificate expires; +Inf without one.", "kubelet_server_expiration_renew_errors")
	const hour, day = 3600, 24 * 3600
	m.servingAge = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "kubelet_certificate_manager_server_rotation_seconds",
		Help:    "Age in seconds of a serving certificate when it was replaced.",
		Buckets: []float64{60, hour, 4 * hour, day, 7 * day, 30 * day, 90 * day, 180 * day, 360 * day, 1440 * day}})
	m.registry.MustRegister(m.servingAge)
}

// call measures the calls of the runtime.
func (m *metrics) call(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	began := time.Now()
	err := invoke(ctx, method, req, reply, cc, opts...)
	name := operation(path.Base(method))
	m.operations.WithLabelValues(name).Inc()
	m.operationDuration.WithLabelValues(name).Observe(time.Since(began).Seconds())
	if err != nil && status.Code(err) != codes.Canceled {
		m.operationErrors.WithLabelValues(name).Inc()
	}
	return err
}

// shutdown shows the times of the last shutdown.
func (m *metrics) shutdown(t shutdownTimes) {
	show := func(g prometheus.Gauge, at time.Time) {
		if at.IsZero() {
			g.Set(0)
		} else {
			g.Set(float64(at.Unix()))
		}
	}
	show(m.shutdownStart, t.Start)
	show(m.shutdownEnd, t.End)
}

// protected shows how much memory of guaranteed and burstable pods the kernel protects, in bytes.
func (m *metrics) protected(guaranteed, burstable int64) {
	m.memoryMin.Set(float64(guaranteed))
	m.memoryLow.Set(float64(burstable))
}

// usersFailed counts a sync that made the sandbox of a pod with a user namespace, if anything failed in it.
func (m *metrics) usersFailed(ctx context.Context, err error, waiting map[string]corev1.ContainerStateWaiting) {
	if ctx.Err() == nil && (err != nil || len(waiting) > 0) {
		m.usersErrors.Inc()
	}
}

// ensured counts a look at the image of a container.
func (m *metrics) ensured(policy corev1.PullPolicy, present, usable bool) {
	there := strconv.FormatBool(present)
	if policy == corev1.PullAlways {
		there = "unknown" // it does not count
	}
	required := policy == corev1.PullAlways || !usable && (present || policy != corev1.PullNever)
	label := strconv.FormatBool(required)
	if policy == corev1.PullNever && !present {
		label = "unknown"
	}
	m.images.WithLabelValues(strings.ToLower(string(policy)), there, label).Inc()
}

// providerRan counts a run of a program that gives credentials.
func (m *metrics) providerRan(name string, took time.Duration, err error) {
	m.providerDuration.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.providerErrors.WithLabelValues(name).Inc()
	}
}

// providers shows the configuration of the programs that give credentials.
func (m *metrics) providers(hash string) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubelet_credential_provider_config_info",
		Help: "Information about the last applied credential provider configuration with hash as label", ConstLabels: prometheus.Labels{"hash": hash}})
	info.Set(1)
	m.registry.MustRegister(info)
}

// operations are the names of CRI calls in metrics.
var operations = map[string]string{
	"Version": "version", "Status": "status", "RunPodSandbox": "run_podsandbox", "StopPodSandbox": "stop_podsandbox", "RemovePodSandbox": "remove_podsandbox",
	"PodSandboxStatus": "podsandbox_status", "ListPodSandbox": "list_podsandbox", "CreateContainer": "create_container", "StartContainer": "start_container",
	"StopContainer": "stop_container", "RemoveContainer": "remove_container", "ListContainers": "list_containers", "ContainerStatus": "container_status",
	"ExecSync": "exec_sync", "Exec": "exec", "Attach": "attach", "PortForward": "port_forward", "UpdateContainerResources": "update_container",
	"ReopenContainerLog": "reopen_container_log", "ListContainerStats": "list_container_stats", "ListPodSandboxStats": "list_podsandbox_stats",
	"ListImages": "list_images", "ImageStatus": "image_status", "PullImage": "pull_image", "RemoveImage": "remove_image", "ImageFsInfo": "image_fs_info",
	"CheckpointContainer": "checkpoint_container",
}

func operation(call string) string {
	if name, ok := operations[call]; ok {
		return name
	}
	return call
}

// pullFiles counts the files about pulls of images.
type pullFiles struct{ *pullrecords.Records }

var (
	announcedPulls = prometheus.NewDesc("kubelet_imagemanager_ondisk_pullintents", "Files that announce a pull of an image.", nil, nil)
	pulledRecords  = prometheus.NewDesc("kubelet_imagemanager_ondisk_pulledrecords", "Files that say who may use a pulled image.", nil, nil)
)

// Describe implements prometheus.Collector.
func (pullFiles) Describe(ch chan<- *prometheus.Desc) { ch <- announcedPulls; ch <- pulledRecords }

// Collect implements prometheus.Collector.
func (f pullFiles) Collect(ch chan<- prometheus.Metric) {
	announced, pulled, err := f.Counts()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(announcedPulls, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(announcedPulls, prometheus.GaugeValue, float64(announced))
	ch <- prometheus.MustNewConstMetric(pulledRecords, prometheus.GaugeValue, float64(pulled))
}

// volumeUse is the use of the volumes of claims, as their drivers report it.
type volumeUse struct{ k *Kubelet }

// volumeValues are the metrics of a volume.
var volumeValues = []struct {
	desc  *prometheus.Desc
	value func(*usage.Volume) uint64
}{
	{volumeDesc("capacity_bytes", "Capacity in bytes of the volume"), func(v *usage.Volume) uint64 { return v.On.Capacity }},
	{volumeDesc("available_bytes", "Number of available bytes in the volume"), func(v *usage.Volume) uint64 { return v.On.Available }},
	{volumeDesc("used_bytes", "Number of used bytes in the volume"), func(v *usage.Volume) uint64 { return v.Bytes }},
	{volumeDesc("inodes", "Maximum number of inodes in the volume"), func(v *usage.Volume) uint64 { return v.On.Inodes }},
	{volumeDesc("inodes_free", "Number of free inodes in the volume"), func(v *usage.Volume) uint64 { return v.On.AvailableInodes }},
	{volumeDesc("inodes_used", "Number of used inodes in the volume"), func(v *usage.Volume) uint64 { return v.Inodes }},
}

func volumeDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("kubelet_volume_stats_"+name, help, []string{"namespace", "persistentvolumeclaim"}, nil)
}

// Describe implements prometheus.Collector.
func (volumeUse) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range volumeValues {
		ch <- v.desc
	}
}

// Collect implements prometheus.Collector.
func (u volumeUse) Collect(ch chan<- prometheus.Metric) {
	for claim, v := range u.k.stats.disks.claims() {
		for _, m := range volumeValues {
			ch <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(m.value(&v)), claim.Namespace, claim.Name)
		}
	}
}

// inventory counts what runs at the moment.
type inventory struct{ k *Kubelet }

var (
	runningPods       = prometheus.NewDesc("kubelet_running_pods", "Pods whose sandbox is ready.", nil, nil)
	runningContainers = prometheus.NewDesc("kubelet_running_containers", "Containers, by state.", []string{"container_state"}, nil)
)

// Describe implements prometheus.Collector.
func (inventory) Describe(ch chan<- *prometheus.Desc) { ch <- runningPods; ch <- runningContainers }

// Collect implements prometheus.Collector.
func (i inventory) Collect(ch chan<- prometheus.Metric) {
	pods, containers := i.k.pleg.counts()
	ch <- prometheus.MustNewConstMetric(runningPods, prometheus.GaugeValue, float64(pods))
	for state, n := range containers {
		ch <- prometheus.MustNewConstMetric(runningContainers, prometheus.GaugeValue, float64(n), stateNames[state])
	}
}

var stateNames = map[cri.ContainerState]string{
	cri.ContainerState_CONTAINER_CREATED: "created", cri.ContainerState_CONTAINER_RUNNING: "running",
	cri.ContainerState_CONTAINER_EXITED: "exited", cri.ContainerState_CONTAINER_UNKNOWN: "unknown",
}

// containerType is how metrics name the sort of a container.
func containerType(pod *corev1.Pod, name string) string {
	is := func(c corev1.Container) bool { return c.Name == name }
	switch {
	case slices.ContainsFunc(pod.Spec.InitContainers, is):
		return "init_container"
	case slices.ContainsFunc(pod.Spec.Containers, is):
		return "container"
	}
	return "ephemeral_container"
}

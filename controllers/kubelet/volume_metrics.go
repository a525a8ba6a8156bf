package kubelet

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// volumeMetrics are about the volumes of pods, with the names of k8s.io/kubernetes/pkg/volume/util/metrics.go
// and pkg/kubelet/volumemanager, v1.36.3.
type volumeMetrics struct {
	operations, whole *prometheus.HistogramVec
	driverCalls       *prometheus.HistogramVec
	measurements      *prometheus.HistogramVec
	found, unknown    prometheus.Counter
	// labelled are volumes that pods wanted with an SELinux label.
	labelled                    *prometheus.GaugeVec
	podMismatch, volumeMismatch mismatches
}

// mismatches count attempts to mount volumes that have one SELinux label, by whether they were refused.
type mismatches struct{ refused, allowed *prometheus.GaugeVec }

func (m mismatches) of(refused bool) *prometheus.GaugeVec {
	if refused {
		return m.refused
	}
	return m.allowed
}

func newVolumeMetrics(r registrar) volumeMetrics {
	seconds := []float64{.1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600}
	return volumeMetrics{
		operations:   r.histograms("storage_operation_duration_seconds", "Seconds that operations on volumes took.", seconds, "volume_plugin", "operation_name", "status", "migrated"),
		whole:        r.histograms("volume_operation_total_seconds", "Seconds from when a volume was wanted until it was mounted.", seconds, "plugin_name", "operation_name"),
		driverCalls:  r.histograms("csi_operations_seconds", "Seconds that calls of CSI drivers took.", seconds, "driver_name", "method_name", "grpc_status_code", "migrated"),
		measurements: r.histograms("kubelet_volume_metric_collection_duration_seconds", "Seconds that measuring the use of a volume took, by how it is measured.", prometheus.DefBuckets, "metric_source"),
		found:        r.counter("reconstruct_volume_operations_total", "Volumes that an earlier kubelet has left."),
		unknown:      r.counter("reconstruct_volume_operations_errors_total", "Those of them that are not understood."),
		labelled:     r.gauges("volume_manager_selinux_volumes_admitted_total", "Volumes that pods wanted with an SELinux label.", "volume_plugin", "access_mode"),
		podMismatch: mismatches{
			r.gauges("volume_manager_selinux_pod_context_mismatch_errors_total", "Attempts to mount a volume for containers of several SELinux labels that were refused.", "access_mode"),
			r.gauges("volume_manager_selinux_pod_context_mismatch_warnings_total", "Attempts to mount a volume for containers of several SELinux labels that were not.", "access_mode"),
		},
		volumeMismatch: mismatches{
			r.gauges("volume_manager_selinux_volume_context_mismatch_errors_total", "Attempts to mount a volume that other pods have with another SELinux label, refused.", "volume_plugin", "access_mode"),
			r.gauges("volume_manager_selinux_volume_context_mismatch_warnings_total", "Pods that want a volume with another SELinux label than others, and have it.", "volume_plugin", "access_mode"),
		},
	}
}

// overall is the operation that begins when a volume is wanted.
const overall = "overall_volume_mount"

// Done implements volume.Host.
func (m *volumeMetrics) Done(r *volume.Record, operation string, began time.Time, err error) {
	m.done(r.Plugin(), operation, began, err)
}

// labelledBy is how metrics of SELinux labels name what makes a volume.
func labelledBy(r *volume.Record) string { return strings.Replace(r.Plugin(), ":", "/", 1) }

// Admitted implements volume.Host.
func (m *volumeMetrics) Admitted(s *volume.Spec, r *volume.Record) {
	m.labelled.WithLabelValues(labelledBy(r), accessMode(s)).Inc()
}

// Conflict implements volume.Host.
func (m *volumeMetrics) Conflict(s *volume.Spec, r *volume.Record, have string) error {
	m.volumeMismatch.of(s.Labelling.Mounts).WithLabelValues(labelledBy(r), accessMode(s)).Inc()
	if !s.Labelling.Mounts {
		return nil
	}
	return fmt.Errorf("conflicting SELinux labels of volume %s: %q and %q", s.Name(), have, s.Labelling.Label)
}

// done counts an operation on a volume that a plugin makes.
func (m *volumeMetrics) done(plugin, operation string, began time.Time, err error) {
	took := time.Since(began).Seconds()
	if operation == overall {
		m.whole.WithLabelValues(plugin, operation).Observe(took)
		return
	}
	status := "success"
	if err != nil {
		status = "fail-unknown"
	}
	m.operations.WithLabelValues(plugin, operation, status, "false").Observe(took)
}

// Measured implements volume.Host.
func (m *volumeMetrics) Measured(r *volume.Record, began time.Time) { m.volumeTook(r.Driver, began) }

// volumeTook counts a measurement of the use of a volume.
func (m *volumeMetrics) volumeTook(source string, began time.Time) {
	m.measurements.WithLabelValues(source).Observe(time.Since(began).Seconds())
}

// Found implements volume.Host.
func (m *volumeMetrics) Found(all, unknown int) {
	m.found.Add(float64(all))
	m.unknown.Add(float64(unknown))
}

// driverTook counts a call of a CSI driver.
func (m *volumeMetrics) driverTook(driver, method string, took time.Duration, err error) {
	m.driverCalls.WithLabelValues(driver, method, status.Code(err).String(), "false").Observe(took.Seconds())
}

// pluginOf is how metrics name what makes a volume that needs no driver.
func pluginOf(v *corev1.Volume) string {
	kind := payloadKind(v)
	switch {
	case v.EmptyDir != nil:
		kind = kindEmptyDir
	case v.HostPath != nil:
		kind = kindHostPath
	case v.Image != nil:
		kind = "image"
	}
	return "kubernetes.io/" + kind
}

// madeVolumes are the volumes without drivers that are there. Safe for concurrent use.
type madeVolumes struct {
	mu   sync.Mutex
	pods map[types.UID]map[string]int // by plugin
}

func (m *madeVolumes) add(uid types.UID, plugin string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pods == nil {
		m.pods = map[types.UID]map[string]int{}
	}
	if m.pods[uid] == nil {
		m.pods[uid] = map[string]int{}
	}
	m.pods[uid][plugin]++
}

func (m *madeVolumes) remove(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pods, uid)
}

// volumeCounts counts volumes: those that pods want, and those that are there.
type volumeCounts struct{ k *Kubelet }

var totalVolumes = prometheus.NewDesc("volume_manager_total_volumes", "Volumes that pods want, and those that are there.", []string{"plugin_name", "state"}, nil)

// Describe implements prometheus.Collector.
func (volumeCounts) Describe(ch chan<- *prometheus.Desc) { ch <- totalVolumes }

// Collect implements prometheus.Collector.
func (c volumeCounts) Collect(ch chan<- prometheus.Metric) {
	wanted, there := c.k.volumes.Counts()
	for _, w := range c.k.allWorkers() {
		if pod := w.active(); pod != nil {
			for v := range usedVolumes(pod) {
				if !driven(v) {
					wanted[pluginOf(v)]++
				}
			}
		}
	}
	c.k.made.mu.Lock()
	for _, plugins := range c.k.made.pods {
		for plugin, n := range plugins {
			there[plugin] += n
		}
	}
	c.k.made.mu.Unlock()
	for state, counts := range map[string]map[string]int{"desired_state_of_world": wanted, "actual_state_of_world": there} {
		for plugin, n := range counts {
			ch <- prometheus.MustNewConstMetric(totalVolumes, prometheus.GaugeValue, float64(n), plugin, state)
		}
	}
}

// volumeUse is the use of the volumes of claims, as their drivers report it.
type volumeUse struct{ k *Kubelet }

// volumeValues are the metrics of a volume.
var volumeValues = []struct {
	desc  *prometheus.Desc
	value func(*usage.Volume) uint64
}{
	{volumeDesc("capacity_bytes", "Bytes that the volume may hold."), func(v *usage.Volume) uint64 { return v.On.Capacity }},
	{volumeDesc("available_bytes", "Bytes of the volume that are free."), func(v *usage.Volume) uint64 { return v.On.Available }},
	{volumeDesc("used_bytes", "Bytes of the volume that are used."), func(v *usage.Volume) uint64 { return v.Bytes }},
	{volumeDesc("inodes", "Inodes that the volume may hold."), func(v *usage.Volume) uint64 { return v.On.Inodes }},
	{volumeDesc("inodes_free", "Inodes of the volume that are free."), func(v *usage.Volume) uint64 { return v.On.AvailableInodes }},
	{volumeDesc("inodes_used", "Inodes of the volume that are used."), func(v *usage.Volume) uint64 { return v.Inodes }},
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

package kubelet

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// resizeMetrics are about changes of the resources of pods that run.
type resizeMetrics struct {
	requested            *prometheus.CounterVec
	actuated             *prometheus.HistogramVec
	infeasible, accepted *prometheus.CounterVec
}

func newResizeMetrics(r registrar) resizeMetrics {
	return resizeMetrics{
		requested: r.counters("kubelet_container_requested_resizes_total", "Changes of a resource of a container that were requested.", "resource", "requirement", "operation"),
		actuated: r.histograms("kubelet_pod_resize_duration_milliseconds", "Milliseconds that giving a pod other resources took.",
			[]float64{10, 50, 100, 500, 1000, 2000, 5000, 10000, 20000, 30000, 60000, 120000, 300000, 600000}, "success"),
		infeasible: r.counters("kubelet_pod_infeasible_resizes_total", "Resizes that this node will never do, by why.", "reason_detail"),
		accepted:   r.counters("kubelet_pod_deferred_accepted_resizes_total", "Resizes that had to wait and were accepted, by what they were tried again for.", "retry_trigger"),
	}
}

// resized counts what of a pod's resources is requested to change.
func (m *resizeMetrics) resized(before, after *corev1.Pod) {
	for old := range containersOf(before) {
		c := specOf(after, old.Name)
		if c == nil || !isSidecar(old) && !isMain(before, old.Name) {
			continue
		}
		for _, of := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceCPU} {
			for requirement, amounts := range map[string][2]corev1.ResourceList{"requests": {old.Resources.Requests, c.Resources.Requests}, "limits": {old.Resources.Limits, c.Resources.Limits}} {
				if change := changeOf(amounts[0][of], amounts[1][of]); change != "" {
					m.requested.WithLabelValues(string(of), requirement, change).Inc()
				}
			}
		}
	}
}

// changeOf is what becomes of an amount; empty if nothing does.
func changeOf(old, now resource.Quantity) string {
	switch order := now.Cmp(old); {
	case now.IsZero() && !old.IsZero():
		return "remove"
	case old.IsZero() && !now.IsZero():
		return "add"
	case order < 0:
		return "decrease"
	case order > 0:
		return "increase"
	}
	return ""
}

// took counts an attempt to give a pod other resources.
func (m *resizeMetrics) took(began time.Time, err error) {
	m.actuated.WithLabelValues(strconv.FormatBool(err == nil)).Observe(float64(time.Since(began).Milliseconds()))
}

// Why a resize that waits is tried again.
const (
	retryTerminated = "pod_terminated"
	retryResized    = "pod_resized"
	retryUpdated    = "pod_updated"
	retryPeriodic   = "periodic_retry"
)

// resizes counts the resizes under way, and those that wait, by why.
type resizes struct{ k *Kubelet }

var (
	pendingResizes = prometheus.NewDesc("kubelet_pod_pending_resizes", "Pods that have not been given the resources of their specs, by why.", []string{"reason"}, nil)
	resizesUnder   = prometheus.NewDesc("kubelet_pod_in_progress_resizes", "Pods whose containers are being given other resources.", nil, nil)
)

// Describe implements prometheus.Collector.
func (resizes) Describe(ch chan<- *prometheus.Desc) { ch <- pendingResizes; ch <- resizesUnder }

// Collect implements prometheus.Collector.
func (r resizes) Collect(ch chan<- prometheus.Metric) {
	under, pending := 0, map[string]int{}
	for _, w := range r.k.allWorkers() {
		pod := w.shown()
		for i := range pod.Status.Conditions {
			switch c := &pod.Status.Conditions[i]; c.Type {
			case corev1.PodResizeInProgress:
				under++
			case corev1.PodResizePending:
				pending[strings.ToLower(c.Reason)]++
			}
		}
	}
	ch <- prometheus.MustNewConstMetric(resizesUnder, prometheus.GaugeValue, float64(under))
	for reason, n := range pending {
		ch <- prometheus.MustNewConstMetric(pendingResizes, prometheus.GaugeValue, float64(n), reason)
	}
}

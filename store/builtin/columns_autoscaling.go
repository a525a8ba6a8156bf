package builtin

import (
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/store/columns"
)

func autoscalerColumns() []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		columns.Name(), columns.Text("Reference", "What is scaled."), columns.Text("Targets", "Current value of each metric and its target."),
		columns.Text("MinPods", "Fewest pods."), columns.Text("MaxPods", "Most pods."), columns.Text("Replicas", "Pods there are."), columns.Age(),
	}
}

var autoscalerV2Table = columns.Of(func(h *autoscalingv2.HorizontalPodAutoscaler, now time.Time) []any {
	return []any{
		h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, metricsText(h.Spec.Metrics, h.Status.CurrentMetrics),
		minPods(h.Spec.MinReplicas), int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), columns.AgeOf(h, now),
	}
}, autoscalerColumns()...)

// The first version has CPU utilization only; its other metrics are in an annotation and visible in the newer
// version.
var autoscalerV1Table = columns.Of(func(h *autoscalingv1.HorizontalPodAutoscaler, now time.Time) []any {
	targets := none
	if want := h.Spec.TargetCPUUtilizationPercentage; want != nil {
		targets = "cpu: " + percent(h.Status.CurrentCPUUtilizationPercentage, "<unknown>") + "/" + percent(want, "<auto>")
	}
	return []any{
		h.Name, h.Spec.ScaleTargetRef.Kind + "/" + h.Spec.ScaleTargetRef.Name, targets,
		minPods(h.Spec.MinReplicas), int64(h.Spec.MaxReplicas), int64(h.Status.CurrentReplicas), columns.AgeOf(h, now),
	}
}, autoscalerColumns()...)

// ScaleTable shows a Scale, the body of the scale subresource.
var ScaleTable = columns.Of(func(s *autoscalingv1.Scale, now time.Time) []any {
	return []any{s.Name, int64(s.Spec.Replicas), int64(s.Status.Replicas), columns.AgeOf(s, now)}
}, columns.Name(), columns.Number("Desired", "Replicas wanted."), columns.Number("Available", "Replicas there are."), columns.Age())

func minPods(n *int32) string {
	if n == nil {
		return unset
	}
	return strconv.Itoa(int(*n))
}

func percent(n *int32, missing string) string {
	if n == nil {
		return missing
	}
	return strconv.Itoa(int(*n)) + "%"
}

func quantity(q *resource.Quantity, missing string) string {
	if q == nil {
		return missing
	}
	return q.String()
}

// metricsText shows the first two metrics as current/target.
func metricsText(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) string {
	all := make([]string, len(specs))
	for i := range specs {
		var status autoscalingv2.MetricStatus
		if i < len(statuses) {
			status = statuses[i]
		}
		all[i] = metricText(&specs[i], &status)
	}
	return orElse(few(all, 2, ", "), none)
}

func metricText(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch {
	case spec.External != nil:
		if status.External != nil {
			current = status.External.Current
		}
		return amountText(spec.External.Target, current)
	case spec.Object != nil:
		if status.Object != nil {
			current = status.Object.Current
		}
		return amountText(spec.Object.Target, current)
	case spec.Pods != nil:
		if status.Pods != nil {
			current = status.Pods.Current
		}
		return quantity(current.AverageValue, "<unknown>") + "/" + quantity(spec.Pods.Target.AverageValue, "<auto>")
	case spec.Resource != nil:
		if status.Resource != nil {
			current = status.Resource.Current
		}
		return string(spec.Resource.Name) + ": " + usageText(spec.Resource.Target, current)
	case spec.ContainerResource != nil:
		if status.ContainerResource != nil {
			current = status.ContainerResource.Current
		}
		return string(spec.ContainerResource.Name) + ": " + usageText(spec.ContainerResource.Target, current)
	}
	return "<unknown type>"
}

func amountText(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantity(current.AverageValue, "<unknown>") + "/" + target.AverageValue.String() + " (avg)"
	}
	return quantity(current.Value, "<unknown>") + "/" + quantity(target.Value, "<auto>")
}

func usageText(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return quantity(current.AverageValue, "<unknown>") + "/" + target.AverageValue.String()
	}
	return percent(current.AverageUtilization, "<unknown>") + "/" + percent(target.AverageUtilization, "<auto>")
}

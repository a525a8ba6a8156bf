package main

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/controllers/builtin/selinuxwarning"
)

// labelConflicts measures the conflicts of the selinux-warning-controller.
type labelConflicts struct{ found *selinuxwarning.Conflicts }

var labelConflict = prometheus.NewDesc("selinux_warning_controller_selinux_volume_conflict", "1 for each two pods that exclude each other from a volume of a node.",
	[]string{"property", "pod1_namespace", "pod1_name", "pod1_value", "pod2_namespace", "pod2_name", "pod2_value"}, nil)

// Describe implements prometheus.Collector.
func (labelConflicts) Describe(ch chan<- *prometheus.Desc) { ch <- labelConflict }

// Collect implements prometheus.Collector.
func (c labelConflicts) Collect(ch chan<- prometheus.Metric) {
	for _, f := range c.found.All() {
		ch <- prometheus.MustNewConstMetric(labelConflict, prometheus.GaugeValue, 1, f.Property, f.Pod.Namespace, f.Pod.Name, f.Value, f.Other.Namespace, f.Other.Name, f.OtherValue)
	}
}

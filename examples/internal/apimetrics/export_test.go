package apimetrics

import "github.com/prometheus/client_golang/prometheus"

// Describe sends the descriptions of all metrics, shown or not.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	m.registry.Describe(out)
	m.sliRegistry.Describe(out)
}

package website

import "github.com/prometheus/client_golang/prometheus"

// metrics are the controller's own.
type metrics struct{ transitions *prometheus.CounterVec }

func newMetrics(r prometheus.Registerer) metrics {
	m := metrics{transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "website_transitions_total", Help: "Changes of the reason of a Website's condition Ready, by the new reason.",
	}, []string{"reason"})}
	if r != nil {
		r.MustRegister(m.transitions)
	}
	return m
}

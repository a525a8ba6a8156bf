package main

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/controllers/kubefeatures"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
	"github.com/keelson-dev/keelson/controllers/metrics"
)

// measure returns the metrics of the program, with the features of the configuration, to which the kubelet
// adds its own, and what measures requests to the API server.
func measure(c *kubeletconfig.Configuration) (*prometheus.Registry, rest.Metrics, error) {
	gate, err := c.Features()
	if err != nil {
		return nil, rest.Metrics{}, err
	}
	r, m := prometheus.NewRegistry(), metrics.New()
	r.MustRegister(kubefeatures.Metric(gate), requests{m.Registry()})
	return r, m.Client(), nil
}

// requests are the metrics about requests to the API server: no others of package metrics are of a kubelet.
type requests struct{ *prometheus.Registry }

func ofRequests(d *prometheus.Desc) bool {
	text := d.String() // the limit is no family of Kubernetes
	return strings.Contains(text, `fqName: "rest_client_`) && !strings.Contains(text, "in_flight_limit")
}

// Describe implements prometheus.Collector.
func (r requests) Describe(ch chan<- *prometheus.Desc) {
	through(r.Registry.Describe, ch, ofRequests)
}

// Collect implements prometheus.Collector.
func (r requests) Collect(ch chan<- prometheus.Metric) {
	through(r.Registry.Collect, ch, func(m prometheus.Metric) bool { return ofRequests(m.Desc()) })
}

// through passes on what is wanted of what send sends.
func through[T any](send func(chan<- T), to chan<- T, wanted func(T) bool) {
	all := make(chan T)
	go func() {
		defer close(all)
		send(all)
	}()
	for one := range all {
		if wanted(one) {
			to <- one
		}
	}
}

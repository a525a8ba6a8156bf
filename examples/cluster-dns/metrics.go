package main

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/controllers/clusterdns"
)

// hooks are the metrics of the server, registered.
func hooks(r *prometheus.Registry) clusterdns.Metrics {
	const namespace = "clusterdns"
	responses := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "responses_total",
		Help: "Responses by query type and response code."}, []string{"type", "rcode"})
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "response_duration_seconds",
		Help: "How long queries took, by whether they were for other names, from the cache or not.", Buckets: prometheus.ExponentialBuckets(10e-6, 4, 10)}, []string{"forwarded"})
	cached := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "cache_requests_total",
		Help: "Queries for other names, by whether the response was cached."}, []string{"result"})
	upstream := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "upstream_duration_seconds",
		Help: "How long queries of upstream resolvers took.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 13)}, []string{"upstream"})
	failed := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "upstream_failures_total",
		Help: "Queries of upstream resolvers without a response."}, []string{"upstream"})
	r.MustRegister(responses, took, cached, upstream, failed)
	return clusterdns.Metrics{
		Answered: func(qtype, rcode string, forwarded bool, d time.Duration) {
			responses.WithLabelValues(qtype, rcode).Inc()
			took.WithLabelValues(strconv.FormatBool(forwarded)).Observe(d.Seconds())
		},
		Cached: func(hit bool) { cached.WithLabelValues(map[bool]string{true: "hit", false: "miss"}[hit]).Inc() },
		Exchanged: func(address string, d time.Duration, err error) {
			upstream.WithLabelValues(address).Observe(d.Seconds())
			if err != nil {
				failed.WithLabelValues(address).Inc()
			}
		},
	}
}

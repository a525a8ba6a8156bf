package apimetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/crd"
)

// customs holds the metrics of custom resources.
type customs struct {
	compilations, evaluations prometheus.Observer
	conversions               *prometheus.CounterVec
	v2, v3                    *prometheus.CounterVec // of OpenAPI
	conversionTimes, byName   *prometheus.HistogramVec
}

func newCustoms(r *prometheus.Registry) *customs {
	buckets := []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60}
	return &customs{
		compilations:    histogram(r, "apiserver_cel_compilation_duration_seconds", "Time to compile a rule of a custom resource.", prometheus.DefBuckets).WithLabelValues(),
		evaluations:     histogram(r, "apiserver_cel_evaluation_duration_seconds", "Time to evaluate the rules of a custom resource for an object.", prometheus.DefBuckets).WithLabelValues(),
		conversions:     counter(r, "apiserver_conversion_webhook_request_total", "Conversions by webhooks.", "result", "failure_type"),
		conversionTimes: histogram(r, "apiserver_conversion_webhook_duration_seconds", "Time of a conversion by a webhook.", buckets, "result", "failure_type"),
		v2:              counter(r, "apiextensions_openapi_v2_regeneration_count", "Changes of the OpenAPI document by definitions.", "crd", "reason"),
		v3:              counter(r, "apiextensions_openapi_v3_regeneration_count", "Changes of the OpenAPI documents of versions by definitions.", "group", "version", "crd", "reason"),
		byName: histogram(r, "apiserver_crd_conversion_webhook_duration_seconds", "Time of a conversion by the webhook of a definition.",
			prometheus.ExponentialBuckets(0.001, 2, 15), "crd_name", "from_version", "to_version", "succeeded"),
	}
}

func (c *customs) hooks() crd.Metrics {
	return crd.Metrics{
		Rules: openapi.RuleMetrics{
			Compiled:  func(took time.Duration) { c.compilations.Observe(took.Seconds()) },
			Evaluated: func(took time.Duration) { c.evaluations.Observe(took.Seconds()) },
		},
		Documented: func(definition string, of schema.GroupVersion, change crd.DocumentChange) {
			c.v2.WithLabelValues(definition, string(change)).Inc()
			c.v3.WithLabelValues(of.Group, of.Version, definition, string(change)).Inc()
		},
		Converted: func(v crd.Conversion) {
			result, took := "success", v.Elapsed.Seconds()
			if v.Failure != "" {
				result = "failure"
			}
			c.conversions.WithLabelValues(result, string(v.Failure)).Inc()
			c.conversionTimes.WithLabelValues(result, string(v.Failure)).Observe(took)
			c.byName.WithLabelValues(v.Definition, v.From, v.To, strconv.FormatBool(v.Failure == "")).Observe(took)
		},
	}
}

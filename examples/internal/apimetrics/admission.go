package apimetrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/admission"
)

// admissions are the measurements of admission.
type admissions struct {
	steps, plugins *prometheus.HistogramVec
	series         *memo[asked, prometheus.Observer]
}

// asked is a step of admission, or a plugin's part of it.
type asked struct {
	plugin    string // empty for the whole step
	step      admission.Step
	operation admission.Operation
	rejected  bool
}

func newAdmissions(r *prometheus.Registry) *admissions {
	buckets := []float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5}
	a := &admissions{
		steps:   histogram(r, "apiserver_admission_step_admission_duration_seconds", "Time of a step of admission.", buckets, "type", "operation", "rejected"),
		plugins: histogram(r, "apiserver_admission_controller_admission_duration_seconds", "Time of an admission plugin.", buckets, "name", "type", "operation", "rejected"),
	}
	a.series = newMemo(func(k asked) prometheus.Observer {
		if k.plugin == "" {
			return a.steps.WithLabelValues(string(k.step), string(k.operation), strconv.FormatBool(k.rejected))
		}
		return a.plugins.WithLabelValues(k.plugin, string(k.step), string(k.operation), strconv.FormatBool(k.rejected))
	})
	return a
}

func (a *admissions) hooks() admission.Metrics {
	return admission.Metrics{
		Step: func(s admission.Step, op admission.Operation, rejected bool, elapsed time.Duration) {
			a.series.of(asked{"", s, op, rejected}).Observe(elapsed.Seconds())
		},
		Plugin: func(plugin string, s admission.Step, op admission.Operation, rejected bool, elapsed time.Duration) {
			a.series.of(asked{plugin, s, op, rejected}).Observe(elapsed.Seconds())
		},
	}
}

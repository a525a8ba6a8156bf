package apimetrics

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/admission"
)

// admissions are the measurements of admission.
type admissions struct {
	steps, plugins *prometheus.HistogramVec
	series         *memo[asked, prometheus.Observer]

	webhooks                         *prometheus.HistogramVec
	requests, rejections, failedOpen *prometheus.CounterVec
	checks                           *prometheus.CounterVec
	checkTimes                       *prometheus.HistogramVec
}

// asked is a step of admission, or a plugin's part of it.
type asked struct {
	plugin    string // empty for the whole step
	step      admission.Step
	operation admission.Operation
	rejected  bool
}

var policyLabels = []string{"policy", "policy_binding", "error_type", "enforcement_action"}

func newAdmissions(r *prometheus.Registry) *admissions {
	buckets := []float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5}
	a := &admissions{
		steps:   histogram(r, "apiserver_admission_step_admission_duration_seconds", "Time of a step of admission.", buckets, "type", "operation", "rejected"),
		plugins: histogram(r, "apiserver_admission_controller_admission_duration_seconds", "Time of an admission plugin.", buckets, "name", "type", "operation", "rejected"),
		webhooks: histogram(r, "apiserver_admission_webhook_admission_duration_seconds", "Time of an admission webhook.",
			[]float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25}, "name", "type", "operation", "rejected"),
		requests:   counter(r, "apiserver_admission_webhook_request_total", "Requests that webhooks were asked about.", "name", "type", "operation", "code", "rejected"),
		rejections: counter(r, "apiserver_admission_webhook_rejection_count", "Requests refused because of webhooks.", "name", "type", "operation", "error_type", "rejection_code"),
		checks:     counter(r, "apiserver_validating_admission_policy_check_total", "Expressions of policies that spoke against a request or failed.", policyLabels...),
		checkTimes: histogram(r, "apiserver_validating_admission_policy_check_duration_seconds", "Time of an expression that spoke against a request or failed.",
			[]float64{0.0000005, 0.001, 0.01, 0.1, 1.0}, policyLabels...),
		failedOpen: counter(r, "apiserver_admission_webhook_fail_open_count", "Requests let pass although a webhook could not be asked.", "name", "type"),
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
		Webhook: a.webhook, Policy: a.policy,
		Step: func(s admission.Step, op admission.Operation, rejected bool, elapsed time.Duration) {
			a.series.of(asked{"", s, op, rejected}).Observe(elapsed.Seconds())
		},
		Plugin: func(plugin string, s admission.Step, op admission.Operation, rejected bool, elapsed time.Duration) {
			a.series.of(asked{plugin, s, op, rejected}).Observe(elapsed.Seconds())
		},
	}
}

// highestCode bounds the codes that webhooks may make labels of.
const highestCode = 600

func (a *admissions) webhook(c admission.WebhookCall) {
	step, op, rejected := string(c.Step), string(c.Operation), strconv.FormatBool(c.Rejected)
	if c.Step == admission.Validating {
		step = "validating" // elsewhere it is called validate
	}
	code := strconv.Itoa(min(c.Code, highestCode))
	a.webhooks.WithLabelValues(c.Webhook, step, op, rejected).Observe(c.Elapsed.Seconds())
	a.requests.WithLabelValues(c.Webhook, step, op, code, rejected).Inc()
	switch {
	case c.Failure == admission.WebhookAbandoned:
	case c.Rejected:
		a.rejections.WithLabelValues(c.Webhook, step, op, string(c.Failure), code).Inc()
	case c.FailedOpen:
		a.failedOpen.WithLabelValues(c.Webhook, step).Inc()
	}
}

func (a *admissions) policy(c admission.PolicyCheck) {
	action := "allow"
	if c.Action != "" {
		action = strings.ToLower(string(c.Action))
	}
	a.checks.WithLabelValues(c.Policy, c.Binding, string(c.Failure), action).Inc()
	a.checkTimes.WithLabelValues(c.Policy, c.Binding, string(c.Failure), action).Observe(c.Elapsed.Seconds())
}

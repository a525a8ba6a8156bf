package apimetrics

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/webhook"
)

// admissions holds the metrics of admission.
type admissions struct {
	steps, plugins *prometheus.HistogramVec
	summary        *prometheus.SummaryVec
	series         *memo[stepKey, stepSeries]

	webhooks                         *prometheus.HistogramVec
	requests, rejections, failedOpen *prometheus.CounterVec
	checks                           *prometheus.CounterVec
	checkTimes                       *prometheus.HistogramVec
	mutations                        *prometheus.CounterVec
	mutationTimes                    *prometheus.HistogramVec
	failedConditions, exclusions     *prometheus.CounterVec
	conditionTimes                   *prometheus.HistogramVec
	podSecurity                      *podSecurity
}

// stepSeries are the metrics of a step or a plugin.
type stepSeries struct {
	times   prometheus.Observer
	summary prometheus.Observer // of steps
}

// stepKey is a step of admission, or a plugin's part of it.
type stepKey struct {
	plugin    string // empty for the whole step
	step      admission.Step
	operation admission.Operation
	rejected  bool
}

var policyLabels = []string{"policy", "policy_binding", "error_type", "enforcement_action"}

func newAdmissions(r *prometheus.Registry) *admissions {
	buckets := []float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5}
	policyBuckets := []float64{0.0000005, 0.001, 0.01, 0.1, 1.0}
	matched := []string{"name", "kind", "type", "operation"}
	a := &admissions{
		podSecurity: newPodSecurity(r),
		summary: promauto.With(r).NewSummaryVec(prometheus.SummaryOpts{
			Name: "apiserver_admission_step_admission_duration_seconds_summary", Help: "Quantiles of the time of a step of admission.",
			Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001}, MaxAge: 5 * time.Hour,
		}, []string{"type", "operation", "rejected"}),
		steps:   histogram(r, "apiserver_admission_step_admission_duration_seconds", "Time of a step of admission.", buckets, "type", "operation", "rejected"),
		plugins: histogram(r, "apiserver_admission_controller_admission_duration_seconds", "Time of an admission plugin.", buckets, "name", "type", "operation", "rejected"),
		webhooks: histogram(r, "apiserver_admission_webhook_admission_duration_seconds", "Time of an admission webhook.",
			[]float64{0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25}, "name", "type", "operation", "rejected"),
		requests:   counter(r, "apiserver_admission_webhook_request_total", "Requests sent to webhooks.", "name", "type", "operation", "code", "rejected"),
		rejections: counter(r, "apiserver_admission_webhook_rejection_count", "Requests refused because of webhooks.", "name", "type", "operation", "error_type", "rejection_code"),
		checks:     counter(r, "apiserver_validating_admission_policy_check_total", "Expressions of policies that spoke against a request or failed.", policyLabels...),
		checkTimes: histogram(r, "apiserver_validating_admission_policy_check_duration_seconds", "Time of an expression that spoke against a request or failed.",
			policyBuckets, policyLabels...),
		mutations:        counter(r, "apiserver_mutating_admission_policy_check_total", "Mutations of policies by outcome.", policyLabels[:3]...),
		mutationTimes:    histogram(r, "apiserver_mutating_admission_policy_check_duration_seconds", "Time of a mutation.", policyBuckets, policyLabels[:3]...),
		failedConditions: counter(r, "apiserver_admission_match_condition_evaluation_errors_total", "Match conditions that could not be evaluated.", matched...),
		exclusions:       counter(r, "apiserver_admission_match_condition_exclusions_total", "Webhooks that were not called because of their match conditions.", matched...),
		conditionTimes: histogram(r, "apiserver_admission_match_condition_evaluation_seconds", "Time of the match conditions of a webhook or policy.",
			[]float64{0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25}, matched...),
		failedOpen: counter(r, "apiserver_admission_webhook_fail_open_count", "Requests let pass although a webhook could not be called.", "name", "type"),
	}
	a.series = newMemo(func(k stepKey) stepSeries {
		labels := []string{string(k.step), string(k.operation), strconv.FormatBool(k.rejected)}
		if k.plugin == "" {
			return stepSeries{a.steps.WithLabelValues(labels...), a.summary.WithLabelValues(labels...)}
		}
		return stepSeries{times: a.plugins.WithLabelValues(append([]string{k.plugin}, labels...)...)}
	})
	return a
}

func (a *admissions) hooks(called func(webhook.Call)) admission.Metrics {
	return admission.Metrics{
		Webhook: a.webhook, Called: called, Policy: a.policy, Mutation: a.mutation, Conditions: a.conditions, PodSecurity: a.podSecurity.count,
		Step: func(s admission.Step, op admission.Operation, rejected bool, elapsed time.Duration) {
			series := a.series.of(stepKey{"", s, op, rejected})
			series.times.Observe(elapsed.Seconds())
			series.summary.Observe(elapsed.Seconds())
		},
		Plugin: a.plugin,
	}
}

// plugin measures a plugin. Plugins admit nearly all requests, and there are many of them, so those series
// are found without a map.
func (a *admissions) plugin(name string, s admission.Step) func(op admission.Operation, rejected bool, elapsed time.Duration) {
	var create, update, remove, connect atomic.Pointer[prometheus.Observer]
	return func(op admission.Operation, rejected bool, elapsed time.Duration) {
		var known *atomic.Pointer[prometheus.Observer]
		switch {
		case rejected:
			a.series.of(stepKey{name, s, op, rejected}).times.Observe(elapsed.Seconds())
			return
		case op == admission.Create:
			known = &create
		case op == admission.Update:
			known = &update
		case op == admission.Delete:
			known = &remove
		default:
			known = &connect
		}
		if known.Load() == nil {
			known.Store(new(a.series.of(stepKey{name, s, op, rejected}).times))
		}
		(*known.Load()).Observe(elapsed.Seconds())
	}
}

// highestCode bounds the codes of webhooks that become labels.
const highestCode = 600

func (a *admissions) webhook(c admission.WebhookCall) {
	step, op, rejected := string(c.Step), string(c.Operation), strconv.FormatBool(c.Rejected)
	if c.Step == admission.Validating {
		step = "validating" // other metrics call it validate
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

func (a *admissions) mutation(m admission.Mutation) {
	a.mutations.WithLabelValues(m.Policy, m.Binding, string(m.Failure)).Inc()
	a.mutationTimes.WithLabelValues(m.Policy, m.Binding, string(m.Failure)).Observe(m.Elapsed.Seconds())
}

// conditions measures match conditions. The label type is Kubernetes': validate for all policies and for the
// exclusions by a validating webhook, validating for the other metrics of such a webhook.
func (a *admissions) conditions(c admission.ConditionCheck) {
	kind, step, op := "policy", string(admission.Validating), string(c.Operation)
	if c.Webhook {
		kind, step = "webhook", string(c.Step)
		if c.Excluded {
			a.exclusions.WithLabelValues(c.Name, kind, step, op).Inc()
		}
		if c.Step == admission.Validating {
			step = "validating"
		}
	}
	if c.Failed > 0 {
		a.failedConditions.WithLabelValues(c.Name, kind, step, op).Add(float64(c.Failed))
	}
	a.conditionTimes.WithLabelValues(c.Name, kind, step, op).Observe(c.Elapsed.Seconds())
}

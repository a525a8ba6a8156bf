package apimetrics

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// podSecurity holds the metrics of the plugin PodSecurity.
type podSecurity struct {
	evaluations, exemptions, errors *prometheus.CounterVec
	series                          *memo[admission.PodSecurityCheck, prometheus.Counter]
}

func newPodSecurity(r *prometheus.Registry) *podSecurity {
	p := &podSecurity{
		evaluations: counter(r, "pod_security_evaluations_total", "Evaluations of pods and pod templates; those for audits and warnings only if they deny.",
			"decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource"),
		exemptions: counter(r, "pod_security_exemptions_total", "Exempt requests.", "request_operation", "resource", "subresource"),
		errors:     counter(r, "pod_security_errors_total", "Requests that could not be evaluated, or by the strictest policy.", "fatal", "request_operation", "resource", "subresource"),
	}
	p.series = newMemo(p.seriesOf)
	// So that they begin at zero.
	for _, op := range []admission.Operation{admission.Create, admission.Update} {
		privileged := podsecurity.LevelVersion{Level: podsecurity.Privileged}
		p.series.of(admission.PodSecurityCheck{Outcome: admission.PodAllowed, Operation: op, Mode: "enforce", Policy: privileged})
		for _, template := range []bool{false, true} {
			p.series.of(admission.PodSecurityCheck{Outcome: admission.PodExempt, Operation: op, Template: template})
		}
	}
	return p
}

// newest is the release whose policies are known by their versions.
const newest = 36

func (p *podSecurity) seriesOf(c admission.PodSecurityCheck) prometheus.Counter {
	resource := "pod"
	if c.Template {
		resource = "controller"
	}
	of := []string{strings.ToLower(string(c.Operation)), resource, c.Subresource}
	switch c.Outcome {
	case admission.PodExempt:
		return p.exemptions.WithLabelValues(of...)
	case admission.PodFailed, admission.PodMisread:
		return p.errors.WithLabelValues(append([]string{strconv.FormatBool(c.Outcome == admission.PodFailed)}, of...)...)
	}
	version := c.Policy.Version.String()
	switch {
	case c.Policy.Level == podsecurity.Privileged:
		version = podsecurity.Version{}.String()
	case c.Policy.Version.After(podsecurity.V1(newest)):
		version = "future"
	}
	return p.evaluations.WithLabelValues(append([]string{string(c.Outcome), string(c.Policy.Level), version, c.Mode}, of...)...)
}

func (p *podSecurity) count(c admission.PodSecurityCheck) { p.series.of(c).Inc() }

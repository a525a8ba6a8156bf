package batchv1

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func validateFailurePolicy(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	names := map[string]bool{}
	for _, list := range [][]corev1.Container{s.Template.Spec.Containers, s.Template.Spec.InitContainers} {
		for i := range list {
			names[list[i].Name] = true
		}
	}
	rules := p.Child("rules")
	if n := len(s.PodFailurePolicy.Rules); n > maxPolicyRules {
		r.TooMany(rules, n, maxPolicyRules)
	}
	for i := range s.PodFailurePolicy.Rules {
		rule, q := &s.PodFailurePolicy.Rules[i], rules.Index(i)
		switch rule.Action {
		case "":
			r.Required(q.Child("action"), "")
		case PodFailurePolicyActionFailIndex:
			r.If(s.BackoffLimitPerIndex == nil, q.Child("action"), rule.Action, "requires the backoffLimitPerIndex to be set")
		default:
			check.OneOf(&r, q.Child("action"), rule.Action, PodFailurePolicyActionCount, PodFailurePolicyActionFailIndex,
				PodFailurePolicyActionFailJob, PodFailurePolicyActionIgnore)
		}
		if rule.OnExitCodes != nil {
			r.Add(validateExitCodes(rule.OnExitCodes, names, q.Child("onExitCodes")))
		}
		if n := len(rule.OnPodConditions); n > maxPodConditions {
			r.TooMany(q.Child("onPodConditions"), n, maxPodConditions)
		}
		for k := range rule.OnPodConditions {
			c, f := &rule.OnPodConditions[k], q.Child("onPodConditions").Index(k)
			r.Each(f.Child("type"), c.Type, validation.IsQualifiedName(string(c.Type)))
			check.Chosen(&r, f.Child("status"), c.Status, corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown)
		}
		switch both := rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0; {
		case both:
			r.Invalid(q, rule.Action, "specifying both OnExitCodes and OnPodConditions is not supported")
		case rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0:
			r.Invalid(q, rule.Action, "specifying one of OnExitCodes and OnPodConditions is required")
		}
	}
	return r.List()
}

func validateExitCodes(e *PodFailurePolicyOnExitCodesRequirement, names map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	check.Chosen(&r, p.Child("operator"), e.Operator, PodFailurePolicyOnExitCodesOpIn, PodFailurePolicyOnExitCodesOpNotIn)
	if c := e.ContainerName; c != nil {
		r.If(!names[*c], p.Child("containerName"), *c, "must be one of the container or initContainer names in the pod template")
	}
	values := p.Child("values")
	if n := len(e.Values); n == 0 {
		r.Invalid(values, e.Values, "at least one value is required")
	} else if n > maxExitCodes {
		r.TooMany(values, n, maxExitCodes)
	}
	seen := map[int32]bool{}
	ordered := true
	for i, v := range e.Values {
		r.If(v == 0 && e.Operator == PodFailurePolicyOnExitCodesOpIn, values.Index(i), v, "must not be 0 for the In operator")
		if !check.Unique(seen, v) {
			r.Duplicate(values.Index(i), v)
		}
		ordered = ordered && (i == 0 || e.Values[i-1] <= v)
	}
	r.If(!ordered, values, e.Values, "must be ordered")
	return r.List()
}

func validateSuccessPolicy(s *JobSpec, p *path) validation.ErrorList {
	var r check.Report
	rules := p.Child("rules")
	n := len(s.SuccessPolicy.Rules)
	if n == 0 {
		r.Required(rules, "at least one rules must be specified when the successPolicy is specified")
	} else if n > maxPolicyRules {
		r.TooMany(rules, n, maxPolicyRules)
	}
	for i := range s.SuccessPolicy.Rules {
		rule, q := &s.SuccessPolicy.Rules[i], rules.Index(i)
		if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
			r.Required(q, "at least one of succeededCount or succeededIndexes must be specified")
		}
		total := int64(math.MaxInt32)
		if s.Completions != nil {
			total = int64(*s.Completions)
		}
		chosen := int64(-1)
		if x := rule.SucceededIndexes; x != nil {
			var err error
			if chosen, err = countIndexes(*x, total); err != nil {
				r.Invalid(q.Child("succeededIndexes"), *x, err.Error())
			}
		}
		if c := rule.SucceededCount; c != nil {
			check.NonNegative(&r, q.Child("succeededCount"), *c)
			r.If(int64(*c) > total, q.Child("succeededCount"), *c, "must be less than or equal to completions")
			r.If(chosen >= 0 && int64(*c) > chosen, q.Child("succeededCount"), *c, "must be less than or equal to the number of indexes in the specified succeededIndexes field")
		}
	}
	return r.List()
}

// countIndexes counts the indexes in a list such as 1,3-5,7: in rising order and below total.
func countIndexes(text string, total int64) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, last := int64(0), int64(-1)
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, err := strconv.ParseInt(from, 10, 32)
		if err != nil {
			return n, fmt.Errorf("cannot convert %q to an index", from)
		}
		b := a
		if ranged {
			if b, err = strconv.ParseInt(to, 10, 32); err != nil {
				return n, fmt.Errorf("cannot convert %q to an index", to)
			}
			if b <= a {
				return n, fmt.Errorf("non-increasing order, previous: %d, current: %d", a, b)
			}
		}
		if a <= last {
			return n, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, a)
		}
		if b >= total {
			return n, fmt.Errorf("index %d is not below the number of completions, %d", b, total)
		}
		n, last = n+b-a+1, b
	}
	return n, nil
}

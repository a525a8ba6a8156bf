// Package nodefit decides which nodes a pod may be on: by tolerations of taints, by node selectors and by
// node affinity. The scheduler, the controller of DaemonSets and others decide alike with it.
package nodefit

import (
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// Matches reports whether a toleration is one of a taint, whatever its tolerationSeconds.
func Matches(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return t.Key != "" && t.Value == taint.Value
	case corev1.TolerationOpGt, corev1.TolerationOpLt:
		return t.Key != "" && compares(t.Operator, taint.Value, t.Value)
	}
	return false
}

// compares reports whether the value of a taint is greater or less than that of a toleration. Both must be
// decimal integers without a plus sign or leading zeros.
func compares(op corev1.TolerationOperator, taint, toleration string) bool {
	a, ok := decimal(taint)
	b, okB := decimal(toleration)
	return ok && okB && (op == corev1.TolerationOpGt && a > b || op == corev1.TolerationOpLt && a < b)
}

func decimal(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// Tolerates reports whether a taint is tolerated.
func Tolerates(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		if Matches(&tolerations[i], taint) {
			return true
		}
	}
	return false
}

// Term is a compiled node selector term.
type Term struct {
	labels labels.Selector
	names  []nameRequirement
	// never is set for a term without requirements, or with one that does not parse: it matches nothing.
	never bool
}

// nameRequirement is a requirement on metadata.name, the only field there is.
type nameRequirement struct {
	not  bool
	name string
}

var operators = map[corev1.NodeSelectorOperator]labels.Operator{
	corev1.NodeSelectorOpIn: labels.In, corev1.NodeSelectorOpNotIn: labels.NotIn, corev1.NodeSelectorOpExists: labels.Exists,
	corev1.NodeSelectorOpDoesNotExist: labels.DoesNotExist, corev1.NodeSelectorOpGt: labels.GreaterThan, corev1.NodeSelectorOpLt: labels.LessThan,
}

// Compile compiles a term.
func Compile(t *corev1.NodeSelectorTerm) Term {
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		return Term{never: true}
	}
	var out Term
	var reqs []labels.Requirement
	for _, e := range t.MatchExpressions {
		r, err := labels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil {
			return Term{never: true}
		}
		reqs = append(reqs, *r)
	}
	out.labels = labels.NewSelector(reqs...)
	for _, f := range t.MatchFields {
		if f.Key != "metadata.name" || len(f.Values) != 1 {
			return Term{never: true}
		}
		out.names = append(out.names, nameRequirement{f.Operator == corev1.NodeSelectorOpNotIn, f.Values[0]})
	}
	return out
}

// Matches reports whether a node fulfills all requirements of the term.
func (t *Term) Matches(n *corev1.Node) bool {
	if t.never || !t.labels.Matches(n.Labels) {
		return false
	}
	for _, r := range t.names {
		if (r.name == n.Name) == r.not {
			return false
		}
	}
	return true
}

// CompileAll compiles the terms of a node selector, one of which has to match. It is nil for a nil selector,
// which every node matches, and not nil for one without terms, which none does.
func CompileAll(s *corev1.NodeSelector) []Term {
	if s == nil {
		return nil
	}
	out := make([]Term, 0, len(s.NodeSelectorTerms))
	for i := range s.NodeSelectorTerms {
		out = append(out, Compile(&s.NodeSelectorTerms[i]))
	}
	return out
}

// MatchesAny reports whether a node matches one of the terms of CompileAll.
func MatchesAny(terms []Term, n *corev1.Node) bool {
	if terms == nil {
		return true
	}
	for i := range terms {
		if terms[i].Matches(n) {
			return true
		}
	}
	return false
}

// Required returns the required node affinity of a pod, nil without one.
func Required(spec *corev1.PodSpec) *corev1.NodeSelector {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

package corev1

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func validateAffinity(a *Affinity, p *path) validation.ErrorList {
	var r check.Report
	if a == nil {
		return nil
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		q := p.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			r.Add(ValidateNodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, q.Child(required)))
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			t, f := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], q.Child(preferred).Index(i)
			r.Add(validateWeight(t.Weight, f.Child("weight")))
			r.Add(validateSelectorTerm(&t.Preference, f.Child("preference")))
		}
	}
	pods := func(q *path, hard []PodAffinityTerm, soft []WeightedPodAffinityTerm) {
		for i := range hard {
			r.Add(validateAffinityTerm(&hard[i], q.Child(required).Index(i)))
		}
		for i := range soft {
			f := q.Child(preferred).Index(i)
			r.Add(validateWeight(soft[i].Weight, f.Child("weight")))
			r.Add(validateAffinityTerm(&soft[i].PodAffinityTerm, f.Child("podAffinityTerm")))
		}
	}
	if x := a.PodAffinity; x != nil {
		pods(p.Child("podAffinity"), x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if x := a.PodAntiAffinity; x != nil {
		pods(p.Child("podAntiAffinity"), x.RequiredDuringSchedulingIgnoredDuringExecution, x.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return r.List()
}

func validateWeight(w int32, p *path) validation.ErrorList {
	if w < 1 || w > 100 {
		return validation.ErrorList{validation.Invalid(p, w, "must be in the range 1-100")}
	}
	return nil
}

// ValidateNodeSelector checks a node selector at p; it needs at least one term.
func ValidateNodeSelector(s *NodeSelector, p *path) validation.ErrorList {
	var r check.Report
	terms := p.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		r.Required(terms, "must have at least one node selector term")
	}
	for i := range s.NodeSelectorTerms {
		r.Add(validateSelectorTerm(&s.NodeSelectorTerms[i], terms.Index(i)))
	}
	return r.List()
}

func validateSelectorTerm(t *NodeSelectorTerm, p *path) validation.ErrorList {
	var r check.Report
	for i := range t.MatchExpressions {
		e, q := &t.MatchExpressions[i], p.Child("matchExpressions").Index(i)
		switch e.Operator {
		case NodeSelectorOpIn, NodeSelectorOpNotIn:
			if len(e.Values) == 0 {
				r.Required(q.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
			}
		case NodeSelectorOpExists, NodeSelectorOpDoesNotExist:
			r.ForbidIf(len(e.Values) > 0, q.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		case NodeSelectorOpGt, NodeSelectorOpLt:
			if len(e.Values) != 1 {
				r.Required(q.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
			}
		default:
			r.Invalid(q.Child("operator"), e.Operator, "not a valid selector operator")
		}
		r.Add(validation.LabelName(q.Child("key"), e.Key))
		for j, v := range e.Values {
			r.Each(q.Child("values").Index(j), v, validation.IsLabelValue(v))
		}
	}
	for i := range t.MatchFields {
		e, q := &t.MatchFields[i], p.Child("matchFields").Index(i)
		switch e.Operator {
		case NodeSelectorOpIn, NodeSelectorOpNotIn:
			if len(e.Values) != 1 {
				r.Required(q.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
			}
		default:
			r.Invalid(q.Child("operator"), e.Operator, "not a valid selector operator")
		}
		if e.Key != "metadata.name" {
			r.Invalid(q.Child("key"), e.Key, "not a valid field selector key")
			continue
		}
		for j, v := range e.Values {
			r.Each(q.Child("values").Index(j), v, validation.IsDNS1123Subdomain(v))
		}
	}
	return r.List()
}

func validateAffinityTerm(t *PodAffinityTerm, p *path) validation.ErrorList {
	var r check.Report
	r.Add(metav1.ValidateLabelSelector(t.LabelSelector, metav1.SelectorRule{}, p.Child("labelSelector")))
	r.Add(metav1.ValidateLabelSelector(t.NamespaceSelector, metav1.SelectorRule{}, p.Child("namespaceSelector")))
	for _, ns := range t.Namespaces {
		r.Each(p.Child("namespace"), ns, validation.IsDNS1123Label(ns))
	}
	r.Add(validateMatchLabelKeys(t, p))
	r.NonEmpty(p.Child("topologyKey"), t.TopologyKey)
	r.Add(validation.LabelName(p.Child("topologyKey"), t.TopologyKey))
	return r.List()
}

func validateMatchLabelKeys(t *PodAffinityTerm, p *path) validation.ErrorList {
	var r check.Report
	for _, part := range []struct {
		field string
		keys  []string
	}{{"matchLabelKeys", t.MatchLabelKeys}, {"mismatchLabelKeys", t.MismatchLabelKeys}} {
		q := p.Child(part.field)
		r.ForbidIf(len(part.keys) > 0 && t.LabelSelector == nil, q, "must not be specified when labelSelector is not set")
		for i, k := range part.keys {
			r.Add(validation.LabelName(q.Index(i), k))
		}
	}
	for i, k := range t.MatchLabelKeys {
		r.If(slices.Contains(t.MismatchLabelKeys, k), p.Child("matchLabelKeys").Index(i), k, "exists in both matchLabelKeys and mismatchLabelKeys")
	}
	return r.List()
}

// ValidateTolerations checks a pod's tolerations at p.
func ValidateTolerations(list []Toleration, p *path) validation.ErrorList {
	var r check.Report
	for i := range list {
		t, q := &list[i], p.Index(i)
		if t.Key != "" {
			r.Add(validation.LabelName(q.Child("key"), t.Key))
		}
		op := q.Child("operator")
		r.If(t.Key == "" && t.Operator != TolerationOpExists, op, t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		r.If(t.TolerationSeconds != nil && t.Effect != TaintEffectNoExecute, q.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		switch t.Operator {
		case TolerationOpEqual, "":
			r.Each(op, t.Value, validation.IsLabelValue(t.Value))
		case TolerationOpExists:
			r.If(t.Value != "", op, t.Value, "value must be empty when `operator` is 'Exists'")
		default: // Gt and Lt are known but off, as their feature is by default upstream
			check.OneOf(&r, op, t.Operator, TolerationOpEqual, TolerationOpExists)
		}
		if t.Effect != "" {
			check.OneOf(&r, q.Child("effect"), t.Effect, TaintEffectNoExecute, TaintEffectNoSchedule, TaintEffectPreferNoSchedule)
		}
	}
	return r.List()
}

func validateSpread(list []TopologySpreadConstraint, p *path) validation.ErrorList {
	var r check.Report
	type pair struct {
		key  string
		when UnsatisfiableConstraintAction
	}
	left := map[pair]int{} // how many are still to come
	for _, c := range list {
		left[pair{c.TopologyKey, c.WhenUnsatisfiable}]++
	}
	for i := range list {
		c, q := &list[i], p.Index(i)
		r.If(c.MaxSkew <= 0, q.Child("maxSkew"), c.MaxSkew, "must be greater than zero")
		if c.TopologyKey == "" {
			r.Required(q.Child("topologyKey"), "can not be empty")
		} else {
			r.Add(validation.LabelName(q.Child("topologyKey"), c.TopologyKey))
		}
		check.OneOf(&r, q.Child("whenUnsatisfiable"), c.WhenUnsatisfiable, DoNotSchedule, ScheduleAnyway)
		same := pair{c.TopologyKey, c.WhenUnsatisfiable}
		if left[same]--; left[same] > 0 {
			r.Duplicate(q.Child("{topologyKey, whenUnsatisfiable}"), "{"+c.TopologyKey+", "+string(c.WhenUnsatisfiable)+"}")
		}
		if d := c.MinDomains; d != nil {
			r.If(*d <= 0, q.Child("minDomains"), *d, "must be greater than zero")
			r.If(c.WhenUnsatisfiable != DoNotSchedule, q.Child("minDomains"), *d, "can only use minDomains if whenUnsatisfiable=DoNotSchedule")
		}
		check.OneOfOpt(&r, q.Child("nodeAffinityPolicy"), c.NodeAffinityPolicy, NodeInclusionPolicyHonor, NodeInclusionPolicyIgnore)
		check.OneOfOpt(&r, q.Child("nodeTaintsPolicy"), c.NodeTaintsPolicy, NodeInclusionPolicyHonor, NodeInclusionPolicyIgnore)
		keys := q.Child("matchLabelKeys")
		r.ForbidIf(len(c.MatchLabelKeys) > 0 && c.LabelSelector == nil, keys, "must not be specified when labelSelector is not set")
		for j, k := range c.MatchLabelKeys {
			if c.LabelSelector != nil {
				r.Add(validation.LabelName(keys.Index(j), k))
				_, dup := c.LabelSelector.MatchLabels[k]
				r.If(dup, keys.Index(j), k, "exists in both matchLabelKeys and labelSelector")
			}
		}
		r.Add(metav1.ValidateLabelSelector(c.LabelSelector, metav1.SelectorRule{}, q.Child("labelSelector")))
	}
	return r.List()
}

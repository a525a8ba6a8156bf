package authz

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Fields returns the requirements of the field selector: FieldRequirements, or else those of FieldSelector,
// or an error if that cannot be parsed, as the request will be refused later.
func (a *Attributes) Fields() ([]fields.Requirement, error) {
	if a.FieldRequirements != nil || a.FieldSelector == "" {
		return a.FieldRequirements, nil
	}
	s, err := fields.Parse(a.FieldSelector)
	if err != nil {
		return nil, err
	}
	return s.Requirements(), nil
}

// Labels returns the requirements of the label selector, as Fields does.
func (a *Attributes) Labels() ([]labels.Requirement, error) {
	if a.LabelRequirements != nil || a.LabelSelector == "" {
		return a.LabelRequirements, nil
	}
	s, err := labels.Parse(a.LabelSelector)
	if err != nil {
		return nil, err
	}
	reqs, _ := s.Requirements()
	return reqs, nil
}

// requiresField reports whether only objects are selected whose field has a value.
func (a *Attributes) requiresField(field, value string) bool {
	reqs, _ := a.Fields() // one that cannot be parsed requires nothing
	return slices.ContainsFunc(reqs, func(r fields.Requirement) bool {
		return r.Field == field && r.Operator == fields.Equals && r.Value == value
	})
}

// SelectFields converts the requirements of an access review. Those that a field selector cannot have, which
// compares with one value, are left out, so that the request is wider; ok is false then.
func SelectFields(reqs []metav1.FieldSelectorRequirement) (out []fields.Requirement, ok bool) {
	ok = true
	for _, r := range reqs {
		switch {
		case r.Operator == metav1.FieldSelectorOpIn && len(r.Values) == 1:
			out = append(out, fields.Requirement{Field: r.Key, Operator: fields.Equals, Value: r.Values[0]})
		case r.Operator == metav1.FieldSelectorOpNotIn && len(r.Values) == 1:
			out = append(out, fields.Requirement{Field: r.Key, Operator: fields.NotEquals, Value: r.Values[0]})
		default:
			ok = false
		}
	}
	return out, ok
}

// SelectLabels is SelectFields for labels.
func SelectLabels(reqs []metav1.LabelSelectorRequirement) (out []labels.Requirement, ok bool) {
	operators := map[metav1.LabelSelectorOperator]labels.Operator{metav1.LabelSelectorOpIn: labels.In, metav1.LabelSelectorOpNotIn: labels.NotIn,
		metav1.LabelSelectorOpExists: labels.Exists, metav1.LabelSelectorOpDoesNotExist: labels.DoesNotExist}
	ok = true
	for _, r := range reqs {
		q, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil {
			ok = false
			continue
		}
		out = append(out, *q)
	}
	return out, ok
}

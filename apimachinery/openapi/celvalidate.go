package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ruleRun evaluates the rules of one object.
type ruleRun struct {
	v      *validator
	budget int64
	all    bool // also rules on values that did not change
}

// rules runs the rules of a whole object. They are not run on an object whose shape is wrong.
func (v *validator) rules(s *Structural, obj, old *metav1.Unstructured) {
	if !s.celAt {
		return
	}
	if slices.ContainsFunc(v.errs, blocking) {
		v.add(validation.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		return
	}
	if evaluated := s.metrics.Evaluated; evaluated != nil {
		defer func(began time.Time) { evaluated(time.Since(began)) }(time.Now())
	}
	run := &ruleRun{v: v, budget: cel.Budget}
	before := oldValue{}
	if old != nil {
		before = oldValue{s.wholeValue(old), true}
	}
	run.value(s, nil, s.wholeValue(obj), before)
}

// defaultRules runs the rules of a default: as a value that was always there, and as a new one. What they
// cost is taken from budget.
func (v *validator) defaultRules(s *Structural, p *validation.Path, x any, budget *int64) {
	if !s.celAt {
		return
	}
	run := &ruleRun{v: v, budget: *budget, all: true}
	run.value(s, p, x, oldValue{x, true})
	if len(v.errs) == 0 {
		run.value(s, p, x, oldValue{})
	}
	*budget = run.budget
}

func blocking(e *validation.Error) bool {
	switch e.Type {
	case validation.TypeNotSupported, validation.TypeRequired, validation.TypeTooLong, validation.TypeTooMany, validation.TypeTypeInvalid:
		return true
	}
	return false
}

// wholeValue is an object with what rules see of its metadata, if there are any that can.
func (s *Structural) wholeValue(u *metav1.Unstructured) map[string]any {
	if len(s.rules) == 0 && !s.restrictsIdentity {
		return u.Fields
	}
	m := make(map[string]any, len(u.Fields)+3)
	for k, v := range u.Fields {
		m[k] = v
	}
	meta := map[string]any{}
	if u.Name != "" {
		meta["name"] = u.Name
	}
	if u.GenerateName != "" {
		meta["generateName"] = u.GenerateName
	}
	m["apiVersion"], m["kind"], m["metadata"] = u.APIVersion, u.Kind, meta
	return m
}

// value runs the rules at and below a value.
func (r *ruleRun) value(s *Structural, p *validation.Path, x any, old oldValue) {
	if !s.celAt || x == nil || r.budget <= 0 {
		return
	}
	if len(s.rules) > 0 {
		unchanged := !r.all && old.ok && sameJSON(x, old.value)
		for _, rule := range s.rules {
			if !r.rule(rule, p, x, old, unchanged) {
				return
			}
		}
	}
	switch x := x.(type) {
	case map[string]any:
		before, _ := old.value.(map[string]any)
		names := s.names
		if s.Additional != nil && s.Additional.celAt {
			names = slices.Sorted(maps.Keys(x))
		}
		for _, name := range names {
			member, there := x[name]
			c := s.child(name)
			if !there || c == nil || !c.celAt {
				continue
			}
			at := somewhere
			if _, described := s.Properties[name]; r.v.blind {
			} else if described {
				at = p.Child(name)
			} else {
				at = p.Key(name)
			}
			was, ok := before[name]
			r.value(c, at, member, oldValue{was, ok && old.ok})
		}
	case []any:
		if s.Items != nil {
			r.items(s, p, x, old)
		}
	}
}

func (r *ruleRun) items(s *Structural, p *validation.Path, list []any, old oldValue) {
	byKey := map[any]any{}
	before, ok := old.value.([]any)
	same := ok && old.ok && sameJSON(list, old.value)
	if ok && old.ok && s.ListType == "map" {
		for _, it := range before {
			if key, ok := s.itemKey(it); ok {
				byKey[key] = it
			}
		}
	}
	for i, it := range list {
		was := oldValue{}
		if same {
			was = oldValue{before[i], true} // items without identity are what they were if nothing moved
		} else if key, ok := s.itemKey(it); ok {
			was.value, was.ok = byKey[key]
		}
		r.value(s.Items, r.v.item(p, i), it, was)
	}
}

// rule runs one rule; on a value that is unchanged only if it compares with the old one. It returns false
// when the budget is spent.
func (r *ruleRun) rule(rule *celRule, p *validation.Path, x any, old oldValue, unchanged bool) bool {
	if err := rule.ready(); err != nil {
		r.v.add(validation.Invalid(p, jsonType(x), "rule compile error: "+err.Error()))
		return true
	}
	var before *any
	if old.ok && old.value != nil {
		before = &old.value
	}
	if rule.usesOld && before == nil && !rule.optionalOld() {
		return true
	}
	if unchanged && !rule.usesOld {
		return true
	}
	message, err := rule.run(x, before, &r.budget)
	switch {
	case errors.Is(err, errBudget):
		r.v.add(validation.Invalid(p, jsonType(x), "validation failed due to running out of cost budget, no further validation rules will be run"))
		return false
	case err != nil && strings.Contains(err.Error(), "cost limit"):
		r.budget = 0
		r.v.add(validation.Invalid(p, rule.scope.s.Type, fmt.Sprintf("'%v': no further validation rules will be run due to call cost exceeds limit for rule: %s", err, rule.briefly())))
		return false
	case err != nil:
		r.v.add(validation.Invalid(p, rule.scope.s.Type, fmt.Sprintf("%v evaluating rule: %s", err, rule.briefly())))
	case message != "":
		r.v.add(rule.finding(p, x, message))
	}
	return true
}

// briefly is the rule in a message: what it says of itself, or else its text.
func (r *celRule) briefly() string {
	if r.text.Message != "" {
		return strings.TrimSpace(r.text.Message)
	}
	return strings.TrimSpace(r.text.Rule)
}

// finding is the error of a failed rule.
func (r *celRule) finding(p *validation.Path, x any, message string) *validation.Error {
	if r.text.FieldPath != "" {
		if path, err := jsonpath.Parse(r.text.FieldPath); err == nil {
			if names, ok := path.Fields(); ok {
				for _, n := range names {
					p = p.Child(n)
				}
			}
		}
	}
	reason := apiextensionsv1.FieldValueInvalid
	if r.text.Reason != nil {
		reason = *r.text.Reason
	}
	switch reason {
	case apiextensionsv1.FieldValueForbidden:
		return validation.Forbidden(p, message)
	case apiextensionsv1.FieldValueRequired:
		return validation.Required(p, message)
	case apiextensionsv1.FieldValueDuplicate:
		e := validation.Duplicate(p, nil).WithoutValue()
		e.Detail = message
		return e
	}
	e := validation.Invalid(p, x, message)
	if r.text.FieldPath != "" || !isScalar(x) {
		e = e.WithoutValue() // objects are too big for a message
	}
	return e
}

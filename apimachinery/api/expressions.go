package api

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ExpressionUse says what a CEL expression is for, and so what it may refer to and must return.
type ExpressionUse string

// The uses of expressions.
const (
	// UseMatchCondition is of a webhook or policy: object, oldObject, request, authorizer; returns bool.
	UseMatchCondition ExpressionUse = "MatchCondition"
	// UseVariable is of a policy and returns anything; later expressions refer to it.
	UseVariable ExpressionUse = "Variable"
	// UseValidation is of a validating policy; returns bool.
	UseValidation ExpressionUse = "Validation"
	// UseMessage is of a validating policy; returns string.
	UseMessage ExpressionUse = "Message"
	// UseAuditAnnotation is of a validating policy; returns string or null.
	UseAuditAnnotation ExpressionUse = "AuditAnnotation"
	// UseApplyConfiguration is of a mutating policy; returns an apply configuration.
	UseApplyConfiguration ExpressionUse = "ApplyConfiguration"
	// UseJSONPatch is of a mutating policy; returns a list of JSON patches.
	UseJSONPatch ExpressionUse = "JSONPatch"
	// UseDeviceSelector is of a device class or claim: device; returns bool.
	UseDeviceSelector ExpressionUse = "DeviceSelector"
)

// Expression is one CEL expression of an object.
type Expression struct {
	// Use, and Path of the field that holds Text.
	Use  ExpressionUse
	Path *validation.Path
	Text string
	// Object is what the expression is part of: a policy's variables and parameters are there.
	Object metav1.Object
}

// AddExpressionRules makes the rules of the kinds that hold CEL expressions compile them as well: check says
// what is wrong with one, and the field is then reported as invalid. AddRules must come first. It stands
// separate because a compiler is large: a server of these kinds brings one. Rules in the schemas of custom
// resources are not among them: openapi.AddRules checks them with their schema.
func AddExpressionRules(s *scheme.Scheme, check func(Expression) error) error {
	return errors.Join(
		alsoCompile(s, check, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) (out []Expression) {
			for i := range c.Webhooks {
				out = append(out, conditions(c, c.Webhooks[i].MatchConditions, validation.NewPath("webhooks").Index(i))...)
			}
			return out
		}),
		alsoCompile(s, check, func(c *admissionregistrationv1.MutatingWebhookConfiguration) (out []Expression) {
			for i := range c.Webhooks {
				out = append(out, conditions(c, c.Webhooks[i].MatchConditions, validation.NewPath("webhooks").Index(i))...)
			}
			return out
		}),
		alsoCompile(s, check, validatingExpressions),
		alsoCompile(s, check, mutatingExpressions),
		alsoCompile(s, check, func(c *resourcev1.DeviceClass) []Expression {
			return selectors(c, c.Spec.Selectors, validation.NewPath("spec", "selectors"))
		}),
		alsoCompile(s, check, func(c *resourcev1.ResourceClaim) []Expression {
			return claimExpressions(c, &c.Spec.Devices, validation.NewPath("spec", "devices"))
		}),
		alsoCompile(s, check, func(t *resourcev1.ResourceClaimTemplate) []Expression {
			return claimExpressions(t, &t.Spec.Spec.Devices, validation.NewPath("spec", "spec", "devices"))
		}),
	)
}

// alsoCompile wraps the validation of T. On updates only expressions that are new are compiled, so that
// an object stays writable when a later compiler is stricter.
func alsoCompile[T metav1.Object](s *scheme.Scheme, check func(Expression) error, of func(T) []Expression) error {
	info, err := scheme.InfoFor[T](s)
	if err != nil {
		return err
	}
	compile := func(list []Expression, known map[string]bool) validation.ErrorList {
		var errs validation.ErrorList
		for _, e := range list {
			if e.Text == "" || known[e.Text] {
				continue
			}
			if err := check(e); err != nil {
				errs = append(errs, validation.Invalid(e.Path, e.Text, err.Error()))
			}
		}
		return errs
	}
	rules := info.Rules
	create, update := rules.Validate, rules.ValidateUpdate
	rules.Validate = func(obj metav1.Object) validation.ErrorList {
		var errs validation.ErrorList
		if create != nil {
			errs = create(obj)
		}
		return append(errs, compile(of(obj.(T)), nil)...)
	}
	rules.ValidateUpdate = func(obj, old metav1.Object) validation.ErrorList {
		var errs validation.ErrorList
		if update != nil {
			errs = update(obj, old)
		}
		known := map[string]bool{}
		for _, e := range of(old.(T)) {
			known[e.Text] = true
		}
		return append(errs, compile(of(obj.(T)), known)...)
	}
	return scheme.SetRules[T](s, rules)
}

func conditions(obj metav1.Object, list []admissionregistrationv1.MatchCondition, p *validation.Path) []Expression {
	var out []Expression
	for i := range list {
		out = append(out, Expression{
			Use: UseMatchCondition, Path: p.Child("matchConditions").Index(i).Child("expression"), Text: list[i].Expression, Object: obj,
		})
	}
	return out
}

func variables(obj metav1.Object, list []admissionregistrationv1.Variable, p *validation.Path) []Expression {
	var out []Expression
	for i := range list {
		out = append(out, Expression{
			Use: UseVariable, Path: p.Child("variables").Index(i).Child("expression"), Text: list[i].Expression, Object: obj,
		})
	}
	return out
}

func validatingExpressions(v *admissionregistrationv1.ValidatingAdmissionPolicy) []Expression {
	p := validation.NewPath("spec")
	out := append(conditions(v, v.Spec.MatchConditions, p), variables(v, v.Spec.Variables, p)...)
	for i, x := range v.Spec.Validations {
		q := p.Child("validations").Index(i)
		out = append(out, Expression{Use: UseValidation, Path: q.Child("expression"), Text: x.Expression, Object: v},
			Expression{Use: UseMessage, Path: q.Child("messageExpression"), Text: x.MessageExpression, Object: v})
	}
	for i, a := range v.Spec.AuditAnnotations {
		q := p.Child("auditAnnotations").Index(i)
		out = append(out, Expression{Use: UseAuditAnnotation, Path: q.Child("valueExpression"), Text: a.ValueExpression, Object: v})
	}
	return out
}

func mutatingExpressions(m *admissionregistrationv1.MutatingAdmissionPolicy) []Expression {
	p := validation.NewPath("spec")
	out := append(conditions(m, m.Spec.MatchConditions, p), variables(m, m.Spec.Variables, p)...)
	for i, x := range m.Spec.Mutations {
		q := p.Child("mutations").Index(i)
		if a := x.ApplyConfiguration; a != nil {
			out = append(out, Expression{Use: UseApplyConfiguration, Path: q.Child("applyConfiguration", "expression"), Text: a.Expression, Object: m})
		}
		if j := x.JSONPatch; j != nil {
			out = append(out, Expression{Use: UseJSONPatch, Path: q.Child("jsonPatch", "expression"), Text: j.Expression, Object: m})
		}
	}
	return out
}

func selectors(obj metav1.Object, list []resourcev1.DeviceSelector, p *validation.Path) []Expression {
	var out []Expression
	for i, s := range list {
		if s.CEL != nil {
			out = append(out, Expression{Use: UseDeviceSelector, Path: p.Index(i).Child("cel", "expression"), Text: s.CEL.Expression, Object: obj})
		}
	}
	return out
}

func claimExpressions(obj metav1.Object, d *resourcev1.DeviceClaim, p *validation.Path) []Expression {
	var out []Expression
	for i := range d.Requests {
		r, q := &d.Requests[i], p.Child("requests").Index(i)
		if r.Exactly != nil {
			out = append(out, selectors(obj, r.Exactly.Selectors, q.Child("exactly", "selectors"))...)
		}
		for j := range r.FirstAvailable {
			out = append(out, selectors(obj, r.FirstAvailable[j].Selectors, q.Child("firstAvailable").Index(j).Child("selectors"))...)
		}
	}
	return out
}

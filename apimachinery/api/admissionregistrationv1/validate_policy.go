package admissionregistrationv1

import (
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

const maxAuditAnnotations = 20

// ValidateValidatingAdmissionPolicy checks a policy to be stored. Expressions must be there; whether
// they compile is checked by package celcheck, which has the compiler.
func ValidateValidatingAdmissionPolicy(v *ValidatingAdmissionPolicy) validation.ErrorList {
	var r check.Report
	s, p := &v.Spec, at("spec")
	r.Add(validateCommonSpec(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables, p))
	if len(s.Validations) == 0 && len(s.AuditAnnotations) == 0 {
		r.Required(p.Child("validations"), "validations or auditAnnotations must be non-empty")
		r.Required(p.Child("auditAnnotations"), "validations or auditAnnotations must be non-empty")
		return r.List()
	}
	for i := range s.Validations {
		x, q := &s.Validations[i], p.Child("validations").Index(i)
		if strings.TrimSpace(x.Expression) == "" {
			r.Required(q.Child("expression"), "expression is not specified")
		}
		message := strings.TrimSpace(x.Message)
		r.If(x.Message != "" && message == "", q.Child("message"), x.Message, "message must be non-empty if specified")
		r.If(strings.Contains(message, "\n"), q.Child("message"), x.Message, "message must not contain line breaks")
		if strings.Contains(x.Expression, "\n") && message == "" && x.MessageExpression == "" {
			r.Required(q.Child("message"), "message must be specified if expression contains line breaks")
		}
		r.If(x.MessageExpression != "" && strings.TrimSpace(x.MessageExpression) == "", q.Child("messageExpression"), x.MessageExpression, "must be non-empty if specified")
		check.OneOfOpt(&r, q.Child("reason"), x.Reason, metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
			metav1.StatusReasonRequestEntityTooLarge, metav1.StatusReasonUnauthorized)
	}
	annotations := p.Child("auditAnnotations")
	if n := len(s.AuditAnnotations); n > maxAuditAnnotations {
		r.TooMany(annotations, n, maxAuditAnnotations)
	}
	keys := map[string]bool{}
	for i, a := range s.AuditAnnotations {
		q := annotations.Index(i)
		// The key is stored behind the policy's own name.
		r.Each(q.Child("key"), a.Key, validation.IsQualifiedName(v.Name+"/"+a.Key))
		if !check.Unique(keys, a.Key) {
			r.Duplicate(q.Child("key"), a.Key)
		}
		if strings.TrimSpace(a.ValueExpression) == "" {
			r.Required(q.Child("valueExpression"), "valueExpression is not specified")
		}
	}
	return r.List()
}

// validateCommonSpec checks what validating and mutating policies share.
func validateCommonSpec(failure *FailurePolicyType, param *ParamKind, match *MatchResources, conditions []MatchCondition, variables []Variable, p *path) validation.ErrorList {
	var r check.Report
	if failure == nil {
		r.Required(p.Child("failurePolicy"), "")
	} else {
		check.OneOf(&r, p.Child("failurePolicy"), *failure, Fail, Ignore)
	}
	if param != nil {
		r.Add(validateParamKind(param, p.Child("paramKind")))
	}
	if match == nil {
		r.Required(p.Child("matchConstraints"), "")
	} else {
		r.Add(validateMatch(match, p.Child("matchConstraints")))
		if len(match.ResourceRules) == 0 {
			r.Required(p.Child("matchConstraints", "resourceRules"), "")
		}
	}
	r.Add(validateConditions(conditions, p.Child("matchConditions")))
	for i, v := range variables {
		q := p.Child("variables").Index(i)
		if strings.TrimSpace(v.Name) == "" {
			r.Required(q.Child("name"), "name is not specified")
		} else if validation.IsCIdentifier(v.Name) != nil {
			r.Invalid(q.Child("name"), v.Name, "must be a valid CEL identifier")
		}
		if strings.TrimSpace(v.Expression) == "" {
			r.Required(q.Child("expression"), "expression is not specified")
		}
	}
	return r.List()
}

func validateParamKind(k *ParamKind, p *path) validation.ErrorList {
	var r check.Report
	if k.APIVersion == "" {
		r.Required(p.Child("apiVersion"), "")
	} else if gv, err := schema.ParseGroupVersion(k.APIVersion); err != nil {
		r.Invalid(p.Child("apiVersion"), k.APIVersion, err.Error())
	} else {
		if gv.Group != "" {
			r.Each(p.Child("apiVersion"), gv.Group, validation.IsDNS1123Subdomain(gv.Group))
		}
		r.Each(p.Child("apiVersion"), gv.Version, validation.IsDNS1035Label(gv.Version))
	}
	if k.Kind == "" {
		r.Required(p.Child("kind"), "")
	} else {
		r.Each(p.Child("kind"), k.Kind, validation.IsDNS1035Label(strings.ToLower(k.Kind)))
	}
	return r.List()
}

func validateMatch(m *MatchResources, p *path) validation.ErrorList {
	var r check.Report
	if m.MatchPolicy == nil {
		r.Required(p.Child("matchPolicy"), "")
	} else {
		check.OneOf(&r, p.Child("matchPolicy"), *m.MatchPolicy, Exact, Equivalent)
	}
	if m.NamespaceSelector == nil {
		r.Required(p.Child("namespaceSelector"), "")
	}
	if m.ObjectSelector == nil {
		r.Required(p.Child("objectSelector"), "")
	}
	r.Add(metav1.ValidateLabelSelector(m.NamespaceSelector, metav1.SelectorRule{}, p.Child("namespaceSelector")))
	r.Add(metav1.ValidateLabelSelector(m.ObjectSelector, metav1.SelectorRule{}, p.Child("objectSelector")))
	for _, f := range []struct {
		name  string
		rules []NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i := range f.rules {
			q := p.Child(f.name).Index(i)
			r.Add(validateRule(&f.rules[i].RuleWithOperations, q))
			names := map[string]bool{}
			for j, n := range f.rules[i].ResourceNames {
				r.Each(q.Child("resourceNames").Index(j), n, validation.IsPathSegmentName(n))
				if !check.Unique(names, n) {
					r.Duplicate(q.Child("resourceNames").Index(j), n)
				}
			}
		}
	}
	return r.List()
}

// ValidateValidatingAdmissionPolicyBinding checks a binding to be stored.
func ValidateValidatingAdmissionPolicyBinding(b *ValidatingAdmissionPolicyBinding) validation.ErrorList {
	var r check.Report
	s, p := &b.Spec, at("spec")
	r.Add(validateBinding(s.PolicyName, s.ParamRef, s.MatchResources, p))
	actions := p.Child("validationActions")
	if len(s.ValidationActions) == 0 {
		r.Required(actions, "at least one validation action is required")
	}
	seen := map[ValidationAction]bool{}
	for i, a := range s.ValidationActions {
		check.OneOf(&r, actions.Index(i), a, Deny, Warn, Audit)
		if !check.Unique(seen, a) {
			r.Duplicate(actions.Index(i), a)
		}
	}
	r.If(seen[Deny] && seen[Warn], actions, s.ValidationActions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)")
	return r.List()
}

func validateBinding(policy string, ref *ParamRef, match *MatchResources, p *path) validation.ErrorList {
	var r check.Report
	r.Name(p.Child("policyName"), policy, validation.NameIsSubdomain)
	if ref != nil {
		q := p.Child("paramRef")
		if ref.Name == "" && ref.Selector == nil {
			r.Required(q, "one of name or selector must be specified")
		}
		for _, name := range [...]string{"name", "selector"} {
			r.ForbidIf(ref.Name != "" && ref.Selector != nil, q.Child(name), "name and selector are mutually exclusive")
		}
		if ref.Name != "" {
			r.Each(q.Child("name"), ref.Name, validation.IsPathSegmentName(ref.Name))
		}
		r.Add(metav1.ValidateLabelSelector(ref.Selector, metav1.SelectorRule{}, q.Child("selector")))
		if ref.ParameterNotFoundAction == nil {
			r.Required(q.Child("parameterNotFoundAction"), "")
		} else {
			check.OneOf(&r, q.Child("parameterNotFoundAction"), *ref.ParameterNotFoundAction, DenyAction, AllowAction)
		}
	}
	if match != nil {
		r.Add(validateMatch(match, p.Child("matchResources")))
	}
	return r.List()
}

// ValidateMutatingAdmissionPolicy checks a policy to be stored. Expressions must be there; whether they
// compile is checked by package celcheck, which has the compiler.
func ValidateMutatingAdmissionPolicy(m *MutatingAdmissionPolicy) validation.ErrorList {
	var r check.Report
	s, p := &m.Spec, at("spec")
	r.Add(validateCommonSpec(s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables, p))
	r.Add(validateMutated(s.MatchConstraints, p.Child("matchConstraints")))
	if len(s.Mutations) == 0 {
		r.Required(p.Child("mutations"), "mutations must contain at least one item")
	}
	for i := range s.Mutations {
		x, q := &s.Mutations[i], p.Child("mutations").Index(i)
		apply, patch := q.Child("applyConfiguration"), q.Child("jsonPatch")
		switch x.PatchType {
		case PatchTypeApplyConfiguration:
			if x.ApplyConfiguration == nil {
				r.Required(apply, "must be specified when patchType is ApplyConfiguration")
			} else if strings.TrimSpace(x.ApplyConfiguration.Expression) == "" {
				r.Required(apply.Child("expression"), "expression is not specified")
			}
			r.If(x.JSONPatch != nil, patch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration")
		case PatchTypeJSONPatch:
			if x.JSONPatch == nil {
				r.Required(patch, "must be specified when patchType is JSONPatch")
			} else if strings.TrimSpace(x.JSONPatch.Expression) == "" {
				r.Required(patch.Child("expression"), "expression is not specified")
			}
			r.If(x.ApplyConfiguration != nil, apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch")
		default:
			check.Chosen(&r, q.Child("patchType"), x.PatchType, PatchTypeApplyConfiguration, PatchTypeJSONPatch)
		}
	}
	check.Chosen(&r, p.Child("reinvocationPolicy"), s.ReinvocationPolicy, NeverReinvocationPolicy, IfNeededReinvocationPolicy)
	return r.List()
}

// ValidateMutatingAdmissionPolicyBinding checks a binding to be stored.
func ValidateMutatingAdmissionPolicyBinding(b *MutatingAdmissionPolicyBinding) validation.ErrorList {
	var r check.Report
	r.Add(validateBinding(b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources, at("spec")))
	r.Add(validateMutated(b.Spec.MatchResources, at("spec", "matchResources")))
	return r.List()
}

// validateMutated refuses operations that leave nothing to mutate.
func validateMutated(m *MatchResources, p *path) validation.ErrorList {
	var r check.Report
	if m == nil {
		return nil
	}
	for _, rule := range m.ResourceRules {
		for _, o := range rule.Operations {
			check.OneOf(&r, p.Child("resourceRules", "operations"), o, OperationAll, Connect, Create, Update)
		}
	}
	return r.List()
}

// ValidateValidatingAdmissionPolicyStatus checks a change of a policy's status.
func ValidateValidatingAdmissionPolicyStatus(v, _ *ValidatingAdmissionPolicy) validation.ErrorList {
	return metav1.ValidateConditions(v.Status.Conditions, at("status", "conditions"))
}

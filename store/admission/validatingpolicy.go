package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// validatingPolicy is a ValidatingAdmissionPolicy.
type validatingPolicy struct {
	policy
	validations []rule
	annotations []annotation
}

// rule is one validation.
type rule struct {
	*expression
	message           string
	messageExpression *expression // nil without a messageExpression
	reason            metav1.StatusReason
}

// annotation is one value for the audit log.
type annotation struct {
	key string
	*expression
}

func compileValidatingPolicy(obj metav1.Object) *validatingPolicy {
	p, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	if !ok {
		return &validatingPolicy{}
	}
	s := &p.Spec
	out := &validatingPolicy{policy: newPolicy(p.Name, s.FailurePolicy, s.ParamKind, s.MatchConstraints, s.MatchConditions, s.Variables)}
	for i := range s.Validations {
		v := &s.Validations[i]
		r := rule{expression: newExpression(v.Expression, cel.Admission), message: strings.TrimSpace(v.Message), reason: metav1.StatusReasonInvalid}
		if v.MessageExpression != "" {
			r.messageExpression = newExpression(v.MessageExpression, cel.Admission)
		}
		if v.Reason != nil {
			r.reason = *v.Reason
		}
		out.validations = append(out.validations, r)
	}
	for _, a := range s.AuditAnnotations {
		out.annotations = append(out.annotations, annotation{a.Key, newExpression(a.ValueExpression, cel.Admission)})
	}
	return out
}

func compileValidatingBinding(obj metav1.Object) *binding {
	b, ok := obj.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
	if !ok {
		return &binding{}
	}
	out := newBinding(b.Name, b.Spec.PolicyName, b.Spec.ParamRef, b.Spec.MatchResources)
	out.actions = b.Spec.ValidationActions
	return out
}

// validatingPolicies is the plugin ValidatingAdmissionPolicy.
type validatingPolicies struct {
	policies[*validatingPolicy]
}

func newValidatingPolicies(access Access, o Options) Plugin {
	return &validatingPolicies{newPolicies("ValidatingAdmissionPolicy", "validatingadmissionpolic", access, o, compileValidatingPolicy, compileValidatingBinding)}
}

// finding is a failed validation of a policy.
type finding struct {
	message string
	reason  metav1.StatusReason
	index   int // of the validation
	failure PolicyFailure
	elapsed time.Duration // of the expression
	denies  bool          // regardless of the binding's actions
}

// maxMessage bounds the result of a messageExpression, in bytes.
const maxMessage = 5 << 10

func (p *validatingPolicies) Validate(ctx context.Context, a *Attributes) error {
	if configuresAdmission(a) {
		return nil
	}
	v := verdicts{a: a, values: map[string][]string{}, hook: p.options.Metrics.Policy}
	f := newForms(a)
	err := p.eachUse(ctx, f, func(u use[*validatingPolicy]) error {
		v.add(&u, p.check(ctx, f, &u, &v))
		return nil
	})
	if err != nil {
		return err
	}
	return v.publish()
}

// check evaluates a policy and returns the validations that do not hold.
func (p *validatingPolicies) check(ctx context.Context, f *forms, u *use[*validatingPolicy], v *verdicts) []finding {
	began := time.Now() // evaluation of the current expression
	failed := func(err error, i int) []finding {
		one := finding{err.Error(), metav1.StatusReasonInvalid, i, policyFailure(err), time.Since(began), false}
		if u.policy.ignore {
			v.measure(u, &one, "")
			return nil
		}
		return []finding{one}
	}
	if u.err != nil {
		return failed(u.err, 0)
	}
	e, err := u.evaluation(ctx, f, &u.policy.policy, Validating, p.access, p.options)
	switch {
	case err != nil:
		return failed(err, 0)
	case e == nil:
		return nil
	}
	var found []finding
	for i := range u.policy.validations {
		r := &u.policy.validations[i]
		began = time.Now()
		switch result, err := e.run(ctx, r.expression); {
		case err != nil:
			found = append(found, failed(err, i)...)
		case result != types.True:
			found = append(found, finding{r.failure(ctx, e), r.reason, i, PolicyInvalid, time.Since(began), false})
		}
	}
	e.budget = cel.Budget // annotations have a separate budget
	for _, n := range u.policy.annotations {
		began = time.Now()
		result, err := e.run(ctx, n.expression)
		if err != nil {
			for _, one := range failed(fmt.Errorf("error evaluating audit annotation %q: %w", n.key, err), 0) {
				one.denies = true
				found = append(found, one)
			}
			continue
		}
		switch result := result.(type) {
		case types.String:
			v.annotate(u.policy.name+"/"+n.key, string(result))
		case types.Null:
		default: // regardless of the failure policy
			found = append(found, finding{fmt.Sprintf("valueExpression '%s' resulted in unsupported return type: %s. Return type must be either string or null.", n.text, result.Type().TypeName()),
				metav1.StatusReasonInvalid, 0, PolicyInvalid, time.Since(began), true})
		}
	}
	return found
}

// failure returns the message of a rule that does not hold.
func (r *rule) failure(ctx context.Context, e *evaluation) string {
	if r.messageExpression != nil {
		if v, err := e.run(ctx, r.messageExpression); err == nil {
			if text, ok := v.Value().(string); ok {
				if text = strings.TrimSpace(text); text != "" && len(text) <= maxMessage && !strings.Contains(text, "\n") {
					return text
				}
			}
		}
	}
	if r.message != "" {
		return r.message
	}
	return "failed expression: " + strings.TrimSpace(r.text)
}

// verdicts collects the findings of all policies about a request.
type verdicts struct {
	a        *Attributes
	denied   error // the first denial
	failures []failure
	values   map[string][]string // audit annotations by key
	hook     func(PolicyCheck)
}

// measure reports a finding, unless it is an error of the policy or binding itself.
func (v *verdicts) measure(u *use[*validatingPolicy], one *finding, action admissionregistrationv1.ValidationAction) {
	if v.hook != nil && u.err == nil {
		v.hook(PolicyCheck{u.policy.name, u.binding.name, one.failure, action, one.elapsed})
	}
}

// failure is a finding in the audit log.
type failure struct {
	Message           string                                     `json:"message"`
	Policy            string                                     `json:"policy"`
	Binding           string                                     `json:"binding"`
	ExpressionIndex   int                                        `json:"expressionIndex"`
	ValidationActions []admissionregistrationv1.ValidationAction `json:"validationActions"`
}

// maxAnnotation bounds a value for the audit log, in bytes; longer ones are truncated.
const maxAnnotation = 10 << 10

func (v *verdicts) annotate(key, value string) {
	if value = strings.TrimSpace(value); len(value) > maxAnnotation {
		value = strings.ToValidUTF8(value[:maxAnnotation], "")
	}
	if value != "" && !slices.Contains(v.values[key], value) {
		v.values[key] = append(v.values[key], value)
	}
}

// add applies the actions of the binding to findings. An error of the policy denies the request, and so does
// an audit annotation without a value.
func (v *verdicts) add(u *use[*validatingPolicy], found []finding) {
	for _, one := range found {
		actions := []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
		if u.binding != nil && u.err == nil && !one.denies {
			actions = u.binding.actions
		}
		for _, action := range actions {
			v.measure(u, &one, action)
			switch action {
			case admissionregistrationv1.Deny:
				if v.denied == nil {
					v.denied = denied(v.a, u, one)
				}
			case admissionregistrationv1.Warn:
				v.a.Warn(fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", u.policy.name, u.binding.name, one.message))
			case admissionregistrationv1.Audit:
				v.failures = append(v.failures, failure{one.message, u.policy.name, u.binding.name, one.index, actions})
			}
		}
	}
}

func denied(a *Attributes, u *use[*validatingPolicy], one finding) error {
	message := fmt.Sprintf("ValidatingAdmissionPolicy '%s' denied request: %s", u.policy.name, one.message)
	if u.binding != nil {
		message = fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", u.policy.name, u.binding.name, one.message)
	}
	return refuseFor(a, one.reason, message)
}

// refuseFor returns a refusal with that reason.
func refuseFor(a *Attributes, reason metav1.StatusReason, message string) error {
	err := refuse(a, errors.New(message))
	err.ErrStatus.Reason, err.ErrStatus.Code = reason, codeOf(reason)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Message: message})
	return err
}

func codeOf(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonUnauthorized:
		return http.StatusUnauthorized
	case metav1.StatusReasonRequestEntityTooLarge:
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusUnprocessableEntity
}

// publish writes the audit annotations and returns the denial, if there is one.
func (v *verdicts) publish() error {
	for _, key := range slices.Sorted(maps.Keys(v.values)) {
		v.a.Annotate(key, strings.Join(v.values[key], ", "))
	}
	if len(v.failures) > 0 {
		text, _ := json.Marshal(v.failures) // never fails
		v.a.Annotate("validation.policy.admission.k8s.io/validation_failure", string(text))
	}
	return v.denied
}

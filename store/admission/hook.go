package admission

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/admissionv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/webhook"
)

// hook is one webhook of a configuration.
type hook struct {
	configuration, name string
	id                  string // unique among the webhooks of its kind
	target              webhook.Target
	timeout             time.Duration
	versions            []string
	ignore              bool // failurePolicy
	dryRun              bool // may be called for dry runs
	reinvoke            bool
	criteria            *criteria
	conditions          conditions
	err                 error // of the configuration itself
}

func mutatingHooks(obj metav1.Object) []*hook {
	c, ok := obj.(*admissionregistrationv1.MutatingWebhookConfiguration)
	if !ok {
		return nil
	}
	out := make([]*hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		h := newHook(c.Name, w.Name, i, &w.ClientConfig, w.Rules, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector)
		h.conditions = newConditions(w.MatchConditions)
		h.timeout, h.versions, h.ignore, h.dryRun = timeoutOf(w.TimeoutSeconds), w.AdmissionReviewVersions, failsOpen(w.FailurePolicy), noSideEffects(w.SideEffects)
		h.reinvoke = w.ReinvocationPolicy != nil && *w.ReinvocationPolicy == admissionregistrationv1.IfNeededReinvocationPolicy
		out[i] = h
	}
	return out
}

func validatingHooks(obj metav1.Object) []*hook {
	c, ok := obj.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	if !ok {
		return nil
	}
	out := make([]*hook, len(c.Webhooks))
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		h := newHook(c.Name, w.Name, i, &w.ClientConfig, w.Rules, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector)
		h.conditions = newConditions(w.MatchConditions)
		h.timeout, h.versions, h.ignore, h.dryRun = timeoutOf(w.TimeoutSeconds), w.AdmissionReviewVersions, failsOpen(w.FailurePolicy), noSideEffects(w.SideEffects)
		out[i] = h
	}
	return out
}

func newHook(configuration, name string, i int, cc *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
	match *admissionregistrationv1.MatchPolicyType, namespaces, objects *metav1.LabelSelector) *hook {
	h := &hook{configuration: configuration, name: name, id: configuration + "/" + name + "/" + strconv.Itoa(i), target: targetOf(cc)}
	all := make([]admissionregistrationv1.NamedRuleWithOperations, len(rules))
	for i := range rules {
		all[i].RuleWithOperations = rules[i]
	}
	h.criteria, h.err = newCriteria(all, nil, match, namespaces, objects)
	return h
}

func targetOf(cc *admissionregistrationv1.WebhookClientConfig) webhook.Target {
	t := webhook.Target{CABundle: cc.CABundle}
	if cc.URL != nil {
		t.URL = *cc.URL
	}
	if s := cc.Service; s != nil {
		t.Service = &webhook.Service{Namespace: s.Namespace, Name: s.Name}
		if s.Path != nil {
			t.Service.Path = *s.Path
		}
		if s.Port != nil {
			t.Service.Port = *s.Port
		}
	}
	return t
}

func failsOpen(p *admissionregistrationv1.FailurePolicyType) bool {
	return p != nil && *p == admissionregistrationv1.Ignore
}

func noSideEffects(s *admissionregistrationv1.SideEffectClass) bool {
	return s != nil && (*s == admissionregistrationv1.SideEffectClassNone || *s == admissionregistrationv1.SideEffectClassNoneOnDryRun)
}

// callError is a failed call of a webhook. The failure policy decides whether it refuses the request.
type callError struct {
	webhook string
	err     error
}

func (e *callError) Error() string {
	return fmt.Sprintf("failed calling webhook %q: %v", e.webhook, e.err)
}
func (e *callError) Unwrap() error { return e.err }

// refusedError is the denial of a webhook.
type refusedError struct{ denial error }

func (e *refusedError) Error() string { return e.denial.Error() }
func (e *refusedError) Unwrap() error { return e.denial }

// applies returns the version in which the webhook gets the request, nil if it does not match.
func (h *hook) applies(ctx context.Context, w *webhooks, f *forms) (*Served, error) {
	if h.err != nil {
		return nil, apierrors.NewInternalError(h.err)
	}
	form, err := h.criteria.match(ctx, w.access, f.a)
	if err != nil || form == nil || len(h.conditions) == 0 {
		return form, err
	}
	e, err := newEvaluation(ctx, f, form, w.options.Authorize, conditionBudget)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	check := ConditionCheck{Name: h.name, Webhook: true, Step: w.step, Operation: f.a.Operation}
	ok, err := h.conditions.decide(ctx, e, h.ignore, check, w.options.Metrics.Conditions)
	switch {
	case err != nil:
		return nil, refuse(f.a, err)
	case !ok:
		return nil, nil
	}
	return form, nil
}

// review returns the review to send to the webhook.
func (h *hook) review(ctx context.Context, f *forms, form *Served) (*admissionv1.AdmissionReview, error) {
	if f.a.DryRun && !h.dryRun {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.name))
	}
	review, err := newReview(ctx, f, form)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	for _, v := range h.versions {
		if v == "v1" || v == "v1beta1" {
			review.APIVersion = "admission.k8s.io/" + v
			return review, nil
		}
	}
	return nil, &callError{h.name, errVersions}
}

var errVersions = errors.New("webhook does not accept known AdmissionReview versions (v1, v1beta1)")

// call calls the webhook. The error is a *callError.
func (h *hook) call(ctx context.Context, client *webhook.Client, a *Attributes, review *admissionv1.AdmissionReview, mutating bool) (*admissionv1.AdmissionResponse, error) {
	reply := &admissionv1.AdmissionReview{}
	if err := client.Call(ctx, h.target, h.timeout, review, reply); err != nil {
		for _, d := range webhook.Deprecations(nil, err) { // such a certificate is never accepted
			a.Annotate(d.Note(h.target.Host()))
		}
		return nil, &callError{h.name, fmt.Errorf("failed to call webhook: %w", err)}
	}
	response, err := verify(reply, review, mutating)
	if err != nil {
		return nil, &callError{h.name, fmt.Errorf("received invalid webhook response: %w", err)}
	}
	return response, nil
}

// report passes on the warnings and audit annotations of a response.
func (h *hook) report(a *Attributes, r *admissionv1.AdmissionResponse) {
	for k, v := range r.AuditAnnotations {
		a.Annotate(h.name+"/"+k, v)
	}
	for _, text := range r.Warnings {
		a.Warn(text)
	}
}

// failed returns the error that a failed call, or a denial, means for the request. ok is true if the failure
// policy lets it pass.
func (h *hook) failed(ctx context.Context, err error) (ok bool, _ error) {
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return false, refused.denial
	}
	if _, isCall := errors.AsType[*callError](err); !isCall {
		return false, err
	}
	switch {
	case !h.ignore:
		return false, apierrors.NewInternalError(err)
	case ctx.Err() != nil:
		return false, apierrors.NewTimeout("request did not complete within requested timeout", 0)
	}
	return true, nil
}

package admission

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/podsecurity"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Metrics are hooks. They are called on the request's goroutine and must be quick and safe
// for concurrent use. Nil functions are skipped.
type Metrics struct {
	// Step is called after all plugins of a step, or after one that has refused the request.
	Step func(s Step, op Operation, rejected bool, elapsed time.Duration)
	// Plugin is called once for each plugin and step it implements. The function it returns is called after
	// each call of the plugin, of which a mutating one may have two for a request.
	Plugin func(plugin string, s Step) func(op Operation, rejected bool, elapsed time.Duration)
	// Webhook is called after each call of a webhook, and for a call that could not be made.
	Webhook func(c WebhookCall)
	// Called is called after each HTTP call of an admission webhook here, or of a conversion webhook.
	Called func(c webhook.Call)
	// Policy is called when an expression of a ValidatingAdmissionPolicy does not hold or fails, once for
	// each action that follows.
	Policy func(c PolicyCheck)
	// Mutation is called after each mutation of a MutatingAdmissionPolicy, also a failed one.
	Mutation func(m Mutation)
	// Conditions is called after the evaluation of the match conditions of a webhook or policy.
	Conditions func(c ConditionCheck)
	// PodSecurity is called with each outcome of the plugin PodSecurity for a pod or the template of one.
	PodSecurity func(c PodSecurityCheck)
}

// PodSecurityCheck is an outcome of the plugin PodSecurity for a request.
type PodSecurityCheck struct {
	Outcome   PodSecurityOutcome
	Operation Operation
	// Template says that it is for the template of pods in a workload.
	Template    bool
	Subresource string
	// Mode is enforce, audit or warn, and Policy the level and version, of an evaluation.
	Mode   string
	Policy podsecurity.LevelVersion
}

// PodSecurityOutcome is what the plugin PodSecurity has done.
type PodSecurityOutcome string

// Evaluations for audits and warnings are reported only if they deny.
const (
	PodAllowed PodSecurityOutcome = "allow"
	PodDenied  PodSecurityOutcome = "deny"
	PodExempt  PodSecurityOutcome = "exempt"
	// PodFailed is an error because of which nothing was evaluated, PodMisread one of labels, for which the
	// strictest policy stands.
	PodFailed  PodSecurityOutcome = "error"
	PodMisread PodSecurityOutcome = "label error"
)

// WebhookCall is a call of a webhook for a request.
type WebhookCall struct {
	// Webhook is the name of the webhook in its configuration.
	Webhook   string
	Step      Step
	Operation Operation
	// Rejected says that the request is refused; FailedOpen that the call failed and the failure policy lets
	// the request pass.
	Rejected, FailedOpen bool
	Failure              WebhookFailure
	// Code is 200, that of the refusal, that of a failed call, or 0 after an error of this server.
	Code    int
	Elapsed time.Duration
}

// WebhookFailure is the reason of a call without a valid response.
type WebhookFailure string

const (
	WebhookOK          WebhookFailure = "no_error"
	WebhookUnreachable WebhookFailure = "calling_webhook_error"    // or its response is invalid
	WebhookFault       WebhookFailure = "apiserver_internal_error" // of this server or the configuration
	WebhookAbandoned   WebhookFailure = ""                         // the client has disconnected
)

// PolicyCheck is an expression of a policy that does not hold or failed, and what follows.
type PolicyCheck struct {
	Policy, Binding string
	Failure         PolicyFailure
	// Action is empty if the failure policy lets the request pass.
	Action  admissionregistrationv1.ValidationAction
	Elapsed time.Duration // of this expression
}

// Mutation is one change of a policy, made or failed.
type Mutation struct {
	Policy, Binding string
	Failure         PolicyFailure
	Elapsed         time.Duration
}

// ConditionCheck is an evaluation of the match conditions of a webhook or policy for a request.
type ConditionCheck struct {
	// Name is the webhook's or the policy's.
	Name      string
	Webhook   bool // false for a policy
	Step      Step
	Operation Operation
	// Failed is the number of conditions whose evaluation failed.
	Failed int
	// Excluded says that the webhook or policy is skipped: a condition does not hold, or one failed and the
	// failure policy ignores that.
	Excluded bool
	Elapsed  time.Duration
}

// PolicyFailure is the reason of a failed expression.
type PolicyFailure string

const (
	PolicyInvalid     PolicyFailure = "invalid_error" // the expression does not hold, or failed
	PolicyMalformed   PolicyFailure = "compile_error"
	PolicyOutOfBudget PolicyFailure = "out_of_budget"
	PolicyDone        PolicyFailure = "no_error" // a mutation was made
)

// mutationFailure returns the outcome of a mutation.
func mutationFailure(err error) PolicyFailure {
	if err == nil {
		return PolicyDone
	}
	return policyFailure(err)
}

// policyFailure returns the reason of a failed expression.
func policyFailure(err error) PolicyFailure {
	switch {
	case errors.Is(err, errCompilation):
		return PolicyMalformed
	case errors.Is(err, errBudget):
		return PolicyOutOfBudget
	}
	return PolicyInvalid
}

// Step is a part of admission.
type Step string

// In the first step plugins may change the object, in the second they may only refuse it.
const (
	Admitting  Step = "admit"
	Validating Step = "validate"
)

// measure reports a call of a webhook: err is its error, open whether the failure policy lets the
// request pass nevertheless.
func (w *webhooks) measure(h *hook, s Step, op Operation, elapsed time.Duration, err error, open bool) {
	hook := w.options.Metrics.Webhook
	if hook == nil {
		return
	}
	c := WebhookCall{Webhook: h.name, Step: s, Operation: op, Rejected: err != nil && !open, FailedOpen: open, Failure: WebhookOK, Code: http.StatusOK, Elapsed: elapsed}
	if no, refused := errors.AsType[*refusedError](err); refused {
		c.Code = apierrors.CodeOf(no)
	} else if call, failed := errors.AsType[*callError](err); failed {
		c.Failure, c.Code = WebhookUnreachable, call.code()
		if errors.Is(err, context.Canceled) {
			c.Failure = WebhookAbandoned
		}
	} else if err != nil {
		c.Failure, c.Code = WebhookFault, 0
	}
	hook(c)
}

// WebhookWait are the times that a request has waited for mutating and for validating webhooks.
type WebhookWait struct{ Mutating, Validating time.Duration }

// addWebhookWait adds to the time spent waiting for the webhooks of a step.
func (a *Attributes) addWebhookWait(s Step, d time.Duration) {
	switch {
	case a.WebhookWait == nil:
	case s == Admitting:
		a.WebhookWait.Mutating += d
	default:
		a.WebhookWait.Validating += d
	}
}

// code returns the status of an HTTP error of a webhook.
func (e *callError) code() int {
	if errors.Is(e.err, errVersions) {
		return http.StatusBadRequest
	}
	if s, ok := errors.AsType[*apierrors.StatusError](e.err); ok {
		return int(s.ErrStatus.Code)
	}
	return http.StatusServiceUnavailable
}

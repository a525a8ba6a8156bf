package admission

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Metrics are hooks for measurements. They are called on the request's goroutine and must be quick and safe
// for concurrent use. Nil functions are skipped.
type Metrics struct {
	// Step is called when all plugins of a step have been asked about a request, or one of them has refused
	// it.
	Step func(s Step, op Operation, rejected bool, elapsed time.Duration)
	// Plugin is called once for each plugin and step it has a part in. What it returns is called when the
	// plugin has been asked; a mutating one is asked again in a second round.
	Plugin func(plugin string, s Step) func(op Operation, rejected bool, elapsed time.Duration)
	// Webhook is called when a webhook has been asked, or could not be.
	Webhook func(c WebhookCall)
	// Called is called when a server has been asked over HTTP, by a webhook here or by a conversion webhook.
	Called func(c webhook.Call)
	// Policy is called when an expression of a ValidatingAdmissionPolicy does not hold or fails, once for
	// each action that follows.
	Policy func(c PolicyCheck)
	// Mutation is called when a mutation of a MutatingAdmissionPolicy has been made, or has failed.
	Mutation func(m Mutation)
	// Conditions is called when the match conditions of a webhook or policy that has any have been evaluated.
	Conditions func(c ConditionCheck)
}

// WebhookCall is how asking a webhook about a request went.
type WebhookCall struct {
	// Webhook is the name of the webhook in its configuration.
	Webhook   string
	Step      Step
	Operation Operation
	// Rejected says that the request is refused; FailedOpen that there was no answer but the failure policy
	// lets the request pass.
	Rejected, FailedOpen bool
	Failure              WebhookFailure
	// Code is 200, that of the webhook's refusal, that of a call that failed, or 0 after a fault of the
	// server.
	Code    int
	Elapsed time.Duration
}

// WebhookFailure says why there was no good answer.
type WebhookFailure string

// The failures of webhooks.
const (
	WebhookAnswered    WebhookFailure = "no_error"
	WebhookUnreachable WebhookFailure = "calling_webhook_error"    // or what it said made no sense
	WebhookFault       WebhookFailure = "apiserver_internal_error" // of the server or the configuration
	WebhookAbandoned   WebhookFailure = ""                         // the client did not wait
)

// PolicyCheck is an expression of a policy that does not hold or failed, and what follows.
type PolicyCheck struct {
	Policy, Binding string
	Failure         PolicyFailure
	// Action is empty where the failure policy lets the request pass.
	Action  admissionregistrationv1.ValidationAction
	Elapsed time.Duration // of this expression
}

// Mutation is one change that a policy has made, or failed at.
type Mutation struct {
	Policy, Binding string
	Failure         PolicyFailure
	Elapsed         time.Duration
}

// ConditionCheck is how the match conditions of a webhook or policy were met by a request.
type ConditionCheck struct {
	// Name is the webhook's or the policy's.
	Name      string
	Webhook   bool // and not a policy
	Step      Step
	Operation Operation
	// Failed is how many conditions could not be evaluated.
	Failed int
	// Excluded says that the webhook or policy is not asked: a condition does not hold, or one failed and the
	// failure policy of the webhook ignores that.
	Excluded bool
	Elapsed  time.Duration
}

// PolicyFailure says what is wrong.
type PolicyFailure string

// The failures of policies.
const (
	PolicyInvalid     PolicyFailure = "invalid_error" // the expression does not hold, or failed
	PolicyMalformed   PolicyFailure = "compile_error"
	PolicyOutOfBudget PolicyFailure = "out_of_budget"
	PolicyDone        PolicyFailure = "no_error" // a mutation was made
)

// mutationFailure says how a mutation ended.
func mutationFailure(err error) PolicyFailure {
	if err == nil {
		return PolicyDone
	}
	return policyFailure(err)
}

// policyFailure says why an expression failed.
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

// The steps: first plugins may change the object, then they may only refuse it.
const (
	Admitting  Step = "admit"
	Validating Step = "validate"
)

// measure tells of the call of a webhook: err is how it ended, open whether the failure policy lets the
// request pass all the same.
func (w *webhooks) measure(h *hook, s Step, op Operation, elapsed time.Duration, err error, open bool) {
	hook := w.options.Metrics.Webhook
	if hook == nil {
		return
	}
	c := WebhookCall{Webhook: h.name, Step: s, Operation: op, Rejected: err != nil && !open, FailedOpen: open, Failure: WebhookAnswered, Code: http.StatusOK, Elapsed: elapsed}
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

// waited notes that the request waited for webhooks.
func (a *Attributes) waited(d time.Duration) {
	if a.Outside != nil {
		*a.Outside += d
	}
}

// code is what the webhook answered if that was an HTTP error.
func (e *callError) code() int {
	if errors.Is(e.err, errVersions) {
		return http.StatusBadRequest
	}
	if s, ok := errors.AsType[*apierrors.StatusError](e.err); ok {
		return int(s.ErrStatus.Code)
	}
	return http.StatusServiceUnavailable
}

package authz

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/internal/expiring"
	"github.com/keelson-dev/keelson/store/internal/reviews"
)

// ReviewFunc sends a SubjectAccessReview to a server and returns it with its status. ctx bounds it.
type ReviewFunc func(ctx context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error)

// ReviewV1beta1 is a SubjectAccessReview of version v1beta1, for servers that do not know v1.
type ReviewV1beta1 struct {
	metav1.TypeMeta `json:",inline"`
	Spec            ReviewV1beta1Spec                         `json:"spec"`
	Status          authorizationv1.SubjectAccessReviewStatus `json:"status"`
}

// ReviewV1beta1Spec is the spec of v1, but that the groups have another name.
type ReviewV1beta1Spec struct {
	// The Groups of this are empty.
	authorizationv1.SubjectAccessReviewSpec `json:",inline"`
	Group                                   []string `json:"group,omitempty"`
}

// V1beta1 returns the function that sends reviews by another one, in version v1beta1.
func V1beta1(send func(context.Context, *ReviewV1beta1) (*ReviewV1beta1, error)) ReviewFunc {
	return func(ctx context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
		old := &ReviewV1beta1{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1beta1", Kind: r.Kind}, Spec: ReviewV1beta1Spec{r.Spec, r.Spec.Groups}}
		old.Spec.Groups = nil
		reply, err := send(ctx, old)
		if err != nil {
			return nil, err
		}
		reviewed := *r
		reviewed.Status = reply.Status
		return &reviewed, nil
	}
}

// WebhookOptions configure a Webhook.
type WebhookOptions struct {
	// Review calls the server. Required.
	Review ReviewFunc
	// Timeout bounds a call; zero means three seconds. A call that fails with 429, 500, 504, a time to try
	// again or a lost connection is repeated up to four times, over four seconds.
	Timeout time.Duration
	// AuthorizedTTL and UnauthorizedTTL are how long decisions are cached; zero means not at all.
	AuthorizedTTL, UnauthorizedTTL time.Duration
	// DenyOnFailure denies requests about which the server, or a condition, cannot decide; otherwise there
	// is no opinion on them.
	DenyOnFailure bool
	// MatchConditions are CEL expressions about the spec of the review, as the variable request. Only
	// requests for which all are true are sent.
	MatchConditions []string
	// Metrics are called as requests are matched and reviewed.
	Metrics WebhookMetrics
}

// WebhookMetrics are hooks for measurements, which must be fast and safe for concurrent use. Nil functions
// are skipped.
type WebhookMetrics struct {
	// Called is called after each attempt to call the server.
	Called func(r WebhookResult, elapsed time.Duration)
	// FailedOpen is called when a call has failed, with the result of its last attempt, and other authorizers
	// decide.
	FailedOpen func(WebhookResult)
	// Matched is called after the evaluation of match conditions: excluded says that one does not hold, err
	// is not nil if none does not and some could not be evaluated.
	Matched func(excluded bool, err error, elapsed time.Duration)
}

// WebhookResult is the outcome of a call of a server.
type WebhookResult string

// The results.
const (
	CallSucceeded WebhookResult = "success"
	CallCanceled  WebhookResult = "canceled" // by the client of the request that is authorized
	CallTimedOut  WebhookResult = "timeout"
	CallFailed    WebhookResult = "error"
)

// Webhook is an authorizer that lets a server decide, by SubjectAccessReviews.
type Webhook struct {
	opts       WebhookOptions
	conditions matchConditions
	cache      *expiring.Map[string, authorizationv1.SubjectAccessReviewStatus] // by spec
}

// Bounds of the cache: the number of results, and the length of what a client can make long.
const (
	maxCachedReviews    = 8192
	maxCachedAttributes = 10_000
)

// NewWebhook compiles the conditions.
func NewWebhook(opts WebhookOptions) (*Webhook, error) {
	if opts.Review == nil {
		return nil, errors.New("authz: WebhookOptions.Review is required")
	}
	if opts.Timeout == 0 {
		opts.Timeout = 3 * time.Second
	}
	w := &Webhook{opts: opts, conditions: matchConditions{texts: opts.MatchConditions}, cache: expiring.New[string, authorizationv1.SubjectAccessReviewStatus](maxCachedReviews)}
	for i, text := range opts.MatchConditions {
		p, err := compileCondition(text)
		if err != nil {
			return nil, fmt.Errorf("authz: match condition %d: %w", i, err)
		}
		w.conditions.programs = append(w.conditions.programs, p)
	}
	return w, nil
}

// Authorize implements Authorizer.
func (w *Webhook) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	r := &authorizationv1.SubjectAccessReview{TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"}, Spec: reviewSpec(&a)}
	matches, err := w.match(ctx, &r.Spec)
	if err != nil {
		return w.failed(err)
	}
	if !matches {
		return NoOpinion, "", nil
	}
	key, err := codec.Marshal(&r.Spec)
	if err != nil {
		return w.failed(err)
	}
	status, ok := w.cache.Get(string(key))
	if !ok {
		review, err := w.call(ctx, r)
		if err != nil {
			return w.failed(fmt.Errorf("authz: webhook: %w", err))
		}
		status = review.Status
		if a.length() < maxCachedAttributes {
			ttl := w.opts.UnauthorizedTTL
			if status.Allowed {
				ttl = w.opts.AuthorizedTTL
			}
			w.cache.Put(string(key), status, ttl)
		}
	}
	switch {
	case status.Denied && status.Allowed:
		return Deny, status.Reason, errors.New("authz: webhook: the review is both allowed and denied")
	case status.Denied:
		return Deny, status.Reason, nil
	case status.Allowed:
		return Allow, status.Reason, nil
	}
	return NoOpinion, status.Reason, nil
}

// match reports whether the conditions hold.
func (w *Webhook) match(ctx context.Context, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	matched := w.opts.Metrics.Matched
	if matched == nil || len(w.conditions.programs) == 0 {
		return w.conditions.match(ctx, spec)
	}
	began := time.Now()
	ok, err := w.conditions.match(ctx, spec)
	matched(!ok && err == nil, err, time.Since(began))
	return ok, err
}

// call sends a review, more than once if that may help.
func (w *Webhook) call(ctx context.Context, r *authorizationv1.SubjectAccessReview) (*authorizationv1.SubjectAccessReview, error) {
	m, last := &w.opts.Metrics, CallFailed
	review, err := reviews.Send(ctx, w.opts.Timeout, func(one context.Context) (*authorizationv1.SubjectAccessReview, error) {
		began := time.Now()
		review, err := w.opts.Review(one, r)
		last = resultOf(ctx, err)
		if m.Called != nil {
			m.Called(last, time.Since(began))
		}
		return review, err
	})
	if err != nil && !w.opts.DenyOnFailure && ctx.Err() == nil && m.FailedOpen != nil {
		m.FailedOpen(last)
	}
	return review, err
}

// resultOf returns the result of a call for a request with the context ctx.
func resultOf(ctx context.Context, err error) WebhookResult {
	var slow net.Error
	switch {
	case err == nil:
		return CallSucceeded
	case ctx.Err() != nil:
		return CallCanceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout(), apierrors.IsTimeout(err), apierrors.CodeOf(err) == http.StatusGatewayTimeout:
		return CallTimedOut
	}
	return CallFailed
}

func (w *Webhook) failed(err error) (Decision, string, error) {
	if w.opts.DenyOnFailure {
		return Deny, "", err
	}
	return NoOpinion, "", err
}

// length is that of the attributes which a client chooses.
func (a *Attributes) length() int {
	return len(a.Namespace) + len(a.Verb) + len(a.APIGroup) + len(a.APIVersion) + len(a.Resource) + len(a.Subresource) + len(a.Name) + len(a.Path)
}

// reviewSpec is the spec of the review that is sent.
func reviewSpec(a *Attributes) authorizationv1.SubjectAccessReviewSpec {
	var s authorizationv1.SubjectAccessReviewSpec
	if u := a.User; u != nil {
		s.User, s.UID, s.Groups = u.Name, u.UID, u.Groups
		for k, v := range u.Extra {
			if s.Extra == nil {
				s.Extra = map[string]authorizationv1.ExtraValue{}
			}
			s.Extra[k] = v
		}
	}
	if !a.ResourceRequest {
		s.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: a.Path, Verb: a.Verb}
		return s
	}
	s.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: a.Namespace, Verb: a.Verb, Group: a.APIGroup, Version: a.APIVersion,
		Resource: a.Resource, Subresource: a.Subresource, Name: a.Name}
	if reqs, _ := a.Fields(); len(reqs) > 0 { // without its selector the request is wider, not narrower
		s.ResourceAttributes.FieldSelector = &authorizationv1.FieldSelectorAttributes{Requirements: fieldRequirements(reqs)}
	}
	if reqs, _ := a.Labels(); len(reqs) > 0 {
		s.ResourceAttributes.LabelSelector = &authorizationv1.LabelSelectorAttributes{Requirements: labelRequirements(reqs)}
	}
	return s
}

func fieldRequirements(reqs []fields.Requirement) (out []metav1.FieldSelectorRequirement) {
	for _, r := range reqs {
		op := metav1.FieldSelectorOpIn
		if r.Operator == fields.NotEquals {
			op = metav1.FieldSelectorOpNotIn
		}
		out = append(out, metav1.FieldSelectorRequirement{Key: r.Field, Operator: op, Values: []string{r.Value}})
	}
	return out
}

// labelRequirements leaves out comparisons of numbers, which reviews do not have: the request is wider then.
func labelRequirements(reqs []labels.Requirement) (out []metav1.LabelSelectorRequirement) {
	for _, r := range reqs {
		q := metav1.LabelSelectorRequirement{Key: r.Key(), Values: r.Values()}
		switch r.Operator() {
		case labels.Equals, labels.DoubleEquals, labels.In:
			q.Operator = metav1.LabelSelectorOpIn
		case labels.NotEquals, labels.NotIn:
			q.Operator = metav1.LabelSelectorOpNotIn
		case labels.Exists:
			q.Operator = metav1.LabelSelectorOpExists
		case labels.DoesNotExist:
			q.Operator = metav1.LabelSelectorOpDoesNotExist
		default:
			continue
		}
		out = append(out, q)
	}
	return out
}

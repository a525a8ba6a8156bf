package delegated

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/client"
)

// maxCachedSpec is the maximum size of a review whose result is cached, in bytes of JSON: clients choose
// paths and names.
const maxCachedSpec = 10_000

// AuthorizerOptions configure an Authorizer.
type AuthorizerOptions struct {
	// AllowedTTL and DeniedTTL are how long permissions and denials are cached; 0 means 5 minutes and 30 s.
	AllowedTTL, DeniedTTL time.Duration
	// Timeout of one review; 0 means 10 s.
	Timeout time.Duration
}

// Authorizer decides what users may do. Create it with [NewAuthorizer]. It is safe for concurrent use.
type Authorizer struct {
	opts    AuthorizerOptions
	reviews *client.Client[*authorizationv1.SubjectAccessReview]
	cache   *reviewCache[string, decision] // by the review's spec as JSON
}

type decision struct {
	allowed bool
	reason  string
}

// NewAuthorizer returns an authorizer that sends its reviews through conn.
func NewAuthorizer(conn client.Conn, opts AuthorizerOptions) *Authorizer {
	set := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	set(&opts.AllowedTTL, 5*time.Minute)
	set(&opts.DeniedTTL, 30*time.Second)
	set(&opts.Timeout, 10*time.Second)
	return &Authorizer{opts: opts, reviews: client.For[*authorizationv1.SubjectAccessReview](conn), cache: newReviewCache[string, decision]()}
}

// Authorize reports whether spec.User has the access that spec describes; reason is for users and may be
// empty. With an error there is no result, and access must be denied.
func (a *Authorizer) Authorize(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (allowed bool, reason string, err error) {
	key, err := json.Marshal(spec)
	if err != nil {
		return false, "", fmt.Errorf("delegated: %w", err)
	}
	if len(key) > maxCachedSpec {
		d, err := a.review(ctx, spec)
		return d.allowed, d.reason, err
	}
	d, err := a.cache.get(ctx, string(key), func(ctx context.Context) (decision, time.Duration, error) {
		d, err := a.review(ctx, spec)
		if d.allowed {
			return d, a.opts.AllowedTTL, err
		}
		return d, a.opts.DeniedTTL, err
	})
	return d.allowed, d.reason, err
}

func (a *Authorizer) review(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (decision, error) {
	ctx, cancel := context.WithTimeout(ctx, a.opts.Timeout)
	defer cancel()
	r, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec})
	if err != nil {
		return decision{}, fmt.Errorf("delegated: review of the access of %q: %w", spec.User, err)
	}
	return decision{r.Status.Allowed && !r.Status.Denied, r.Status.Reason}, nil
}

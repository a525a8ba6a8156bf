// Package authz decides whether a user may make a request. Authorizers are tried in order until one allows or
// denies; see [Union]. Everything here is safe for concurrent use.
package authz

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/store/authn"
)

// Attributes is what a decision may depend on.
type Attributes struct {
	User *authn.User
	// Verb is an API verb (get, list, watch, create, update, patch, delete, deletecollection, or a special
	// one such as bind, escalate, impersonate); for a non-resource request the HTTP method in lower case.
	Verb string
	// ResourceRequest distinguishes requests for resources from those for paths such as /healthz.
	ResourceRequest bool
	Namespace       string
	APIGroup        string
	APIVersion      string
	Resource        string
	Subresource     string
	Name            string
	// Path of a non-resource request.
	Path string
	// FieldSelector and LabelSelector are the selectors of a list, watch or deletecollection as text. Use
	// Fields and Labels to read them.
	FieldSelector, LabelSelector string
	// FieldRequirements and LabelRequirements are selectors that there is no text of, such as those of an
	// access review. Where they are set they count.
	FieldRequirements []fields.Requirement
	LabelRequirements []labels.Requirement
}

// Decision is the result of an authorizer.
type Decision int

// The decisions. With NoOpinion the next authorizer decides; from the last one it means denied.
const (
	NoOpinion Decision = iota
	Allow
	Deny
)

// Authorizer decides on requests. reason is for users and may be empty. An error with NoOpinion means that
// the authorizer could not decide.
type Authorizer interface {
	Authorize(ctx context.Context, a Attributes) (d Decision, reason string, err error)
}

// Func adapts a function to Authorizer.
type Func func(ctx context.Context, a Attributes) (Decision, string, error)

// Authorize calls f.
func (f Func) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	return f(ctx, a)
}

// ResourceRule is one rule a user has, as reported by a SelfSubjectRulesReview.
type ResourceRule struct{ Verbs, APIGroups, Resources, ResourceNames []string }

// NonResourceRule is one rule on paths.
type NonResourceRule struct{ Verbs, NonResourceURLs []string }

// RuleResolver lists the rules that apply to a user in a namespace. incomplete is true if some could not be
// determined.
type RuleResolver interface {
	RulesFor(ctx context.Context, u *authn.User, namespace string) (resource []ResourceRule, nonResource []NonResourceRule, incomplete bool, err error)
}

package controlplane

import (
	"context"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// observedAuthorizer is the authorizer of a mode, with a hook for its decisions.
type observedAuthorizer struct {
	authz.Authorizer
	mode    string
	decided func(mode string, d authz.Decision)
}

// Authorize implements authz.Authorizer.
func (o *observedAuthorizer) Authorize(ctx context.Context, a authz.Attributes) (authz.Decision, string, error) {
	d, reason, err := o.Authorizer.Authorize(ctx, a)
	if d != authz.NoOpinion {
		o.decided(o.mode, d)
	}
	return d, reason, err
}

// RulesFor implements authz.RuleResolver for those that can list their rules; of the others nothing is known.
func (o *observedAuthorizer) RulesFor(ctx context.Context, u *authn.User, namespace string) ([]authz.ResourceRule, []authz.NonResourceRule, bool, error) {
	if r, ok := o.Authorizer.(authz.RuleResolver); ok {
		return r.RulesFor(ctx, u, namespace)
	}
	return nil, nil, true, nil
}

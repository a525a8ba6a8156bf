package controlplane

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// authorizeExpressions runs the authorization checks in expressions of webhooks and policies.
func authorizeExpressions(authorizer authz.Authorizer) admission.AuthorizeFunc {
	return func(ctx context.Context, user *authn.User, check cel.Check) cel.Decision {
		if check.Account != "" {
			user = &authn.User{Name: authn.UserName(check.AccountNamespace, check.Account),
				Groups: []string{authn.GroupServiceAccounts, authn.GroupServiceAccounts + ":" + check.AccountNamespace, authn.GroupAuthenticated}}
		}
		a := authz.Attributes{User: user, Verb: check.Verb, Path: check.Path}
		if check.Path == "" {
			a = authz.Attributes{User: user, Verb: check.Verb, ResourceRequest: true, Namespace: check.Namespace, APIGroup: check.Group, APIVersion: "*",
				Resource: check.Resource, Subresource: check.Subresource, Name: check.Name, FieldSelector: check.FieldSelector, LabelSelector: check.LabelSelector}
		}
		decision, reason, err := authorizer.Authorize(ctx, a)
		return cel.Decision{Allowed: decision == authz.Allow, Reason: reason, Err: err}
	}
}

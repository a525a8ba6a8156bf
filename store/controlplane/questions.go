package controlplane

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/cel"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/authz"
)

// answers runs the authorization checks in expressions of webhooks and policies.
func answers(authorizer authz.Authorizer) admission.AuthorizeFunc {
	return func(ctx context.Context, user *authn.User, q cel.Question) cel.Answer {
		if q.Account != "" {
			user = &authn.User{Name: authn.UserName(q.AccountNamespace, q.Account),
				Groups: []string{authn.GroupServiceAccounts, authn.GroupServiceAccounts + ":" + q.AccountNamespace, authn.GroupAuthenticated}}
		}
		a := authz.Attributes{User: user, Verb: q.Verb, Path: q.Path}
		if q.Path == "" {
			a = authz.Attributes{User: user, Verb: q.Verb, ResourceRequest: true, Namespace: q.Namespace, APIGroup: q.Group, APIVersion: "*",
				Resource: q.Resource, Subresource: q.Subresource, Name: q.Name, FieldSelector: q.FieldSelector, LabelSelector: q.LabelSelector}
		}
		decision, reason, err := authorizer.Authorize(ctx, a)
		return cel.Answer{Allowed: decision == authz.Allow, Reason: reason, Err: err}
	}
}

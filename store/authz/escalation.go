package authz

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
)

// Escalation is the admission plugin that lets nobody grant more than they hold: a role may be written by who
// holds all its rules or may escalate it, and bound by who holds its rules or may bind it.
type Escalation struct {
	rbac       *RBAC
	authorizer Authorizer
}

// NewEscalation makes the plugin. authorizer is the server's whole authorizer.
func NewEscalation(rbac *RBAC, authorizer Authorizer) *Escalation {
	return &Escalation{rbac, authorizer}
}

// Name implements admission.Plugin.
func (e *Escalation) Name() string { return "RBACEscalation" }

// Handles implements admission.Plugin.
func (e *Escalation) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.Validator.
func (e *Escalation) Validate(ctx context.Context, a *admission.Attributes) error {
	if a.Resource.Group != rbacGroup || a.Subresource != "" || a.User == nil || slices.Contains(a.User.Groups, authn.GroupMasters) {
		return nil
	}
	switch obj := a.Object.(type) {
	case *rbacv1.ClusterRole:
		old, _ := a.Old.(*rbacv1.ClusterRole)
		if old != nil && codec.Equal(&old.Rules, &obj.Rules) && codec.Equal(&old.AggregationRule, &obj.AggregationRule) {
			return nil
		}
		wanted := obj.Rules
		if obj.AggregationRule != nil {
			// What an aggregated role will hold is not known yet, so it counts as everything.
			star := []string{"*"}
			wanted = []rbacv1.PolicyRule{{Verbs: star, APIGroups: star, Resources: star}, {Verbs: star, NonResourceURLs: star}}
		}
		return e.mayGrant(ctx, a, "escalate", obj.Name, "", wanted)
	case *rbacv1.Role:
		old, _ := a.Old.(*rbacv1.Role)
		if old != nil && codec.Equal(&old.Rules, &obj.Rules) {
			return nil
		}
		return e.mayGrant(ctx, a, "escalate", obj.Name, a.Namespace, obj.Rules)
	case *rbacv1.ClusterRoleBinding:
		old, _ := a.Old.(*rbacv1.ClusterRoleBinding)
		if old != nil && old.RoleRef == obj.RoleRef && codec.Equal(&old.Subjects, &obj.Subjects) {
			return nil
		}
		return e.mayBind(ctx, a, obj.RoleRef, "")
	case *rbacv1.RoleBinding:
		old, _ := a.Old.(*rbacv1.RoleBinding)
		if old != nil && old.RoleRef == obj.RoleRef && codec.Equal(&old.Subjects, &obj.Subjects) {
			return nil
		}
		return e.mayBind(ctx, a, obj.RoleRef, a.Namespace)
	}
	return nil
}

func (e *Escalation) mayBind(ctx context.Context, a *admission.Attributes, ref rbacv1.RoleRef, namespace string) error {
	resource := "clusterroles"
	if ref.Kind == "Role" {
		resource = "roles"
	}
	if e.allowed(ctx, a, "bind", resource, ref.Name, namespace) {
		return nil
	}
	rules, err := e.rbac.RoleRules(ctx, ref, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return apierrors.NewNotFound(a.Resource.GroupVersion().WithResource(resource).GroupResource(), ref.Name)
	}
	return e.covered(ctx, a, namespace, rules)
}

func (e *Escalation) mayGrant(ctx context.Context, a *admission.Attributes, verb, name, namespace string, rules []rbacv1.PolicyRule) error {
	if e.allowed(ctx, a, verb, a.Resource.Resource, name, namespace) {
		return nil
	}
	return e.covered(ctx, a, namespace, rules)
}

func (e *Escalation) allowed(ctx context.Context, a *admission.Attributes, verb, resource, name, namespace string) bool {
	d, _, _ := e.authorizer.Authorize(ctx, Attributes{User: a.User, Verb: verb, ResourceRequest: true, Namespace: namespace,
		APIGroup: rbacGroup, APIVersion: "v1", Resource: resource, Name: name})
	return d == Allow
}

func (e *Escalation) covered(ctx context.Context, a *admission.Attributes, namespace string, wanted []rbacv1.PolicyRule) error {
	have, err := e.rbac.Rules(ctx, a.User, namespace)
	ok, missing := Covers(have, wanted)
	if ok {
		return nil
	}
	lines := make([]string, len(missing))
	for i, r := range missing {
		lines[i] = ruleText(r)
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", a.User.Name, a.User.Groups, strings.Join(lines, "\n"))
	if err != nil {
		text += fmt.Sprintf("; resolution errors: %v", err)
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("%s", text))
}

func ruleText(r rbacv1.PolicyRule) string {
	var parts []string
	for _, p := range []struct {
		name   string
		values []string
	}{{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"ResourceNames", r.ResourceNames}, {"NonResourceURLs", r.NonResourceURLs}, {"Verbs", r.Verbs}} {
		if len(p.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", p.name, p.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

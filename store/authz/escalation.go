package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/authn"
)

// Escalation is the admission plugin that prevents users from granting more than they hold: writing a role
// requires all its rules or the verb escalate, and binding it requires its rules or the verb bind.
type Escalation struct {
	rbac       *RBAC
	authorizer Authorizer
}

// NewEscalation returns the plugin. authorizer is that of the server, with all modes.
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
		if old != nil && admission.ChangesOnlyGCFields(obj, old) {
			return nil
		}
		return e.mayAggregate(ctx, a, obj, old)
	case *rbacv1.Role:
		if old, _ := a.Old.(*rbacv1.Role); old != nil && admission.ChangesOnlyGCFields(obj, old) {
			return nil
		}
		return e.mayGrant(ctx, a, obj.Name, a.Namespace, obj.Rules)
	case *rbacv1.ClusterRoleBinding:
		if old, _ := a.Old.(*rbacv1.ClusterRoleBinding); old != nil && admission.ChangesOnlyGCFields(obj, old) {
			return nil
		}
		return e.mayBind(ctx, a, obj.RoleRef, "")
	case *rbacv1.RoleBinding:
		if old, _ := a.Old.(*rbacv1.RoleBinding); old != nil && admission.ChangesOnlyGCFields(obj, old) {
			return nil
		}
		return e.mayBind(ctx, a, obj.RoleRef, a.Namespace)
	}
	return nil
}

// mayAggregate is mayGrant for a cluster role. The rules that an aggregated role will have are not known, and
// the rules of a role that is no longer aggregated are not updated, so both changes require every right.
func (e *Escalation) mayAggregate(ctx context.Context, a *admission.Attributes, role, old *rbacv1.ClusterRole) error {
	if e.allowed(ctx, a, "escalate", a.Resource.Resource, role.Name, "") {
		return nil
	}
	if err := e.covered(a, "", role.Rules); err != nil {
		return err
	}
	if role.AggregationRule == nil && (old == nil || old.AggregationRule == nil) {
		return nil
	}
	star := []string{"*"}
	everything := []rbacv1.PolicyRule{{Verbs: star, APIGroups: star, Resources: star}, {Verbs: star, NonResourceURLs: star}}
	if err := e.covered(a, "", everything); err != nil {
		return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errors.New("must have cluster-admin privileges to use an aggregationRule"))
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
	rules, err := e.rbac.RoleRules(ref, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err != nil {
		return apierrors.NewNotFound(a.Resource.GroupVersion().WithResource(resource).GroupResource(), ref.Name)
	}
	return e.covered(a, namespace, rules)
}

func (e *Escalation) mayGrant(ctx context.Context, a *admission.Attributes, name, namespace string, rules []rbacv1.PolicyRule) error {
	if e.allowed(ctx, a, "escalate", a.Resource.Resource, name, namespace) {
		return nil
	}
	return e.covered(a, namespace, rules)
}

func (e *Escalation) allowed(ctx context.Context, a *admission.Attributes, verb, resource, name, namespace string) bool {
	d, _, _ := e.authorizer.Authorize(ctx, Attributes{User: a.User, Verb: verb, ResourceRequest: true, Namespace: namespace,
		APIGroup: rbacGroup, APIVersion: "v1", Resource: resource, Name: name})
	return d == Allow
}

func (e *Escalation) covered(a *admission.Attributes, namespace string, wanted []rbacv1.PolicyRule) error {
	have, err := e.rbac.Rules(a.User, namespace)
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

// Package clusterroleaggregation sets the rules of cluster roles with an aggregation rule to the union of the
// rules of the cluster roles they select, ordered by the names of those.
package clusterroleaggregation

import (
	"context"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// FieldManager applies the rules.
const FieldManager = "clusterrole-aggregation-controller"

// Add adds the controller to m. Its user needs the verb escalate on cluster roles.
func Add(m *manager.Manager) error {
	roles := informers.For[*rbacv1.ClusterRole](m.Informers()).Lister()
	api := client.For[*rbacv1.ClusterRole](m.Conn())
	_, err := controllers.Add(m, "clusterrole-aggregation", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		role, err := roles.Get(req)
		if apierrors.IsNotFound(err) || err == nil && role.AggregationRule == nil {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		all, err := roles.List(informers.ListOptions{})
		if err != nil {
			return reconcile.Result{}, err
		}
		want, err := sum(role, all)
		if err != nil {
			return reconcile.Result{}, reconcile.TerminalError(err)
		}
		if equal(role.Rules, want) {
			return reconcile.Result{}, nil
		}
		// No rules are an empty list: without one those that others have set would stay. The uid keeps a role
		// that was deleted meanwhile from being made again.
		_, err = api.Apply(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name, UID: role.UID}, Rules: append([]rbacv1.PolicyRule{}, want...)},
			client.ApplyOptions{FieldManager: FieldManager, Force: true})
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}), controllers.Options{}, controllers.Watches(func(informers.Event[*rbacv1.ClusterRole]) []reconcile.Request {
		// Any role may have entered or left any sum, and sums can be parts of sums.
		var out []reconcile.Request
		// A role that cannot be read now is reconciled when it can.
		all, _ := roles.List(informers.ListOptions{})
		for _, r := range all {
			if r.AggregationRule != nil {
				out = append(out, types.NamespacedName{Name: r.Name})
			}
		}
		return out
	}))
	return err
}

// sum adds up the rules of the roles that role selects, each rule once. A selector that does not parse is an
// error.
func sum(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	var rules []rbacv1.PolicyRule
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := role.AggregationRule.ClusterRoleSelectors[i].Selector()
		if err != nil {
			return nil, err
		}
		for _, part := range all {
			if part.Name == role.Name || !selector.Matches(part.Labels) {
				continue
			}
			for j := range part.Rules {
				if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return codec.Equal(&r, &part.Rules[j]) }) {
					rules = append(rules, part.Rules[j])
				}
			}
		}
	}
	return rules, nil
}

func equal(a, b []rbacv1.PolicyRule) bool {
	return slices.EqualFunc(a, b, func(x, y rbacv1.PolicyRule) bool { return codec.Equal(&x, &y) })
}

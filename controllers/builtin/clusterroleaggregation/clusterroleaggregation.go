// Package clusterroleaggregation sets the rules of cluster roles with an aggregation rule to the union of the
// rules of the cluster roles they select, ordered by the names of those.
package clusterroleaggregation

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/rbacv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// FieldManager applies the rules.
const FieldManager = "clusterrole-aggregation-controller"

type aggregator struct {
	roles informers.Lister[*rbacv1.ClusterRole]
	sums  informers.Index[*rbacv1.ClusterRole]
	parts controllers.Labelled[*rbacv1.ClusterRole]
	api   *client.Client[*rbacv1.ClusterRole]
}

// bySum files the roles that are sums of others.
var bySum = informers.DefineIndex("clusterroleaggregation.sums", func(r *rbacv1.ClusterRole) []string {
	if r.AggregationRule == nil {
		return nil
	}
	return []string{"all"}
})

// Add adds the controller to m. Its user needs the verb escalate on cluster roles.
func Add(m *manager.Manager) error {
	roles := informers.For[*rbacv1.ClusterRole](m.Informers())
	a := &aggregator{roles: roles.Lister(), sums: roles.Index(bySum), parts: controllers.LabelledIn[*rbacv1.ClusterRole](m.Informers()), api: client.For[*rbacv1.ClusterRole](m.Conn())}
	_, err := controllers.Add(m, "clusterrole-aggregation", reconcile.Func(a.reconcile), controllers.Options{},
		controllers.Watches(func(informers.Event[*rbacv1.ClusterRole]) []reconcile.Request {
			// Any role may have entered or left any sum, and sums can be parts of sums. A role that cannot be
			// read now is reconciled when it can.
			keys, _ := a.sums.Keys("all")
			return keys
		}))
	return err
}

func (a *aggregator) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	role, err := a.roles.Get(req)
	if err != nil || role.AggregationRule == nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	var parts []*rbacv1.ClusterRole
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := role.AggregationRule.ClusterRoleSelectors[i].Selector()
		if err != nil {
			return reconcile.Result{}, reconcile.TerminalError(err)
		}
		selected, err := a.parts.Select("", selector)
		if err != nil {
			return reconcile.Result{}, err
		}
		parts = append(parts, selected...)
	}
	want := sum(role, parts)
	if equal(role.Rules, want) {
		return reconcile.Result{}, nil
	}
	// No rules are an empty list: without one those that others have set would stay. The uid keeps a role
	// that was deleted meanwhile from being made again.
	_, err = a.api.Apply(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role.Name, UID: role.UID}, Rules: append([]rbacv1.PolicyRule{}, want...)},
		client.ApplyOptions{FieldManager: FieldManager, Force: true})
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// sum adds up the rules of the parts of a role, each rule once, in the order of the parts.
func sum(role *rbacv1.ClusterRole, parts []*rbacv1.ClusterRole) (rules []rbacv1.PolicyRule) {
	for _, part := range parts {
		if part.Name == role.Name {
			continue
		}
		for j := range part.Rules {
			if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool { return codec.Equal(&r, &part.Rules[j]) }) {
				rules = append(rules, part.Rules[j])
			}
		}
	}
	return rules
}

func equal(a, b []rbacv1.PolicyRule) bool {
	return slices.EqualFunc(a, b, func(x, y rbacv1.PolicyRule) bool { return codec.Equal(&x, &y) })
}

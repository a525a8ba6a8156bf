// Package servicecidr marks ServiceCIDR objects as ready, so that services get addresses from them, and
// blocks the deletion of one while it contains addresses in use that no other range contains.
package servicecidr

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Finalizer blocks the deletion of a range in use.
const Finalizer = "networking.k8s.io/service-cidr-finalizer"

// grace is how long a deleted range stays though nothing needs it: servers that have not seen the deletion
// may still take addresses from it.
const grace = 10 * time.Second

type keeper struct {
	ranges    informers.Lister[*networkingv1.ServiceCIDR]
	addresses informers.Lister[*networkingv1.IPAddress]
	leaving   informers.Index[*networkingv1.ServiceCIDR]
	client    *client.Client[*networkingv1.ServiceCIDR]
	recorder  *events.Recorder
}

// terminating files the ranges that are to go.
var terminating = informers.DefineIndex("servicecidr.terminating", func(r *networkingv1.ServiceCIDR) []string {
	if r.DeletionTimestamp == nil {
		return nil
	}
	return []string{""}
})

// Add adds the controller to m.
func Add(m *manager.Manager) error {
	ranges := informers.For[*networkingv1.ServiceCIDR](m.Informers())
	k := &keeper{ranges: ranges.Lister(), addresses: informers.For[*networkingv1.IPAddress](m.Informers()).Lister(),
		leaving: ranges.Index(terminating), client: client.For[*networkingv1.ServiceCIDR](m.Conn()), recorder: m.Recorder("service-cidr-controller")}
	_, err := controllers.Add(m, "service-cidr", reconcile.Func(k.reconcile), controllers.Options{},
		controllers.For[*networkingv1.ServiceCIDR](),
		// A range that comes may take over the addresses of one that is to go.
		controllers.Watches(func(informers.Event[*networkingv1.ServiceCIDR]) []reconcile.Request { return k.terminating() }),
		controllers.Watches(func(e informers.Event[*networkingv1.IPAddress]) []reconcile.Request {
			if e.Type != informers.Deleted {
				return nil
			}
			return k.terminating()
		}))
	return err
}

// terminating names the ranges that are to go.
func (k *keeper) terminating() []reconcile.Request {
	// A range that cannot be read now is reconciled when it can.
	keys, _ := k.leaving.Keys("")
	return keys
}

func (k *keeper) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r, err := k.ranges.Get(req)
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if r.DeletionTimestamp != nil {
		return k.finish(ctx, r)
	}
	if !slices.Contains(r.Finalizers, Finalizer) {
		r.Finalizers = append(r.Finalizers, Finalizer)
		if r, err = k.client.Update(ctx, r); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	if err := k.say(ctx, r, metav1.ConditionTrue, "", "Kubernetes Service CIDR is ready"); err != nil {
		k.recorder.Event(r, corev1.EventTypeWarning, "KubernetesServiceCIDRError", "The ServiceCIDR Status can not be set to Ready=True")
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, nil
}

// finish lets a deleted range go when it may.
func (k *keeper) finish(ctx context.Context, r *networkingv1.ServiceCIDR) (reconcile.Result, error) {
	if !slices.Contains(r.Finalizers, Finalizer) {
		return reconcile.Result{}, nil
	}
	needed, err := k.needed(r)
	if err != nil {
		return reconcile.Result{}, err
	}
	if needed {
		return reconcile.Result{}, k.say(ctx, r, metav1.ConditionFalse, networkingv1.ServiceCIDRReasonTerminating,
			"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	}
	if left := grace - time.Since(r.DeletionTimestamp.Time); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	r.Finalizers = slices.DeleteFunc(r.Finalizers, func(f string) bool { return f == Finalizer })
	_, err = k.client.Update(ctx, r)
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// needed reports whether an address would be in no range without r.
func (k *keeper) needed(r *networkingv1.ServiceCIDR) (bool, error) {
	ranges, err := k.ranges.List(informers.ListOptions{})
	if err != nil {
		return false, err
	}
	// By keys: the name of an address is all that counts.
	addresses, err := k.addresses.Keys(informers.ListOptions{})
	if err != nil {
		return false, err
	}
	var others []netip.Prefix
	for _, other := range ranges {
		if other.Name != r.Name && other.DeletionTimestamp == nil {
			others = append(others, prefixes(other)...)
		}
	}
	mine := prefixes(r)
	return slices.ContainsFunc(addresses, func(a types.NamespacedName) bool {
		ip, err := netip.ParseAddr(a.Name)
		return err == nil && contains(mine, ip) && !contains(others, ip)
	}), nil
}

func prefixes(r *networkingv1.ServiceCIDR) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range r.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			out = append(out, p.Masked())
		}
	}
	return out
}

func contains(list []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// say makes the condition Ready what it should be.
func (k *keeper) say(ctx context.Context, r *networkingv1.ServiceCIDR, status metav1.ConditionStatus, reason, message string) error {
	want := metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now().Truncated()}
	at := slices.IndexFunc(r.Status.Conditions, func(c metav1.Condition) bool { return c.Type == want.Type })
	switch {
	case at < 0:
		r.Status.Conditions = append(r.Status.Conditions, want)
	case r.Status.Conditions[at].Status == status && r.Status.Conditions[at].Reason == reason:
		return nil // others may word it differently
	default:
		r.Status.Conditions[at] = want
	}
	_, err := k.client.UpdateStatus(ctx, r)
	return apierrors.IgnoreNotFound(err)
}

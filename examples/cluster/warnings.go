package main

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/store/admission"
)

// unreconciled warns of objects that no part of this cluster acts on, so that waiting for their effect is not
// the way to find out. docs/kinds.md has the parts that act on each kind.
type unreconciled struct{}

// Name implements admission.Plugin.
func (unreconciled) Name() string { return "UnreconciledKinds" }

// Handles implements admission.Plugin.
func (unreconciled) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.Validator. It refuses nothing.
func (unreconciled) Validate(_ context.Context, a *admission.Attributes) error {
	if a.Subresource != "" {
		return nil
	}
	if text := withoutEffect(a.Object); text != "" && (a.Operation == admission.Create || withoutEffect(a.Old) == "") {
		a.Warn(text)
	}
	return nil
}

// withoutEffect says why nothing in this cluster acts on an object; it is empty if something does.
func withoutEffect(obj any) string {
	switch o := obj.(type) {
	case *networkingv1.Ingress:
		return "this cluster runs no ingress controller: an Ingress has no effect until you install one"
	case *networkingv1.NetworkPolicy:
		return "this cluster does not enforce a NetworkPolicy: no traffic is restricted by it"
	case *corev1.Service:
		// A class names the controller that the user brings.
		if o.Spec.Type == corev1.ServiceTypeLoadBalancer && o.Spec.LoadBalancerClass == nil {
			return "this cluster has no load balancers: a Service of type LoadBalancer gets no external address, only cluster and node ports"
		}
	}
	return ""
}

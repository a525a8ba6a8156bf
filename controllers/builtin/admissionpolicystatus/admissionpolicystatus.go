// Package admissionpolicystatus type-checks validating admission policies: their expressions are compiled
// against the schemas of what they are about, and what the compiler finds, such as a misspelt field, is
// written to status.typeChecking for the author to see. It changes nothing about what a policy does.
// status.observedGeneration says which generation was looked at; each is looked at once.
//
// What is found and how it is worded is Kubernetes', but for authorizer.requestResource, which works and is
// not reported here.
//
// [Checker] does the same for a policy that need not be stored.
package admissionpolicystatus

import (
	"context"
	"log/slog"

	"github.com/keelson-dev/keelson/apimachinery/api/admissionregistrationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// FieldManager owns what the controller writes.
const FieldManager = "validatingadmissionpolicy-status"

type policy = admissionregistrationv1.ValidatingAdmissionPolicy

// Options of the controller.
type Options struct {
	// Logger is told why a kind could not be checked; nil discards.
	Logger *slog.Logger
}

// Add registers the controller with m. Its user reads policies and writes their status, and sees discovery
// and the OpenAPI documents.
func Add(m *manager.Manager, opts Options) error {
	policies := informers.For[*policy](m.Informers()).Lister()
	status := client.Subresource[*policy](client.For[*policy](m.Conn()), "status")
	checker := NewChecker(discovery.New(m.Conn(), discovery.Options{}), opts.Logger)
	_, err := controllers.Add(m, "validatingadmissionpolicy-status", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		p, err := policies.Get(req)
		if apierrors.IsNotFound(err) || err == nil && p.Status.ObservedGeneration >= p.Generation {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		found, err := checker.Check(ctx, p)
		if err != nil {
			return reconcile.Result{}, err
		}
		_, err = status.Apply(ctx, req, &policy{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Status: admissionregistrationv1.ValidatingAdmissionPolicyStatus{
			ObservedGeneration: p.Generation, TypeChecking: &admissionregistrationv1.TypeChecking{ExpressionWarnings: found},
		}}, client.ApplyOptions{FieldManager: FieldManager, Force: true})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return reconcile.Result{}, err
	}), controllers.Options{}, controllers.For[*policy]())
	return err
}

// Package admissionpolicystatus type-checks validating admission policies: it compiles their expressions
// against the schemas of the matched kinds and writes the errors, such as a misspelled field, to
// status.typeChecking. It does not affect the evaluation of a policy. Each generation is checked once and
// recorded in status.observedGeneration.
//
// The errors and their texts are those of Kubernetes, except for authorizer.requestResource, which is
// supported and not reported.
//
// [Checker] does the same for policies that are not stored.
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

// FieldManager is the field manager of the controller's writes.
const FieldManager = "validatingadmissionpolicy-status"

type policy = admissionregistrationv1.ValidatingAdmissionPolicy

// Options of the controller.
type Options struct {
	// Logger receives the reasons why kinds could not be checked; nil discards.
	Logger *slog.Logger
}

// Add adds the controller to m. Its user must be able to read policies, write their status, and read
// discovery and the OpenAPI documents.
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

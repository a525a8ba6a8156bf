// Package namespace deletes the contents of terminating namespaces and then finalizes them: pods first,
// because they may use other objects, then everything else, including custom resources. Failures are reported
// in the conditions of the namespace.
//
// A reconcile empties the namespace in stages (apply.go), of which decide.go has the order, writes the
// conditions (status.go, pure), and does what decide.go concludes from what is left: to look again later, to
// try again, or to finalize. Nothing depends on what a pass before has found, but for how soon the next one
// is (patience.go).
package namespace

import (
	"context"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Options of the controller.
type Options struct {
	// Concurrency is the number of namespaces deleted concurrently; 0 means 10.
	Concurrency int
}

// finalizer is the one this controller removes.
const finalizer = corev1.FinalizerName("kubernetes")

type namespaces struct {
	conn      client.Conn
	list      informers.Lister[*corev1.Namespace]
	api       *client.Client[*corev1.Namespace]
	discovery *discovery.Client
	patience  patience
}

// Add adds the controller to m.
func Add(m *manager.Manager, opts Options) error {
	if opts.Concurrency == 0 {
		opts.Concurrency = 10
	}
	n := &namespaces{conn: m.Conn(), list: informers.For[*corev1.Namespace](m.Informers()).Lister(),
		api: client.For[*corev1.Namespace](m.Conn()), discovery: discovery.New(m.Conn(), discovery.Options{})}
	_, err := controllers.Add(m, "namespace", reconcile.Func(n.reconcile), controllers.Options{Options: controller.Options{Concurrency: opts.Concurrency}},
		controllers.For(func(e informers.Event[*corev1.Namespace]) bool { return e.Type != informers.Deleted && e.Terminating }))
	return err
}

func (n *namespaces) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	ns, err := n.list.Get(req)
	if apierrors.IsNotFound(err) || err == nil && !isToEmpty(ns) {
		n.patience.forget(req.Name)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	left := n.empty(ctx, ns.Name)
	if ctx.Err() != nil {
		return reconcile.Result{}, ctx.Err()
	}
	if status := statusOf(ns, left, time.Now()); !codec.Equal(&status, &ns.Status) {
		ns.Status = status
		if _, err := n.api.UpdateStatus(ctx, ns); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	p := decide(left)
	if p.again {
		return reconcile.Result{RequeueAfter: n.patience.after(ns.Name, left)}, nil
	}
	n.patience.forget(ns.Name)
	if p.finalize {
		return reconcile.Result{}, n.finalize(ctx, req)
	}
	return reconcile.Result{}, p.err
}

// finalize removes the finalizer, with which the server removes the namespace if it has no other one.
func (n *namespaces) finalize(ctx context.Context, req reconcile.Request) error {
	live, err := n.api.Get(ctx, req)
	if err == nil {
		live.Spec.Finalizers = slices.DeleteFunc(live.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == finalizer })
		_, err = client.Subresource[*corev1.Namespace](n.api, "finalize").Update(ctx, req, live)
	}
	return apierrors.IgnoreNotFound(err)
}

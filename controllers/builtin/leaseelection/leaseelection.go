// Package leaseelection elects the holders of Leases among their LeaseCandidates: coordinated leader
// election. The candidates are requested to give a sign of life; of those that do within five seconds the
// Lease is given to the one that emulates the oldest version. While the Lease has a holder, another one that
// should have it becomes its preferredHolder, and the holder releases it. Package leaderelection/candidate is
// the other side.
//
// A candidate without a sign of life for half an hour is deleted. Leases with a strategy of another name get
// their strategy and no holder: that is left to the strategy's own controller.
//
// Like kube-apiserver 1.36, the example kube-apiserver runs it, one server at a time, if the feature
// CoordinatedLeaderElection and coordination.k8s.io/v1beta1 are switched on. It differs in two points: a
// candidate that has not answered the last request is not elected, even if its sign of life before it is less
// than five seconds old; and an expired Lease is given to its previous holder again if that one is elected.
package leaseelection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/controller"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

type (
	lease     = coordinationv1.Lease
	candidate = coordinationv1beta1.LeaseCandidate
)

// Name is the name of the controller, and of the Lease in kube-system by which one server elects.
const Name = "leader-election-controller"

// Options of the controller.
type Options struct {
	// Concurrency is the number of Leases whose elections run concurrently; 0 means 1.
	Concurrency int
}

// byLease finds candidates by their lease.
var byLease = informers.DefineIndex("lease", func(c *candidate) []string { return []string{key(c).String()} })

type election struct {
	leases     *client.Client[*lease]
	candidates *client.Client[*candidate]
	cached     informers.Lister[*lease]
	byLease    informers.Index[*candidate]
}

// Add adds the controller to m. Its user must be able to read, create and update Leases, and to read, update
// and delete LeaseCandidates, in all namespaces.
func Add(m *manager.Manager, opts Options) error {
	gv := coordinationv1beta1.GroupVersion
	resource := client.Resource{GVR: gv.WithResource("leasecandidates"), GVK: gv.WithKind("LeaseCandidate"), Namespaced: true}
	candidates := informers.ForResource[*candidate](m.Informers(), resource)
	e := &election{
		leases: client.For[*lease](m.Conn()), candidates: client.ForResource[*candidate](m.Conn(), resource),
		cached: informers.For[*lease](m.Informers()).Lister(), byLease: candidates.Index(byLease),
	}
	_, err := controllers.Add(m, Name, reconcile.Func(e.reconcile), controllers.Options{Options: controller.Options{Concurrency: max(1, opts.Concurrency)}},
		controllers.For[*lease](),
		controllers.From(candidates, func(e informers.Event[*candidate]) []reconcile.Request { return []reconcile.Request{key(e.Object())} }))
	return err
}

func key(c *candidate) reconcile.Request {
	return reconcile.Request{Namespace: c.Namespace, Name: c.Spec.LeaseName}
}

// reconcile takes the next step of an election. It is repeated while there are candidates: what changes
// without an event is that times pass.
func (e *election) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	all, err := e.byLease.List(req.String())
	if err != nil {
		return reconcile.Result{}, err
	}
	now := time.Now()
	var candidates []*candidate
	for _, c := range all {
		if !expired(c.Spec.RenewTime, valid, now) {
			candidates = append(candidates, c)
		} else if err := e.remove(ctx, c); err != nil {
			return reconcile.Result{}, err
		}
	}
	if len(candidates) == 0 {
		return reconcile.Result{}, nil
	}
	l, err := e.cached.Get(req)
	if apierrors.IsNotFound(err) {
		l, err = nil, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	d, err := decide(l, candidates, now)
	if err == nil {
		err = e.apply(ctx, req, l, d, now)
	}
	switch {
	case errors.Is(err, errNoResponse), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		err = nil // the next event or the next turn decides again
	case err != nil:
		err = fmt.Errorf("election of lease %s: %w", req, err)
	}
	return reconcile.Result{RequeueAfter: patience}, err
}

// apply requests signs of life and writes the lease. Writes are based on what was read: the election of a
// server that leads no longer has no effect.
func (e *election) apply(ctx context.Context, req reconcile.Request, l *lease, d decision, now time.Time) error {
	for _, c := range d.ping {
		pinged := codec.DeepCopy(c)
		pinged.Spec.PingTime = new(metav1.NewMicroTime(now))
		if _, err := e.candidates.Update(ctx, pinged); err != nil {
			return err
		}
	}
	switch {
	case d.lease == nil:
		return nil
	case l == nil:
		d.lease.Namespace, d.lease.Name = req.Namespace, req.Name
		_, err := e.leases.Create(ctx, d.lease)
		return err
	}
	_, err := e.leases.Update(ctx, d.lease)
	return err
}

// remove deletes a candidate that has given no sign of life, unless it has meanwhile.
func (e *election) remove(ctx context.Context, c *candidate) error {
	err := e.candidates.Delete(ctx, metav1.KeyOf(c), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion}})
	if apierrors.IsConflict(err) {
		return nil
	}
	return apierrors.IgnoreNotFound(err)
}

// Package resourcepoolstatusrequest answers ResourcePoolStatusRequests: it counts the devices in the pools of
// a driver once, by its ResourceSlices and the allocations of ResourceClaims, and deletes requests one hour
// after they were answered and unanswered ones after a day.
//
// A pool consists of the slices of its highest generation. While slices of a pool are missing the request
// stays unanswered; the missing slice's event counts again, where upstream gives up after five attempts.
// Unavailable devices are not known: their number is 0, as upstream.
//
// The API resource.k8s.io/v1alpha3 is disabled by default; do not add the controller if it is not served.
package resourcepoolstatusrequest

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// How long requests are kept.
const (
	keepAnswered = time.Hour      // after the transition of the condition Complete or Failed
	keepPending  = 24 * time.Hour // after the request was made
)

type request = resourcev1alpha3.ResourcePoolStatusRequest

type counter struct {
	list    informers.Lister[*request]
	api     *client.Client[*request]
	pending informers.Index[*request]
	slices  informers.Index[*resourcev1.ResourceSlice]
	claims  informers.Index[*resourcev1.ResourceClaim]
}

// The indexes file objects under drivers: requests without an answer, slices, and claims with devices.
var (
	pendingByDriver = informers.DefineIndex("resourcepoolstatusrequest.pending", func(r *request) []string {
		if r.Status != nil {
			return nil
		}
		return []string{r.Spec.Driver}
	})
	slicesByDriver = informers.DefineIndex("resourcepoolstatusrequest.slices", func(s *resourcev1.ResourceSlice) []string {
		return []string{s.Spec.Driver}
	})
	claimsByDriver = informers.DefineIndex("resourcepoolstatusrequest.claims", driversOf)
)

// driversOf returns the drivers of the devices that a claim has, each once.
func driversOf(c *resourcev1.ResourceClaim) (out []string) {
	if c.Status.Allocation == nil {
		return nil
	}
	seen := map[string]bool{}
	for i := range c.Status.Allocation.Devices.Results {
		if driver := c.Status.Allocation.Devices.Results[i].Driver; !seen[driver] {
			seen[driver], out = true, append(out, driver)
		}
	}
	return out
}

// Add adds the controller to m.
func Add(m *manager.Manager) error {
	set, gv := m.Informers(), resourcev1alpha3.GroupVersion
	requests := informers.ForResource[*request](set, client.Resource{GVR: gv.WithResource("resourcepoolstatusrequests"), GVK: gv.WithKind("ResourcePoolStatusRequest")})
	c := &counter{
		list: requests.Lister(), pending: requests.Index(pendingByDriver),
		api:    client.ForResource[*request](m.Conn(), requests.Client().Resource()),
		slices: informers.For[*resourcev1.ResourceSlice](set).Index(slicesByDriver), claims: informers.For[*resourcev1.ResourceClaim](set).Index(claimsByDriver),
	}
	_, err := controllers.Add(m, "resourcepoolstatusrequest", reconcile.Func(c.reconcile), controllers.Options{},
		controllers.From(requests, controllers.Self[*request]), controllers.Watches(c.ofDriver), controllers.Reads[*resourcev1.ResourceClaim]())
	return err
}

// ofDriver returns the unanswered requests about the driver of a slice.
func (c *counter) ofDriver(e informers.Event[*resourcev1.ResourceSlice]) []reconcile.Request {
	// One that cannot be read now is reconciled when it can.
	keys, _ := c.pending.Keys(e.Object().Spec.Driver)
	return keys
}

func (c *counter) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	r, err := c.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if r.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	left := time.Until(end(r))
	if left <= 0 {
		// With preconditions: it may have been answered, or created again, since.
		err := c.api.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID, ResourceVersion: &r.ResourceVersion}})
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	if r.Status == nil {
		if err := c.answer(ctx, r); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	return reconcile.Result{RequeueAfter: left}, nil
}

// end is when a request is to go.
func end(r *request) time.Time {
	switch c := r.Answered(); {
	case c != nil:
		return c.LastTransitionTime.Add(keepAnswered)
	case r.Status != nil:
		return r.CreationTimestamp.Add(keepAnswered)
	}
	return r.CreationTimestamp.Add(keepPending)
}

// answer writes the status of a request, unless slices of a pool that it is to have are missing.
func (c *counter) answer(ctx context.Context, r *request) error {
	p := newPools(&r.Spec)
	if err := c.slices.View(r.Spec.Driver, func(s *resourcev1.ResourceSlice) bool { p.slice(s); return true }); err != nil {
		return err
	}
	if err := c.claims.View(r.Spec.Driver, func(claim *resourcev1.ResourceClaim) bool { p.claim(claim); return true }); err != nil {
		return err
	}
	if r.Status = p.status(metav1.Now().Truncated()); r.Status == nil {
		return nil
	}
	_, err := c.api.UpdateStatus(ctx, r)
	return err
}

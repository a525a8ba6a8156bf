// Package storageversiongc removes from StorageVersions the reports of API servers that have ended, and the
// StorageVersions that then have none. A server has ended when the lease is gone by which it says that it
// runs: one in kube-system of its name, labelled apiserver.kubernetes.io/identity=kube-apiserver. Whether it
// is gone says the API server, not the copy here, and an answer other than NotFound says nothing: upstream
// removes a report then too.
//
// The API internal.apiserver.k8s.io/v1alpha1 is disabled by default; do not add the controller if it is not
// served.
package storageversiongc

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// What a lease is labelled with by which a server says that it runs.
const (
	identityLabel = "apiserver.kubernetes.io/identity"
	identity      = "kube-apiserver"
)

type storageVersion = apiserverinternalv1alpha1.StorageVersion

type collector struct {
	list     informers.Lister[*storageVersion]
	byServer informers.Index[*storageVersion]
	api      *client.Client[*storageVersion]
	cached   informers.Lister[*coordinationv1.Lease]
	leases   *client.Client[*coordinationv1.Lease]
}

// byServer files StorageVersions under the servers that have reports in them.
var byServer = informers.DefineIndex("storageversiongc.server", func(v *storageVersion) (out []string) {
	for i := range v.Status.StorageVersions {
		out = append(out, v.Status.StorageVersions[i].APIServerID)
	}
	return out
})

// Add adds the controller to m.
func Add(m *manager.Manager) error {
	gv := apiserverinternalv1alpha1.GroupVersion
	versions := informers.ForResource[*storageVersion](m.Informers(), client.Resource{GVR: gv.WithResource("storageversions"), GVK: gv.WithKind("StorageVersion")})
	c := &collector{list: versions.Lister(), byServer: versions.Index(byServer), api: client.ForResource[*storageVersion](m.Conn(), versions.Client().Resource()),
		cached: informers.For[*coordinationv1.Lease](m.Informers()).Lister(), leases: client.For[*coordinationv1.Lease](m.Conn())}
	_, err := controllers.Add(m, "storageversion-garbage-collector", reconcile.Func(c.reconcile), controllers.Options{},
		controllers.From(versions, controllers.Self[*storageVersion]), controllers.Watches(c.ended))
	return err
}

// ended returns the StorageVersions with a report of the server whose lease is gone.
func (c *collector) ended(e informers.Event[*coordinationv1.Lease]) []reconcile.Request {
	if e.Type != informers.Deleted || e.Key.Namespace != metav1.NamespaceSystem {
		return nil
	}
	// One that cannot be read now is reconciled when it can.
	keys, _ := c.byServer.Keys(e.Key.Name)
	return keys
}

func (c *collector) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, err := c.list.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	gone := map[string]bool{}
	for _, r := range v.Status.StorageVersions {
		runs, err := c.runs(ctx, r.APIServerID)
		if err != nil {
			return reconcile.Result{}, err
		}
		if !runs {
			gone[r.APIServerID] = true
		}
	}
	if len(gone) == 0 {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, apierrors.IgnoreNotFound(c.remove(ctx, v, gone))
}

// runs reports whether the lease of a server exists.
func (c *collector) runs(ctx context.Context, server string) (known bool, err error) {
	key := types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: server}
	is := func(l *coordinationv1.Lease) bool { return l.Labels[identityLabel] == identity }
	if err := c.cached.View(key, func(l *coordinationv1.Lease) { known = is(l) }); known && err == nil {
		return true, nil
	}
	l, err := c.leases.Get(ctx, key)
	if err != nil {
		return false, apierrors.IgnoreNotFound(err)
	}
	return is(l), nil
}

// remove writes a StorageVersion without the reports of servers, or deletes it if none is left. A report that
// was added since is not lost.
func (c *collector) remove(ctx context.Context, v *storageVersion, gone map[string]bool) error {
	s := &v.Status
	s.StorageVersions = slices.DeleteFunc(s.StorageVersions, func(r apiserverinternalv1alpha1.ServerStorageVersion) bool { return gone[r.APIServerID] })
	if len(s.StorageVersions) == 0 {
		return c.api.Delete(ctx, v.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID, ResourceVersion: &v.ResourceVersion}})
	}
	v.Agree(metav1.Now().Truncated())
	_, err := c.api.UpdateStatus(ctx, v)
	return err
}

package certificates

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// keepPodRequest is how long a PodCertificateRequest is kept, whatever its state: the kubelet that made it
// has read its certificate or given up by then.
const keepPodRequest = 15 * time.Minute

// AddPodCleaner adds the controller "podcertificaterequest-cleaner" to m. It deletes PodCertificateRequests
// (certificates.k8s.io/v1beta1), which must be served, 15 minutes after they were made.
func AddPodCleaner(m *manager.Manager) error {
	gv := certificatesv1beta1.GroupVersion
	requests := informers.ForResource[*certificatesv1beta1.PodCertificateRequest](m.Informers(),
		client.Resource{GVR: gv.WithResource("podcertificaterequests"), GVK: gv.WithKind("PodCertificateRequest"), Namespaced: true})
	list, api := requests.Lister(), client.ForResource[*certificatesv1beta1.PodCertificateRequest](m.Conn(), requests.Client().Resource())
	_, err := controllers.Add(m, "podcertificaterequest-cleaner", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		r, err := list.Get(req)
		if err != nil || r.DeletionTimestamp != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
		if wait := time.Until(r.CreationTimestamp.Add(keepPodRequest)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		err = api.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID}})
		if err = apierrors.IgnoreNotFound(err); err != nil {
			return reconcile.Result{}, fmt.Errorf("delete PodCertificateRequest %s: %w", req, err)
		}
		return reconcile.Result{}, nil
	}), controllers.Options{}, controllers.From(requests, controllers.Self, func(e informers.Event[*certificatesv1beta1.PodCertificateRequest]) bool {
		return e.Type == informers.Added || e.UID != e.Old().UID
	}))
	return err
}

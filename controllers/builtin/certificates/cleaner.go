package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
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
	keepAnswered = time.Hour      // after they were approved, denied, or failed
	keepPending  = 24 * time.Hour // after they were made
)

// AddCleaner adds the controller "certificatesigningrequest-cleaner" to m. It deletes requests one hour after
// they were approved, denied or failed, pending requests after one day, and requests whose certificate has
// expired.
func AddCleaner(m *manager.Manager) error {
	requests := informers.For[*request](m.Informers()).Lister()
	api := client.For[*request](m.Conn())
	_, err := controllers.Add(m, "certificatesigningrequest-cleaner", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		r, err := requests.Get(req)
		if apierrors.IsNotFound(err) || err == nil && r.DeletionTimestamp != nil {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		if wait := time.Until(end(r)); wait > 0 {
			return reconcile.Result{RequeueAfter: wait}, nil
		}
		// With preconditions: it may have been approved, or created again, since.
		err = api.Delete(ctx, req, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.UID, ResourceVersion: &r.ResourceVersion}})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return reconcile.Result{}, err
	}), controllers.Options{}, controllers.For[*request]())
	return err
}

// end is when a request is to go.
func end(r *request) time.Time {
	at := r.CreationTimestamp.Add(keepPending)
	answered := false
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		c := condition(r, t)
		if c == nil {
			continue
		}
		since := c.LastUpdateTime
		if since.IsZero() { // the condition has no time
			since = r.CreationTimestamp
		}
		if e := since.Add(keepAnswered); !answered || e.Before(at) {
			at, answered = e, true
		}
	}
	if expires := expiry(r.Status.Certificate); !expires.IsZero() && expires.Before(at) {
		return expires
	}
	return at
}

// expiry is when the first certificate of a chain in PEM expires; zero without one.
func expiry(chain []byte) time.Time {
	block, _ := pem.Decode(chain)
	if block == nil {
		return time.Time{}
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return cert.NotAfter
}

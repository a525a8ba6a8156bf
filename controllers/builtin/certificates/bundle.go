package certificates

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ServingSigner is the signer of the serving certificates of API servers.
const ServingSigner = "kubernetes.io/kube-apiserver-serving"

// BundleOptions are the options of a publisher.
type BundleOptions struct {
	// Signer is the name of the signer whose certificates the bundle verifies; it is required.
	Signer string
	// Bundle is the published certificates, in PEM; it is required.
	Bundle []byte
}

type bundle = certificatesv1beta1.ClusterTrustBundle

// AddBundlePublisher adds the controller that publishes the certificates of a signer's authority in a
// ClusterTrustBundle (certificates.k8s.io/v1beta1, which must be served), and deletes the other bundles of
// the signer. The name of the bundle has a hash of its certificates, so that a new authority gets a new
// bundle before the old one goes.
func AddBundlePublisher(m *manager.Manager, opts BundleOptions) error {
	if opts.Signer == "" || len(opts.Bundle) == 0 {
		return errors.New("certificates: a publisher needs a signer and its certificates")
	}
	gv := certificatesv1beta1.GroupVersion
	bundles := informers.ForResource[*bundle](m.Informers(), client.Resource{GVR: gv.WithResource("clustertrustbundles"), GVK: gv.WithKind("ClusterTrustBundle")})
	p := &publisher{list: bundles.Lister(), api: client.ForResource[*bundle](m.Conn(), bundles.Client().Resource()), want: bundleOf(opts)}
	of := func(e informers.Event[*bundle]) bool { return e.Object().Spec.SignerName == opts.Signer }
	// All events have one key, and the first is there from the beginning: it is the one of no event.
	c, err := controllers.Add(m, "kube-apiserver-serving-clustertrustbundle-publisher", reconcile.Func(p.reconcile), controllers.Options{},
		controllers.From(bundles, func(informers.Event[*bundle]) []reconcile.Request { return []reconcile.Request{p.key()} }, of))
	if err != nil {
		return err
	}
	c.Enqueue(p.key())
	return nil
}

type publisher struct {
	list informers.Lister[*bundle]
	api  *client.Client[*bundle]
	want *bundle
}

func (p *publisher) key() reconcile.Request { return reconcile.Request{Name: p.want.Name} }

// bundleOf is the bundle of a signer.
func bundleOf(opts BundleOptions) *bundle {
	sum := sha256.Sum256(opts.Bundle)
	return &bundle{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s%x", certificatesv1beta1.BundlePrefix(opts.Signer), sum[:12])},
		Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: opts.Signer, TrustBundle: string(opts.Bundle)}}
}

// reconcile publishes first, so that there is a bundle at any time.
func (p *publisher) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have, err := p.list.Get(req)
	switch {
	case apierrors.IsNotFound(err):
		_, err = p.api.Create(ctx, &bundle{ObjectMeta: metav1.ObjectMeta{Name: req.Name}, Spec: p.want.Spec})
	case err == nil && have.Spec.TrustBundle != p.want.Spec.TrustBundle:
		have.Spec.TrustBundle = p.want.Spec.TrustBundle
		_, err = p.api.Update(ctx, have)
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("publish ClusterTrustBundle %s: %w", req.Name, err)
	}
	var others []*bundle
	err = p.list.ViewAll(informers.ListOptions{}, func(b *bundle) bool {
		if b.Spec.SignerName == p.want.Spec.SignerName && b.Name != req.Name && b.DeletionTimestamp == nil {
			others = append(others, b)
		}
		return true
	})
	errs := []error{err}
	for _, b := range others {
		err := p.api.Delete(ctx, b.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &b.UID}})
		if err = apierrors.IgnoreNotFound(err); err != nil {
			errs = append(errs, fmt.Errorf("delete ClusterTrustBundle %s: %w", b.Name, err))
		}
	}
	return reconcile.Result{}, errors.Join(errs...)
}

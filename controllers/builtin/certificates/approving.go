package certificates

import (
	"context"
	"crypto/x509"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/authorizationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// askAgain is how long a request of a node that may not have its certificate waits for a role to be bound.
const askAgain = time.Minute

// grounds are what a node's request is approved for, by the subresource of certificatesigningrequests that
// the requester must be allowed to create.
var grounds = []struct {
	subresource, message string
	applies              func(*request, *x509.CertificateRequest) bool
}{
	{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview.", func(r *request, x *x509.CertificateRequest) bool {
		return r.Spec.Username == x.Subject.CommonName
	}},
	{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.", func(*request, *x509.CertificateRequest) bool { return true }},
}

// AddApproving adds the controller "certificatesigningrequest-approving" to m. It approves, with reason
// AutoApproved, requests for client certificates of nodes: for the requester itself if it may create
// certificatesigningrequests/selfnodeclient, and for any node if it may create
// certificatesigningrequests/nodeclient. Other requests are ignored.
func AddApproving(m *manager.Manager) error {
	requests := informers.For[*request](m.Informers()).Lister()
	api := client.For[*request](m.Conn())
	reviews := client.For[*authorizationv1.SubjectAccessReview](m.Conn())
	_, err := controllers.Add(m, "certificatesigningrequest-approving", reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		r, err := requests.Get(req)
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
		if r.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName || len(r.Status.Certificate) > 0 ||
			condition(r, certificatesv1.CertificateApproved) != nil || condition(r, certificatesv1.CertificateDenied) != nil {
			return reconcile.Result{}, nil
		}
		x, err := parse(r)
		if err != nil || checkKubeletClient(x, r.Spec.Usages) != nil {
			// Not a node's: it may be approved otherwise, and the signer reports what is wrong.
			return reconcile.Result{}, nil
		}
		for _, g := range grounds {
			if !g.applies(r, x) {
				continue
			}
			answer, err := reviews.Create(ctx, review(r, g.subresource))
			if err != nil {
				return reconcile.Result{}, err
			}
			if !answer.Status.Allowed {
				continue
			}
			setCondition(r, certificatesv1.CertificateApproved, "AutoApproved", g.message)
			_, err = client.Subresource[*request](api, "approval").Update(ctx, req, r)
			if apierrors.IsNotFound(err) {
				err = nil
			}
			return reconcile.Result{}, err
		}
		return reconcile.Result{RequeueAfter: askAgain}, nil
	}), controllers.Options{}, controllers.For[*request]())
	return err
}

// review reports whether the user who created r may create the subresource.
func review(r *request, subresource string) *authorizationv1.SubjectAccessReview {
	s := &authorizationv1.SubjectAccessReview{}
	s.Spec.User, s.Spec.UID, s.Spec.Groups = r.Spec.Username, r.Spec.UID, r.Spec.Groups
	if len(r.Spec.Extra) > 0 {
		s.Spec.Extra = map[string]authorizationv1.ExtraValue{}
		for k, v := range r.Spec.Extra {
			s.Spec.Extra[k] = authorizationv1.ExtraValue(v)
		}
	}
	s.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Group: certificatesv1.GroupVersion.Group, Version: "*", Resource: "certificatesigningrequests", Verb: "create", Subresource: subresource,
	}
	return s
}

package apiserver

import (
	"fmt"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/registry"
)

// issueToken serves POST serviceaccounts/NAME/token.
func (s *Server) issueToken(rt *route, r *request) {
	forms := rt.offers(false)
	forms.table = false // there is no table of objects that are not stored
	out, err := r.accepts(forms)
	if err != nil {
		r.fail(err)
		return
	}
	if s.opts.Tokens == nil {
		r.fail(errNoResource())
		return
	}
	o, err := rt.res.Get(r.Context(), r.key(true), registry.Freshness{})
	if err != nil {
		r.fail(err)
		return
	}
	account, err := rt.res.Decode(r.Context(), o)
	if err != nil {
		r.fail(err)
		return
	}
	sub, _ := rt.info.Subresource("token")
	body, gvk := newTokenRequest(sub)
	if err := r.decode(body, gvk); err != nil {
		r.fail(err)
		return
	}
	if body.GetName() != "" && body.GetName() != r.info.Name {
		r.fail(sameName(body, r.key(true)))
		return
	}
	if uid, own := metav1.MetaOf(body).UID, metav1.MetaOf(account).UID; uid != "" && uid != own {
		r.fail(apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, r.info.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", uid, own)))
		return
	}
	registry.SetKind(body, gvk)
	w := registry.Write{Warn: r.warn, Annotate: r.annotate(), Subresource: "token", Options: &metav1.CreateOptions{}, Body: &registry.Body{Kind: gvk, Operation: admission.Create, Object: body}}
	if err := rt.res.AdmitBody(r.Context(), r.key(true), w); err != nil {
		r.fail(err)
		return
	}
	id, err := s.opts.Tokens.IssueToken(r.Context(), account, body)
	if err != nil {
		r.fail(err)
		return
	}
	r.audit.Annotate("authentication.kubernetes.io/issued-credential-id", id)
	body.SetName(r.info.Name)
	body.SetNamespace(r.info.Namespace)
	metav1.MetaOf(body).UID = metav1.MetaOf(account).UID
	if metav1.MetaOf(body).CreationTimestamp.IsZero() {
		metav1.MetaOf(body).CreationTimestamp = metav1.Now()
	}
	registry.SetKind(body, gvk)
	r.send(http.StatusCreated, out, gvk, body)
}

func newTokenRequest(sub scheme.Subresource) (metav1.Object, schema.GroupVersionKind) {
	return &authenticationv1.TokenRequest{}, schema.GroupVersionKind{Group: sub.Group, Version: sub.Version, Kind: sub.Kind}
}

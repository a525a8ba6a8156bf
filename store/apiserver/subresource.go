package apiserver

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/registry"
)

// serveSubresource hands a request for a part of an object to whoever serves that part.
func (s *Server) serveSubresource(rt *route, r *request) {
	known, verb := rt.hasSub(&r.info)
	switch {
	case !known || rt.res == nil:
		r.fail(errNoResource())
		return
	case !verb && (r.info.Subresource != "proxy" || r.Method != http.MethodOptions): // which has no verb, and is the backend's to answer
		r.fail(apierrors.NewMethodNotSupported(rt.info.GVR.GroupResource(), r.info.Verb))
		return
	}
	switch r.info.Subresource {
	case "status":
		s.part(rt, r)
	case "scale":
		s.scale(rt, r)
	case "binding":
		s.bind(rt, r)
	case "eviction":
		s.evict(rt, r)
	case "token":
		s.issueToken(rt, r)
	case "log", "exec", "attach", "portforward", "proxy":
		s.connect(rt, r)
	default:
		if _, ok := rt.res.Definition().Subresources[r.info.Subresource]; !ok {
			r.fail(errNoResource())
			return
		}
		s.part(rt, r)
	}
}

// part reads or writes an object through a subresource that shows the whole of it.
func (s *Server) part(rt *route, r *request) {
	switch r.info.Verb {
	case "get":
		s.get(rt, r)
	case "update":
		s.put(rt, r, registry.UpdateOptions{})
	case "patch":
		s.patch(rt, r)
	}
}

// issueToken answers POST serviceaccounts/NAME/token.
func (s *Server) issueToken(rt *route, r *request) {
	forms := rt.offers(false)
	forms.table = false // there is no table of what is not kept
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
	registry.SetKind(body, gvk)
	w := registry.Write{Warn: r.warn, Subresource: "token", Options: &metav1.CreateOptions{}, Body: &registry.Body{Kind: gvk, Operation: admission.Create, Object: body}}
	if err := rt.res.AdmitBody(r.Context(), r.key(true), w); err != nil {
		r.fail(err)
		return
	}
	if err := s.opts.Tokens.IssueToken(r.Context(), account, body); err != nil {
		r.fail(err)
		return
	}
	body.SetName(r.info.Name)
	body.SetNamespace(r.info.Namespace)
	if metav1.MetaOf(body).CreationTimestamp.IsZero() {
		metav1.MetaOf(body).CreationTimestamp = metav1.Now()
	}
	registry.SetKind(body, gvk)
	r.send(http.StatusCreated, out, gvk, body)
}

package apiserver

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

func (s *Server) create(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	wo, err := r.writeOptions("CreateOptions")
	if err != nil {
		r.fail(err)
		return
	}
	obj := rt.info.New()
	if err := r.decode(obj, rt.info.GVK); err != nil {
		r.fail(err)
		return
	}
	namespace := ""
	if rt.info.Namespaced {
		namespace = r.info.Namespace
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	obj, err = rt.res.Create(ctx, namespace, obj, r.write(wo, createOptions(r, wo)))
	if err != nil {
		r.fail(err)
		return
	}
	r.sendObject(rt, http.StatusCreated, out, obj)
}

func createOptions(r *request, wo writeOptions) *metav1.CreateOptions {
	return &metav1.CreateOptions{DryRun: wo.list(), FieldManager: wo.fieldManager, FieldValidation: r.query.Get("fieldValidation")}
}

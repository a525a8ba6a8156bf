package apiserver

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/registry"
)

func (s *Server) get(rt *route, r *request) {
	out, err := r.accepts(rt.offers(false))
	if err != nil {
		r.fail(err)
		return
	}
	if out.as == asMetadataList {
		r.fail(apierrors.NewNotAcceptable("you requested PartialObjectMetadataList, but the requested object is not a list (" + rt.info.GVK.Kind + ")"))
		return
	}
	f, err := r.getFreshness()
	if err != nil {
		r.fail(err)
		return
	}
	o, err := rt.res.Get(r.Context(), r.key(rt.info.Namespaced), f)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendCached(rt, out, o)
}

// getFreshness reads the resourceVersion of a get.
func (r *request) getFreshness() (registry.Freshness, error) {
	v := r.query.Get("resourceVersion")
	n, err := parseVersion(v)
	return registry.Freshness{Any: v == "0", AtLeast: n}, err
}

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
	ctx, err := s.fenced(r)
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

// write is how the registry is asked for a write.
func (r *request) write(wo writeOptions, options any) registry.Write {
	return registry.Write{DryRun: wo.dryRun, FieldManager: wo.fieldManager, Warn: r.warn, Outside: &r.outside, Options: options, Subresource: r.info.Subresource}
}

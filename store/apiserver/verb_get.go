package apiserver

import (
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

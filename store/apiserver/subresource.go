package apiserver

import (
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/registry"
)

// serveSubresource dispatches a request for a subresource.
func (s *Server) serveSubresource(rt *route, r *request) {
	known, verb := rt.hasSub(&r.info)
	switch {
	case !known || rt.res == nil:
		r.fail(errNoResource())
		return
	case !verb && r.info.Verb == "" && r.Method != http.MethodOptions:
		r.fail(errNoMethod())
		return
	// OPTIONS has no verb here; the backend answers it.
	case !verb && (r.info.Subresource != "proxy" || r.Method != http.MethodOptions):
		r.fail(apierrors.NewMethodNotSupported(rt.info.GVR.GroupResource(), r.info.Verb))
		return
	}
	switch r.info.Subresource {
	case "status":
		s.serveWhole(rt, r)
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
		s.serveWhole(rt, r)
	}
}

// serveWhole reads or writes an object through a subresource that shows the whole of it.
func (s *Server) serveWhole(rt *route, r *request) {
	switch r.info.Verb {
	case "get":
		s.get(rt, r)
	case "update":
		s.put(rt, r, registry.UpdateOptions{})
	case "patch":
		s.patch(rt, r)
	}
}

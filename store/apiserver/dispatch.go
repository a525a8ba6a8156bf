package apiserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// dispatch calls the handler of the request's verb.
func (s *Server) dispatch(r *request) {
	if !r.info.Resource {
		if to, host := s.backend(r); to != nil {
			s.serveElsewhere(r, to, host)
			return
		}
		s.serveNonResource(r)
		return
	}
	select {
	case <-s.lifecycle.reached[serving]:
	case <-s.lifecycle.reached[ending]:
		r.fail(apierrors.NewServiceUnavailable("the server is shutting down"))
		return
	case <-r.Context().Done():
		r.fail(apierrors.NewServiceUnavailable("the server is still starting"))
		return
	}
	if !s.writable(r) {
		return
	}
	if to, host := s.backend(r); to != nil {
		s.serveElsewhere(r, to, host)
		return
	}
	rt := s.table().route(r.info.GVR)
	if rt == nil && s.custom != nil && s.custom.Settle(r.Context(), r.info.GVR) {
		rt = s.table().route(r.info.GVR) // its definition was stored a moment ago
	}
	if rt == nil && s.servePeer(r) {
		return
	}
	if rt == nil || !rt.matchesPath(&r.info) {
		r.fail(errNoResource())
		return
	}
	if err := r.info.validate(); err != nil {
		r.fail(err)
		return
	}
	r.rt = rt
	s.countLongRunning(r)
	r.warnDeprecated()
	r.announceFencing()
	if r.info.Subresource != "" {
		s.serveSubresource(rt, r)
		return
	}
	if !rt.info.HasVerb(r.info.Verb) || !rt.applies(&r.info, r.Method == http.MethodGet || r.Method == http.MethodHead) {
		r.fail(apierrors.NewMethodNotSupported(rt.info.GVR.GroupResource(), r.info.Verb))
		return
	}
	if rt.res == nil {
		s.serveComputed(rt, r)
		return
	}
	switch r.info.Verb {
	case "get":
		s.get(rt, r)
	case "list":
		s.list(rt, r)
	case "watch":
		s.watch(rt, r)
	case "create":
		s.create(rt, r)
	case "update":
		s.update(rt, r)
	case "patch":
		s.patch(rt, r)
	case "delete":
		s.delete(rt, r)
	case "deletecollection":
		s.deleteCollection(rt, r)
	default:
		r.fail(apierrors.NewMethodNotSupported(rt.info.GVR.GroupResource(), r.info.Verb))
	}
}

// warnDeprecated warns the client of a deprecated API, and reports its use to the metrics.
func (r *request) warnDeprecated() {
	if r.rt.deprecated == "" {
		return
	}
	r.warn(r.rt.deprecated)
	r.audit.Annotate("k8s.io/deprecated", "true")
	if hook := r.server.opts.Metrics.Deprecated; hook != nil {
		hook(r.measurement())
	}
}

// errNoMethod refuses a method that has no verb, or one of a path that is not that of an object.
func errNoMethod() error {
	err := apierrors.New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

func errNoResource() error {
	err := apierrors.New(404, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	err.ErrStatus.Details = &metav1.StatusDetails{}
	return err
}

// matchesPath reports whether the path is one of the resource's. The path is what was authorized, so a path
// that is not exactly one of these is refused, and no part of a path is ignored:
//
//	RESOURCE                      all of a cluster-scoped resource, or of all namespaces if listed
//	RESOURCE/NAME                 of a cluster-scoped resource
//	namespaces/NS/RESOURCE[/NAME] of a namespaced resource
//	watch/PATH                    one of the above
//	PATH/SUBRESOURCE              of an object
//	PATH/proxy/REST               what REST names is the backend's
func (rt *route) matchesPath(i *requestInfo) bool {
	switch {
	case i.malformed, i.Verb == "proxy", i.watch && i.Subresource != "", i.Rest != "" && i.Subresource != "proxy":
		return false
	case !rt.info.Namespaced:
		return !i.namespaced
	}
	return i.namespaced || !i.named && rt.info.HasVerb("list")
}

// validate refuses names that cannot be an element of a path.
func (i *requestInfo) validate() error {
	if problems := validation.IsPathSegmentName(i.Name); len(problems) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("the name %q in the path is invalid: %s", i.Name, strings.Join(problems, ", ")))
	}
	if problems := validation.IsPathSegmentName(i.Namespace); len(problems) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace %q in the path is invalid: %s", i.Namespace, strings.Join(problems, ", ")))
	}
	return nil
}

// applies reports whether the verb can be used on what the path names: an object or a collection.
func (rt *route) applies(i *requestInfo, read bool) bool {
	switch i.Verb {
	case "watch":
		return read // legacy /watch/ paths are watches for any method
	case "create":
		return i.Name == "" && (i.Namespace != "" || !rt.info.Namespaced) || rt.info.GVR.Resource == "namespaces" && i.Name == ""
	case "update", "patch":
		return i.Name != ""
	case "deletecollection":
		return i.Namespace != "" || !rt.info.Namespaced
	}
	return true
}

// hasSub reports whether the request's subresource is known, and whether it serves the request's verb.
func (rt *route) hasSub(i *requestInfo) (known, verb bool) {
	sub, ok := rt.info.Subresource(i.Subresource)
	return ok, ok && slices.Contains(sub.Verbs, i.Verb)
}

package apiserver

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
)

// writable refuses a write of a resource that Options.Writable does not accept yet.
func (s *Server) writable(r *request) bool {
	if s.opts.Writable == nil || slices.Contains([]string{"get", "list", "watch"}, r.info.Verb) {
		return true
	}
	of := r.info.GVR.GroupResource()
	switch of {
	case schema.GroupResource{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}:
		return true
	case schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}:
		if r.info.Namespace == metav1.NamespaceSystem {
			return true
		}
	case schema.GroupResource{Resource: "namespaces"}:
		if u := authn.UserFrom(r.Context()); r.info.Verb == "create" && u != nil && u.Name == authn.APIServerUser && slices.Contains(u.Groups, authn.GroupMasters) {
			return true
		}
	}
	if err := s.opts.Writable(of); err != nil {
		r.fail(apierrors.NewServiceUnavailable(err.Error()))
		return false
	}
	return true
}

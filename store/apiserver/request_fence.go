package apiserver

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/fence"
)

// fenceContext returns the context in which the request's writes are made. A leader's token in the header is
// checked in the transaction of every write; clients that use leases learn so from a header.
func (s *Server) fenceContext(r *request) (context.Context, error) {
	text := r.Header.Get(fence.Header)
	if text == "" {
		return r.Context(), nil
	}
	token, err := fence.Parse(text)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return fence.WithToken(r.Context(), token), nil
}

// announceFencing sets the header by which clients that use leases learn that tokens are checked.
func (r *request) announceFencing() {
	if r.info.GVR.Resource == "leases" && r.info.GVR.Group == "coordination.k8s.io" {
		r.w.Header().Set(fence.Header, fence.Enforced)
	}
}

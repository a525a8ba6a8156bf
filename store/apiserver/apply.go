package apiserver

import (
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/store/registry"
)

func (s *Server) apply(_ *route, r *request, _ output, _ *patchRequest, _ registry.UpdateOptions) {
	r.fail(apierrors.NewUnsupportedMediaType("server-side apply is not served"))
}

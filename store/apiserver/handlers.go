package apiserver

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// addHandlers registers the handlers of paths that are not API objects.
func (s *Server) addHandlers() {
	s.handlers = make(map[string]http.Handler, 16+len(s.opts.Handlers))
	for _, path := range []string{"/version", "/version/"} {
		s.handlers[path] = http.HandlerFunc(s.serveVersion)
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.handlers[path] = http.HandlerFunc(s.serveHealth)
		s.handlers[path+"/"] = http.HandlerFunc(s.serveHealth)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/"} {
		s.handlers[path] = http.HandlerFunc(s.serveOpenAPI)
	}
	if s.flows != nil {
		s.addFlowDumps()
	}
	maps.Copy(s.handlers, s.opts.Handlers)
	for path := range s.handlers {
		if strings.HasSuffix(path, "/") {
			s.handlerPrefixes = append(s.handlerPrefixes, path)
		}
	}
	slices.SortFunc(s.handlerPrefixes, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
}

// serveNonResource serves requests that are not for API objects.
func (s *Server) serveNonResource(r *request) {
	path := r.info.Path
	if h := s.handlers[path]; h != nil {
		r.handler = path
		h.ServeHTTP(r.w, r.Request)
		return
	}
	if path == "/api" || path == "/apis" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
		s.serveDiscovery(r)
		return
	}
	for _, prefix := range s.handlerPrefixes {
		if strings.HasPrefix(path, prefix) {
			r.handler = prefix
			s.handlers[prefix].ServeHTTP(r.w, r.Request)
			return
		}
	}
	if path == "/" {
		s.serveIndex(r)
		return
	}
	r.fail(errNoResource())
}

// index is the list of paths at the root.
type index struct {
	Paths []string `json:"paths"`
}

func (s *Server) serveIndex(r *request) {
	var i index
	i.Paths = append(i.Paths, "/api", "/api/v1", "/apis", "/apis/")
	for _, g := range s.discovery().groups {
		if g.name == "" {
			continue
		}
		i.Paths = append(i.Paths, "/apis/"+g.name)
		for _, v := range g.versions {
			i.Paths = append(i.Paths, "/apis/"+g.name+"/"+v.version)
		}
	}
	for path := range s.handlers {
		if !strings.HasSuffix(path, "/") {
			i.Paths = append(i.Paths, path)
		}
	}
	slices.Sort(i.Paths)
	b, err := codec.Marshal(&i)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendBytes(http.StatusOK, mediaJSON, b)
}

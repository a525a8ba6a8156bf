package apiserver

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/authn"
)

// Aggregation knows the API versions that other servers serve. store/aggregation finds them in APIService
// objects. All methods may be called concurrently.
type Aggregation interface {
	// Run keeps Aggregated up to date until ctx ends. Synced is closed when it is for the first time;
	// requests for resources wait for it. An error ends the server's Run, which returns it.
	Run(ctx context.Context) error
	Synced() <-chan struct{}
	// Backend returns the transport to the server of a version, and the name of its host; nil if this server
	// serves the version. Requests have the caller in their context, see authn.UserFrom. An
	// *apierrors.StatusError of the transport is sent to the client.
	Backend(gv schema.GroupVersion) (to http.RoundTripper, host string)
	// Aggregated returns what other servers serve; the result must not be changed, and is another one after
	// each change.
	Aggregated() *Aggregated
}

// Aggregated is what other servers serve, as discovery and OpenAPI show it.
type Aggregated struct{ Versions []AggregatedVersion }

// AggregatedVersion is an API version of another server.
type AggregatedVersion struct {
	GroupVersion schema.GroupVersion
	// GroupPriority and VersionPriority order it in discovery: larger ones are first.
	GroupPriority, VersionPriority int32
	// Discovery are its resources as last seen; it is stale while the server cannot be reached.
	Discovery apidiscoveryv2.APIVersionDiscovery
	// OpenAPIV2 is the server's v2 document in JSON, of which the version's paths are used; nil if it has
	// none.
	OpenAPIV2 []byte
	// OpenAPIV3 is the query of the address of the version's v3 document, such as hash=0A; HasOpenAPIV3 says
	// whether there is one.
	OpenAPIV3    string
	HasOpenAPIV3 bool
}

// backend returns the transport to the server of the version that the path names; nil if this server serves
// it.
func (s *Server) backend(r *request) (to http.RoundTripper, host string) {
	if s.opts.Aggregation == nil {
		return nil, ""
	}
	gv := r.info.GVR.GroupVersion()
	if !r.info.Resource {
		parts := splitPath(r.info.Path)
		if len(parts) != 3 || parts[0] != "apis" {
			return nil, ""
		}
		gv = schema.GroupVersion{Group: parts[1], Version: parts[2]}
	}
	if gv.Group == "" {
		return nil, ""
	}
	return s.opts.Aggregation.Backend(gv)
}

// discoveryTimeout bounds requests for what another server serves in a version.
const discoveryTimeout = 5 * time.Second

// serveElsewhere passes a request on to the server that serves its resource.
func (s *Server) serveElsewhere(r *request, to http.RoundTripper, host string) {
	s.countLongRunning(r)
	if !r.info.Resource { // what a server serves is a small document
		ctx, cancel := context.WithTimeout(r.Context(), discoveryTimeout)
		defer cancel()
		r.Request = r.WithContext(ctx)
	}
	if r.info.Verb == "watch" { // as those of this server
		ctx, cancel := s.lifecycle.within(r.Context(), ending)
		defer cancel()
		r.Request = r.WithContext(ctx)
	}
	s.forward(r, to, backendURL(r.URL, host))
}

// backendURL is the address of a request at another server. The path is the one that was authorized: a slash
// that was encoded in it is one. The query is written as a Go client writes it.
func backendURL(u *url.URL, host string) *url.URL {
	return &url.URL{Scheme: "https", Host: host, Path: u.Path, RawQuery: u.Query().Encode()}
}

// mergedDiscovery is the discovery of this server and others.
type mergedDiscovery struct {
	routes     *routes
	aggregated *Aggregated
	*discovery
}

// discovery returns what this server and the aggregated ones serve.
func (s *Server) discovery() *discovery {
	rt := s.table()
	if s.opts.Aggregation == nil {
		return rt.discovery()
	}
	a := s.opts.Aggregation.Aggregated()
	if len(a.Versions) == 0 {
		return rt.discovery()
	}
	if m := s.merged.Load(); m != nil && m.routes == rt && m.aggregated == a {
		return m.discovery
	}
	m := &mergedDiscovery{rt, a, newDiscovery(rt, a)}
	s.merged.Store(m)
	return m.discovery
}

// mergeOpenAPI brings the documents up to date with what other servers serve, and returns that.
func (s *Server) mergeOpenAPI() *Aggregated {
	if s.opts.Aggregation == nil {
		return &Aggregated{}
	}
	a := s.opts.Aggregation.Aggregated()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.documented == a {
		return a
	}
	before := map[schema.GroupVersion]bool{}
	if s.documented != nil {
		for _, v := range s.documented.Versions {
			before[v.GroupVersion] = true
		}
	}
	for i := range a.Versions {
		v := &a.Versions[i]
		delete(before, v.GroupVersion)
		if err := s.documents.SetForeign(v.GroupVersion, v.OpenAPIV2, v.v3Address()); err != nil {
			s.logger.Warn("read OpenAPI document failed", "version", v.GroupVersion.String(), "err", err)
		}
	}
	for gv := range before {
		s.documents.RemoveForeign(gv)
	}
	s.documented = a
	return a
}

// v3Address is the address of the version's v3 document; empty if there is none.
func (v *AggregatedVersion) v3Address() string {
	if !v.HasOpenAPIV3 {
		return ""
	}
	address := "/openapi/v3/apis/" + v.GroupVersion.String()
	if v.OpenAPIV3 != "" {
		address += "?" + v.OpenAPIV3
	}
	return address
}

// serveForeignV3 passes a request for the v3 document of a version on to its server, and reports whether
// there is one.
func (s *Server) serveForeignV3(w http.ResponseWriter, hr *http.Request, name string) bool {
	group, version, ok := strings.Cut(strings.TrimPrefix(name, "apis/"), "/")
	if !ok || !strings.HasPrefix(name, "apis/") || s.opts.Aggregation == nil {
		return false
	}
	to, host := s.opts.Aggregation.Backend(schema.GroupVersion{Group: group, Version: version})
	if to == nil {
		return false
	}
	// Whether the caller may read it is decided.
	ctx := authn.WithUser(hr.Context(), &authn.User{Name: "system:aggregator"})
	r := &request{Request: hr.WithContext(ctx), server: s, w: w, query: noQuery}
	s.forward(r, to, backendURL(hr.URL, host))
	return true
}

package apiserver

import (
	"cmp"
	"crypto/sha512"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// addHandlers registers what is not an API object.
func (s *Server) addHandlers() {
	s.plain = map[string]http.Handler{
		"/version":  http.HandlerFunc(s.serveVersion),
		"/version/": http.HandlerFunc(s.serveVersion),
	}
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		s.plain[path] = http.HandlerFunc(s.serveHealth)
		s.plain[path+"/"] = http.HandlerFunc(s.serveHealth)
	}
	for _, path := range []string{"/openapi/v2", "/openapi/v3", "/openapi/v3/"} {
		s.plain[path] = http.HandlerFunc(s.serveOpenAPI)
	}
	maps.Copy(s.plain, s.options.Handlers)
	for path := range s.plain {
		if strings.HasSuffix(path, "/") {
			s.prefix = append(s.prefix, path)
		}
	}
	slices.SortFunc(s.prefix, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
}

// servePlain answers requests that are not for API objects.
func (s *Server) servePlain(r *request) {
	path := r.info.Path
	if h := s.plain[path]; h != nil {
		r.handler = path
		h.ServeHTTP(r.w, r.Request)
		return
	}
	if path == "/api" || path == "/apis" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
		s.serveDiscovery(r)
		return
	}
	for _, prefix := range s.prefix {
		if strings.HasPrefix(path, prefix) {
			r.handler = prefix
			s.plain[prefix].ServeHTTP(r.w, r.Request)
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
	for _, g := range s.table().discovery.groups {
		if g.name == "" {
			continue
		}
		i.Paths = append(i.Paths, "/apis/"+g.name)
		for _, v := range g.versions {
			i.Paths = append(i.Paths, "/apis/"+g.name+"/"+v.version)
		}
	}
	for path := range s.plain {
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

// serveDiscovery answers /api, /apis and what is below them down to a version.
func (s *Server) serveDiscovery(r *request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		r.fail(errNoResource())
		return
	}
	d := &s.table().discovery
	parts := splitPath(r.info.Path)
	if len(parts) == 1 && wantsAggregated(r.Header.Get("Accept")) {
		s.serveAggregated(r, d, parts[0] == "api")
		return
	}
	out, err := r.accepts(offers{proto: true})
	if err != nil {
		r.fail(err)
		return
	}
	kind, body := s.discoveryDocument(r, d, parts)
	if body == nil {
		r.fail(errNoResource())
		return
	}
	r.send(http.StatusOK, out, schema.GroupVersionKind{Version: "v1", Kind: kind}, body)
}

func (s *Server) discoveryDocument(r *request, d *discovery, parts []string) (string, any) {
	switch {
	case len(parts) == 1 && parts[0] == "api":
		versions := &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: s.address(r)}}}
		if g := d.group(""); g != nil {
			for _, v := range g.versions {
				versions.Versions = append(versions.Versions, v.version)
			}
		}
		return "APIVersions", versions
	case len(parts) == 1:
		return "APIGroupList", d.groupList()
	case parts[0] == "api" && len(parts) == 2:
		if list := d.resourceList(schema.GroupVersion{Version: parts[1]}); list != nil {
			return "APIResourceList", list
		}
	case parts[0] == "apis" && len(parts) == 2:
		if g := d.group(parts[1]); g != nil && g.name != "" {
			group := g.apiGroup()
			group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			return "APIGroup", &group
		}
	case parts[0] == "apis" && len(parts) == 3:
		if list := d.resourceList(schema.GroupVersion{Group: parts[1], Version: parts[2]}); list != nil {
			return "APIResourceList", list
		}
	}
	return "", nil
}

// address is where clients reach the server.
func (s *Server) address(r *request) string {
	if s.options.AdvertiseAddress != "" {
		return joinHostPort(s.options.AdvertiseAddress, s.options.AdvertisePort)
	}
	return r.Host
}

// aggregated are the documents of both roots, encoded once.
type aggregated struct {
	once [2]sync.Once
	json [2][]byte
	etag [2]string
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// wantsAggregated reports whether the client prefers the aggregated form.
func wantsAggregated(accept string) bool {
	if !strings.Contains(accept, "APIGroupDiscoveryList") {
		return false
	}
	for _, c := range acceptClauses(accept) {
		if c.params["as"] == "" {
			return false
		}
		if c.typ == typeJSON && c.params["g"] == "apidiscovery.k8s.io" && c.params["v"] == "v2" && c.params["as"] == "APIGroupDiscoveryList" {
			return true
		}
	}
	return false
}

func (s *Server) serveAggregated(r *request, d *discovery, core bool) {
	i := 0
	if core {
		i = 1
	}
	d.docs.once[i].Do(func() {
		b, err := codec.Marshal(d.aggregatedList(core))
		if err != nil {
			s.logger.Error("discovery could not be encoded", "err", err)
			return
		}
		sum := sha512.Sum512(b)
		d.docs.json[i] = append(b, '\n')
		d.docs.etag[i] = `"` + strings.ToUpper(hex.EncodeToString(sum[:])) + `"`
	})
	h := r.w.Header()
	h.Set("Cache-Control", "public")
	h.Set("Etag", d.docs.etag[i])
	h.Set("Vary", "Accept")
	if match := r.Header.Get("If-None-Match"); match != "" && match == d.docs.etag[i] {
		r.w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", aggregatedType)
	w, end := r.writer(http.StatusOK, len(d.docs.json[i]))
	_, _ = w.Write(d.docs.json[i])
	end()
}

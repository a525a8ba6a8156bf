package apiserver

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/apidiscoveryv2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// serveDiscovery serves /api, /apis and what is below them down to a version.
func (s *Server) serveDiscovery(r *request) {
	d := s.discovery()
	parts := splitPath(r.info.Path)
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	if version, profile := aggregatedVersion(r.Header.Get("Accept")); len(parts) == 1 && version != "" && read {
		s.serveAggregated(r, d, parts[0] == "api", version, profile)
		return
	}
	kind, body := s.discoveryDocument(r, d, parts)
	if body == nil {
		r.fail(errNoResource())
		return
	}
	if !read {
		r.fail(errNoMethod())
		return
	}
	out, err := r.accepts(offers{proto: true})
	if err != nil {
		r.fail(err)
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

// address returns the address at which clients reach the server.
func (s *Server) address(r *request) string {
	if s.opts.AdvertiseAddress != "" {
		return joinHostPort(s.opts.AdvertiseAddress, s.opts.AdvertisePort)
	}
	return r.Host
}

// aggregatedVersion is the version of the aggregated form the client prefers, v2 or v2beta1, which differ in
// name only; empty if it prefers the older form. The profile nopeer leaves out what peers serve.
func aggregatedVersion(accept string) (version, profile string) {
	if !strings.Contains(accept, "APIGroupDiscoveryList") {
		return "", ""
	}
	for _, c := range acceptClauses(accept) {
		if c.params["as"] == "" {
			return "", ""
		}
		v := c.params["v"]
		if c.typ == typeJSON && c.params["g"] == "apidiscovery.k8s.io" && (v == "v2" || v == "v2beta1") && c.params["as"] == "APIGroupDiscoveryList" {
			return v, c.params["profile"]
		}
	}
	return "", ""
}

// noPeers is the profile of a discovery document of this server alone.
const noPeers = "nopeer"

func (s *Server) serveAggregated(r *request, d *discovery, core bool, version, profile string) {
	doc := &d.docs[0]
	if core {
		doc = &d.docs[1]
	}
	list := func() *apidiscoveryv2.APIGroupDiscoveryList { return d.aggregatedList(core) }
	if hook := s.opts.Metrics.DiscoveryAlone; hook != nil && version == "v2" && profile == noPeers {
		hook()
	}
	if !core && version == "v2" && profile != noPeers {
		if all := s.mergedDocument(d); all != nil {
			doc, list = &all.aggregated, func() *apidiscoveryv2.APIGroupDiscoveryList { return all.peers.merge(d.aggregatedList(false)) }
		}
	}
	body, etag, err := doc.encoded(func() *apidiscoveryv2.APIGroupDiscoveryList {
		if hook := s.opts.Metrics.Aggregated; hook != nil {
			hook()
		}
		return list()
	})
	if err != nil {
		r.fail(apierrors.NewInternalError(err))
		return
	}
	if version != "v2" {
		body = bytes.Replace(body, []byte("apidiscovery.k8s.io/v2"), []byte("apidiscovery.k8s.io/"+version), 1)
	}
	h := r.w.Header()
	h.Set("Cache-Control", "public")
	h.Set("Etag", etag)
	h.Add("Vary", "Accept")
	if match := r.Header.Get("If-None-Match"); match != "" && match == etag {
		r.w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v="+version+";as=APIGroupDiscoveryList")
	w, end := r.writer(http.StatusOK, len(body))
	_, _ = w.Write(body)
	end()
}

// GroupVersions returns the versions that this server serves itself, in the order of discovery.
func (s *Server) GroupVersions() []schema.GroupVersion {
	var out []schema.GroupVersion
	for _, g := range s.table().discovery().groups {
		for _, v := range g.versions {
			out = append(out, schema.GroupVersion{Group: g.name, Version: v.version})
		}
	}
	return out
}

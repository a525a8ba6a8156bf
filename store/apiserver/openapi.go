package apiserver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/openapi"
)

// openAPIProto is the media type of documents in protobuf, with the version in the place of the verb.
// Requests may write an at sign for the dot before v1.0, which is no valid media type.
const openAPIProto = "application/com.github.proto-openapi.spec.v%d.v1.0+protobuf"

// serveOpenAPI serves /openapi/v2 and /openapi/v3. The documents are built on first use. The list of
// v3 documents is JSON only, as upstream.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	s.mergeOpenAPI()
	h := w.Header()
	h.Set("Vary", "Accept")
	path := strings.TrimSuffix(r.URL.Path, "/")
	version := 3
	if path == "/openapi/v2" {
		version = 2
	}
	typ := ""
	if path != "/openapi/v3" {
		typ = fmt.Sprintf(openAPIProto, version)
	}
	name, one := strings.CutPrefix(path, "/openapi/v3/")
	if one && s.serveForeignV3(w, r, name) {
		return
	}
	if one && !s.documents.HasV3(name) {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	proto, ok := acceptsOpenAPI(r.Header.Get("Accept"), typ)
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if !proto {
		typ = typeJSON
	}
	h.Set("Content-Type", typ)
	var doc openapi.Document
	var immutable string // the hash under which the list has the document, whatever its form
	switch {
	case path == "/openapi/v3":
		doc = s.documents.V3Index()
	case version == 2 && proto:
		doc = s.documents.V2Proto()
	case version == 2:
		doc = s.documents.V2JSON()
	default:
		if doc, ok = s.documents.V3(name); ok {
			immutable = doc.Hash
		}
		if ok && proto {
			doc, ok = s.documents.V3Proto(name)
		}
	}
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	etag := `"` + doc.Hash + `"`
	h.Set("Etag", etag)
	if hash := r.URL.Query().Get("hash"); hash != "" && hash == immutable {
		h.Set("Cache-Control", "public, immutable")
		h.Set("Expires", "Thu, 31 Dec 2037 23:55:55 GMT")
	}
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	req := &request{Request: r, server: s, w: w}
	out, end := req.writer(http.StatusOK, len(doc.Body))
	_, _ = out.Write(doc.Body)
	end()
}

// acceptsOpenAPI picks the first media range that a document can be sent in: JSON, or protobuf, whose type is
// empty if there is no such form.
func acceptsOpenAPI(accept, protobuf string) (proto, ok bool) {
	if accept == "" {
		return false, true
	}
	for _, c := range acceptClauses(strings.ReplaceAll(accept, "@v1.0+", ".v1.0+")) {
		switch c.typ {
		case typeJSON, "application/*", "*/*", "*":
			return false, true
		case protobuf:
			return true, true
		}
	}
	return false, false
}

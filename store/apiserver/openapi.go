package apiserver

import (
	"net/http"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/openapi"
)

// openAPIProto is sent back; it is asked for with an at sign, too, which is no valid media type.
const openAPIProto = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// serveOpenAPI answers /openapi/v2 and /openapi/v3. The documents are made when first asked for.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Vary", "Accept")
	proto, ok := acceptsOpenAPI(r.Header.Get("Accept"), strings.HasPrefix(r.URL.Path, "/openapi/v2"))
	if !ok {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	var doc openapi.Document
	switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
	case "/openapi/v2":
		if proto {
			h.Set("Content-Type", openAPIProto)
			doc = s.documents.V2Proto()
		} else {
			h.Set("Content-Type", typeJSON)
			doc = s.documents.V2JSON()
		}
	case "/openapi/v3":
		h.Set("Content-Type", typeJSON)
		doc = s.documents.V3Index()
	default:
		h.Set("Content-Type", typeJSON)
		doc, ok = s.documents.V3(strings.TrimPrefix(path, "/openapi/v3/"))
	}
	if !ok {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	etag := `"` + doc.Hash + `"`
	h.Set("Etag", etag)
	if hash := r.URL.Query().Get("hash"); hash != "" && hash == doc.Hash {
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

// acceptsOpenAPI picks the first media range that a document can be sent in: JSON, or protobuf if there is that form.
func acceptsOpenAPI(accept string, hasProto bool) (proto, ok bool) {
	if accept == "" {
		return false, true
	}
	if hasProto && strings.Contains(accept, "proto-openapi.spec.v2@v1.0+protobuf") {
		return true, true // no media type that could be parsed
	}
	for _, c := range acceptClauses(accept) {
		switch c.typ {
		case typeJSON, "application/*", "*/*", "*":
			return false, true
		case openAPIProto:
			if hasProto {
				return true, true
			}
		}
	}
	return false, false
}

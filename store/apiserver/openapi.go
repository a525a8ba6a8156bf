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
	var doc openapi.Document
	ok := true
	switch path := strings.TrimSuffix(r.URL.Path, "/"); path {
	case "/openapi/v2":
		h.Add("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "proto-openapi.spec.v2") {
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

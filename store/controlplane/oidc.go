package controlplane

import (
	"fmt"
	"maps"
	"net/http"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// Where others learn how to verify the server's service account tokens. Who may read it is decided by the bindings
// to the role system:service-account-issuer-discovery.
const (
	discoveryPath = "/.well-known/openid-configuration"
	jwksPath      = "/openid/v1/jwks"
)

// discovery serves the issuer's OpenID documents beside the handlers the embedder gave. Keys that cannot be encoded are an error of New.
func discovery(t *authn.Tokens, jwksURI string, so *apiserver.Options) error {
	if _, err := t.JWKS(); err != nil {
		return fmt.Errorf("controlplane: key set: %w", err)
	}
	so.Handlers = maps.Clone(so.Handlers)
	if so.Handlers == nil {
		so.Handlers = map[string]http.Handler{}
	}
	so.Handlers[jwksPath] = document("application/jwk-set+json", func(*http.Request) ([]byte, error) { return t.JWKS() })
	so.Handlers[discoveryPath] = document("application/json", func(r *http.Request) ([]byte, error) {
		uri := jwksURI
		if uri == "" {
			uri = "https://" + r.Host + jwksPath
		}
		return t.Discovery(uri)
	})
	return nil
}

func document(contentType string, body func(r *http.Request) ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		b, err := body(r)
		if err != nil {
			http.Error(w, "internal error", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(b) // a client that went away needs no answer
	})
}

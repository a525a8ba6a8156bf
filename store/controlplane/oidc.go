package controlplane

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
)

// Where others learn how to verify the server's service account tokens. Who may read it is decided by the
// bindings to the role system:service-account-issuer-discovery.
const (
	discoveryPath = "/.well-known/openid-configuration"
	jwksPath      = "/openid/v1/jwks"
)

// discovery serves the issuer's OpenID documents beside the handlers the embedder gave. Keys that cannot be
// encoded are an error of New.
func discovery(t *authn.Tokens, jwksURI string, so *apiserver.Options) error {
	if _, err := t.JWKS(); err != nil {
		return fmt.Errorf("controlplane: key set: %w", err)
	}
	so.Handlers = maps.Clone(so.Handlers)
	if so.Handlers == nil {
		so.Handlers = map[string]http.Handler{}
	}
	so.Handlers[jwksPath] = document("application/jwk-set+json", true, func(*http.Request) ([]byte, error) { return t.JWKS() })
	if jwksURI == "" && so.AdvertiseAddress != "" {
		jwksURI = "https://" + net.JoinHostPort(so.AdvertiseAddress, strconv.Itoa(cmp.Or(so.AdvertisePort, 6443))) + jwksPath
	}
	// Where the server does not know its address it repeats what the client calls it, which no cache may give
	// to others.
	so.Handlers[discoveryPath] = document("application/json", jwksURI != "", func(r *http.Request) ([]byte, error) {
		return t.Discovery(cmp.Or(jwksURI, "https://"+r.Host+jwksPath))
	})
	return nil
}

// document serves a body that is the same for all clients if shared.
func document(contentType string, shared bool, body func(r *http.Request) ([]byte, error)) http.Handler {
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
		if shared {
			w.Header().Set("Cache-Control", "public, max-age=3600")
		}
		_, _ = w.Write(b) // a client that went away needs no answer
	})
}

package controlplane

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/keelson-dev/keelson/store/authn"
)

// Paths of the documents for verifiers of service account tokens. The bindings to the role
// system:service-account-issuer-discovery grant access to them.
const (
	discoveryPath = "/.well-known/openid-configuration"
	jwksPath      = "/openid/v1/jwks"
)

// discoveryHandlers returns the handlers of the issuer's OpenID documents. Keys that cannot be encoded are an
// error of New.
func discoveryHandlers(t *authn.Tokens, o *Options) (map[string]http.Handler, error) {
	if _, err := t.JWKS(); err != nil {
		return nil, fmt.Errorf("controlplane: key set: %w", err)
	}
	keys := documentHandler("application/jwk-set+json", true, func(*http.Request) ([]byte, error) { return t.JWKS() })
	jwksURI := o.JWKSURI
	if so := &o.Server; jwksURI == "" && so.AdvertiseAddress != "" {
		jwksURI = "https://" + net.JoinHostPort(so.AdvertiseAddress, strconv.Itoa(cmp.Or(so.AdvertisePort, 6443))) + jwksPath
	}
	// Without an advertised address the document holds the host of the request, and must not be cached for
	// other clients.
	issuer := documentHandler("application/json", jwksURI != "", func(r *http.Request) ([]byte, error) {
		return t.Discovery(cmp.Or(jwksURI, "https://"+r.Host+jwksPath))
	})
	return map[string]http.Handler{jwksPath: keys, discoveryPath: issuer}, nil
}

// documentHandler serves a body that is the same for all clients if shared.
func documentHandler(contentType string, shared bool, body func(r *http.Request) ([]byte, error)) http.Handler {
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
		_, _ = w.Write(b) // the client may have disconnected
	})
}

package authn

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// RequestHeaderOptions name the headers by which a trusted proxy, such as an aggregating API server, reports
// the user it has authenticated.
type RequestHeaderOptions struct {
	// ClientCAs returns the authorities of the proxies' client certificates, and is called for every request.
	// While it returns nil no request is accepted. Required.
	ClientCAs func() *x509.CertPool
	// AllowedNames are the common names of certificates that may do this; empty means that all of ClientCAs
	// may.
	AllowedNames []string
	// UsernameHeaders and UIDHeaders are tried in order; the first with a value counts. The values of all
	// GroupHeaders are groups. The rest of a header that begins with one of ExtraPrefixes is a key of Extra,
	// in lower case and percent-decoded.
	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraPrefixes []string
}

// RequestHeaders identifies callers by headers of a proxy that presents a certificate of ClientCAs: no other
// client can set them. A request without the user's header is left to other authenticators. The headers are
// removed from a request that they identify.
func RequestHeaders(o RequestHeaderOptions) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, false, nil
		}
		name, _ := firstHeader(r.Header, o.UsernameHeaders)
		if name == "" {
			return nil, false, nil
		}
		if err := o.checkProxy(r.TLS.PeerCertificates); err != nil {
			return nil, false, fmt.Errorf("authn: request header: %w", err)
		}
		u := &User{Name: name}
		u.UID, _ = firstHeader(r.Header, o.UIDHeaders)
		for _, h := range o.GroupHeaders {
			for _, g := range r.Header.Values(h) {
				if g = strings.TrimSpace(g); g != "" {
					u.Groups = append(u.Groups, g)
				}
			}
		}
		u.Extra = extraHeaders(r.Header, o.ExtraPrefixes)
		o.remove(r.Header)
		return &Response{User: u}, true, nil
	})
}

// checkProxy reports why a client may not set the headers.
func (o *RequestHeaderOptions) checkProxy(chain []*x509.Certificate) error {
	opts := x509.VerifyOptions{Roots: o.ClientCAs(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if opts.Roots == nil { // crypto/x509 would use the system's authorities
		return fmt.Errorf("no authorities of proxies are known")
	}
	for _, c := range chain[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(opts); err != nil {
		return err
	}
	if cn := chain[0].Subject.CommonName; len(o.AllowedNames) > 0 && !slices.Contains(o.AllowedNames, cn) {
		return fmt.Errorf("subject with cn=%s is not in the allowed list", cn)
	}
	return nil
}

func firstHeader(h http.Header, names []string) (string, bool) {
	for _, name := range names {
		if v := strings.TrimSpace(h.Get(name)); v != "" {
			return v, true
		}
	}
	return "", false
}

func extraHeaders(h http.Header, prefixes []string) map[string][]string {
	var extra map[string][]string
	for name, values := range h {
		for _, p := range prefixes {
			if len(name) < len(p) || !strings.EqualFold(name[:len(p)], p) {
				continue
			}
			key := strings.ToLower(name[len(p):])
			if k, err := url.PathUnescape(key); err == nil {
				key = k
			}
			if extra == nil {
				extra = map[string][]string{}
			}
			extra[key] = append(extra[key], values...)
		}
	}
	return extra
}

func (o *RequestHeaderOptions) remove(h http.Header) {
	for _, name := range slices.Concat(o.UsernameHeaders, o.UIDHeaders, o.GroupHeaders) {
		h.Del(name)
	}
	for name := range h {
		if slices.ContainsFunc(o.ExtraPrefixes, func(p string) bool { return len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) }) {
			delete(h, name)
		}
	}
}

package authn

import (
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/http"
	"slices"
)

// uidOID is the subject attribute whose value becomes User.UID.
var uidOID = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57683, 2}

// ClientCertificates identifies callers by the TLS client certificate: the common name is the user, the
// organizations are the groups. roots is asked for every request, so that a reloaded CA takes effect at once.
func ClientCertificates(roots func() *x509.CertPool) Authenticator {
	return Func(func(r *http.Request) (*Response, bool, error) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, false, nil
		}
		leaf := r.TLS.PeerCertificates[0]
		opts := x509.VerifyOptions{
			Roots: roots(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
		for _, c := range r.TLS.PeerCertificates[1:] {
			opts.Intermediates.AddCert(c)
		}
		if _, err := leaf.Verify(opts); err != nil {
			return nil, false, fmt.Errorf("authn: client certificate of %q: %w", leaf.Subject.CommonName, err)
		}
		if leaf.Subject.CommonName == "" {
			return nil, false, nil
		}
		u := &User{Name: leaf.Subject.CommonName, Groups: slices.Clone(leaf.Subject.Organization)}
		for _, name := range leaf.Subject.Names {
			if !name.Type.Equal(uidOID) {
				continue
			}
			uid, ok := name.Value.(string)
			if !ok || u.UID != "" {
				return nil, false, fmt.Errorf("authn: client certificate of %q has no single uid", u.Name)
			}
			u.UID = uid
		}
		return &Response{User: u}, true, nil
	})
}

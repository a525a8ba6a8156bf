package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"
	"strings"
)

// Deprecation is a property for which a server's certificate is refused, or would be by other clients.
type Deprecation string

// The deprecations that kube-apiserver counts.
const (
	MissingSAN   Deprecation = "missing-san"   // it names its host as a common name only
	InsecureSHA1 Deprecation = "insecure-sha1" // it is signed over a SHA-1 hash
)

// Note returns the annotation by which the audit record of a request shows the certificate of a host.
func (d Deprecation) Note(host string) (key, value string) {
	key = string(d) + ".invalid-cert.kubernetes.io/" + host
	if d == MissingSAN {
		return key, "relies on a legacy Common Name field instead of the SAN extension for subject validation"
	}
	return key, "uses an insecure SHA-1 signature"
}

// subjectAltName is the OID of the extension with the names of a certificate.
var subjectAltName = asn1.ObjectIdentifier{2, 5, 29, 17}

// Deprecations returns those that an attempt to reach a server has shown: state is that of the connection,
// nil without one, err the error of the attempt.
func Deprecations(state *tls.ConnectionState, err error) (out []Deprecation) {
	if err != nil {
		if _, ok := errors.AsType[x509.HostnameError](err); ok && strings.Contains(err.Error(), "relies on legacy Common Name field") {
			out = append(out, MissingSAN)
		}
		if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
			if _, why, ok := strings.Cut(err.Error(), "insecure algorithm"); ok && strings.Contains(why, "SHA1") {
				out = append(out, InsecureSHA1)
			}
		}
		return out
	}
	if state == nil || len(state.PeerCertificates) == 0 {
		return nil
	}
	named := func(e pkix.Extension) bool { return e.Id.Equal(subjectAltName) }
	if !slices.ContainsFunc(state.PeerCertificates[0].Extensions, named) {
		out = append(out, MissingSAN)
	}
	if slices.ContainsFunc(state.PeerCertificates, signedOverSHA1) {
		out = append(out, InsecureSHA1)
	}
	return out
}

// signedOverSHA1 reports whether another certificate has signed c over a SHA-1 hash. How an authority has
// signed its own one does not matter.
func signedOverSHA1(c *x509.Certificate) bool {
	weak := c.SignatureAlgorithm == x509.SHA1WithRSA || c.SignatureAlgorithm == x509.ECDSAWithSHA1
	return weak && !bytes.Equal(c.RawIssuer, c.RawSubject)
}

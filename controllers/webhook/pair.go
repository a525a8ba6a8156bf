package webhook

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"time"
)

// issuer is the common name of the certificates, by which they are recognized in caBundles.
const issuer = "keelson-webhook"

// pair is a self-signed serving certificate and its key. It is its own authority: a server that trusts it
// trusts nothing else, and there is no key that could sign another certificate.
type pair struct {
	cert, key []byte // PEM
	leaf      *x509.Certificate
	tls       *tls.Certificate
}

func newPair(hosts []string, validity time.Duration) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: issuer}, NotBefore: now.Add(-5 * time.Minute), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return parsePair(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func parsePair(cert, key []byte) (*pair, error) {
	if len(cert) == 0 {
		return nil, errors.New("there is none")
	}
	both, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair{cert: cert, key: key, leaf: both.Leaf, tls: &both}, nil
}

// due reports whether two thirds of the validity have passed.
func (p *pair) due() bool {
	return time.Now().After(p.leaf.NotAfter.Add(-p.leaf.NotAfter.Sub(p.leaf.NotBefore) / 3))
}

// covers reports whether the certificate is valid for all hosts.
func (p *pair) covers(hosts []string) bool {
	for _, host := range hosts {
		if p.leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

// merged returns a caBundle with the certificates of pairs, which may be nil, and those that it has and that
// this package made, unless they have expired. Everything else in it is dropped, such as what generated
// manifests put there. A bundle never loses a certificate that may still be served, however old the state is
// that a replica has read.
func merged(bundle []byte, pairs []*pair) []byte {
	var out []byte
	seen := map[string]bool{}
	add := func(der []byte) {
		if !seen[string(der)] {
			seen[string(der)] = true
			out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		}
	}
	for rest := bytes.TrimSpace(bundle); len(rest) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && c.Subject.CommonName == issuer && time.Now().Before(c.NotAfter) {
			add(block.Bytes)
		}
	}
	for _, p := range pairs {
		if p != nil {
			add(p.leaf.Raw)
		}
	}
	return out
}

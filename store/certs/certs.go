// Package certs makes the certificates a cluster needs: an authority, serving certificates and client
// certificates, with ECDSA P-256 keys, which take well under a millisecond to generate. Everything is plain
// data; [WriteFile] writes files with mode 0600.
package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
)

// Periods of validity.
const (
	CAValidity   = 10 * 365 * 24 * time.Hour
	LeafValidity = 365 * 24 * time.Hour
	// backdate moves the start of validity into the past, for clocks that are behind.
	backdate = 5 * time.Minute
)

// Pair is a certificate with its key.
type Pair struct {
	Cert *x509.Certificate
	// Key is an ECDSA P-256 key if this package generated it; ParsePair accepts all types that crypto/tls
	// supports.
	Key crypto.Signer
}

// Authority signs certificates.
type Authority struct {
	Pair
	// Validity of the certificates that it signs; zero means LeafValidity.
	Validity time.Duration
}

// NewAuthority returns a new self-signed authority, valid for CAValidity. The certificates that it signs
// cannot be authorities.
func NewAuthority(name string) (*Authority, error) { return NewAuthorityFor(name, CAValidity) }

// NewAuthorityFor is NewAuthority with another validity.
func NewAuthorityFor(name string, validity time.Duration) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert, err := create(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdate), NotAfter: now.Add(validity),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}, nil, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair: Pair{cert, key}}, nil
}

// Serving returns a new serving certificate for host names and IP addresses.
func (a *Authority) Serving(name string, hosts ...string) (*Pair, error) {
	t := leaf(name, nil, x509.ExtKeyUsageServerAuth)
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else if h != "" {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return a.sign(t)
}

// Client returns a new client certificate: the user name is its common name, the groups its organizations.
func (a *Authority) Client(name string, groups ...string) (*Pair, error) {
	return a.sign(leaf(name, groups, x509.ExtKeyUsageClientAuth))
}

func leaf(name string, groups []string, usage x509.ExtKeyUsage) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: groups}, NotBefore: now.Add(-backdate), NotAfter: now.Add(LeafValidity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{usage}, BasicConstraintsValid: true,
	}
}

func (a *Authority) sign(t *x509.Certificate) (*Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if a.Validity > 0 {
		t.NotAfter = time.Now().Add(a.Validity)
	}
	cert, err := create(t, a.Cert, key, a.Key)
	if err != nil {
		return nil, err
	}
	return &Pair{cert, key}, nil
}

func create(t, parent *x509.Certificate, key, signer crypto.Signer) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	t.SerialNumber = serial.Add(serial, big.NewInt(1))
	if parent == nil {
		parent = t
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	return x509.ParseCertificate(der)
}

// Pool returns a pool with this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// CertPEM returns the certificate in PEM.
func (p *Pair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Cert.Raw})
}

// KeyPEM returns the private key in PEM: SEC 1 if it is an ECDSA key, PKCS#8 otherwise.
func (p *Pair) KeyPEM() []byte {
	typ, encode := "PRIVATE KEY", func() ([]byte, error) { return x509.MarshalPKCS8PrivateKey(p.Key) }
	if key, ok := p.Key.(*ecdsa.PrivateKey); ok {
		typ, encode = "EC PRIVATE KEY", func() ([]byte, error) { return x509.MarshalECPrivateKey(key) }
	}
	der, err := encode()
	if err != nil {
		panic(err) // a key that was generated or parsed can always be encoded
	}
	return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
}

// TLS returns the pair for crypto/tls.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key, Leaf: p.Cert}
}

// ParsePair reads a certificate and its key from PEM. The key is ECDSA, RSA or Ed25519 in PKCS#8, SEC 1 or
// PKCS#1, and must be that of the certificate. Of several certificates the first is used; blocks of
// other types, such as EC PARAMETERS, are skipped. Errors never contain a key.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	// Every key that crypto/tls accepts is a signer.
	return &Pair{pair.Leaf, pair.PrivateKey.(crypto.Signer)}, nil
}

// LoadOrMake returns the pair stored as NAME.crt and NAME.key in dir. If there is none, or the certificate is
// a leaf in its last 30 days, it returns that of build and stores it. If dir is empty nothing is stored.
func LoadOrMake(dir, name string, build func() (*Pair, error)) (*Pair, error) {
	if dir == "" {
		return build()
	}
	crt, key := filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	certPEM, err1 := os.ReadFile(crt)
	keyPEM, err2 := os.ReadFile(key)
	if err1 == nil && err2 == nil {
		p, err := ParsePair(certPEM, keyPEM)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", crt, err)
		}
		if p.Cert.IsCA || time.Until(p.Cert.NotAfter) > 30*24*time.Hour {
			return p, nil
		}
	}
	p, err := build()
	if err != nil {
		return nil, err
	}
	if err := atomicfile.WriteSync(key, p.KeyPEM()); err != nil {
		return nil, err
	}
	return p, atomicfile.WriteSync(crt, p.CertPEM())
}

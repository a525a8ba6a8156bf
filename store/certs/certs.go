// Package certs makes the certificates a cluster needs: an authority, serving certificates and client
// certificates, with ECDSA P-256 keys made in well under a millisecond. Everything is plain data; files are
// written by [WriteFile] with mode 0600.
package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Validity of what is made here.
const (
	CAValidity   = 10 * 365 * 24 * time.Hour
	LeafValidity = 365 * 24 * time.Hour
	// backdate allows for clocks that are a little behind.
	backdate = 5 * time.Minute
)

// Pair is a certificate with its key.
type Pair struct {
	Cert *x509.Certificate
	Key  *ecdsa.PrivateKey
}

// Authority signs certificates.
type Authority struct{ Pair }

// NewAuthority makes a self-signed authority.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	cert, err := create(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdate), NotAfter: now.Add(CAValidity),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, IsCA: true, BasicConstraintsValid: true,
	}, nil, key, key)
	if err != nil {
		return nil, err
	}
	return &Authority{Pair{cert, key}}, nil
}

// Serving makes a serving certificate for host names and IP addresses.
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

// Client makes a client certificate: name is the user, groups are the organizations.
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
	cert, err := create(t, a.Cert, key, a.Key)
	if err != nil {
		return nil, err
	}
	return &Pair{cert, key}, nil
}

func create(t, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
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

// Pool is a pool of this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// CertPEM is the certificate in PEM.
func (p *Pair) CertPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Cert.Raw})
}

// KeyPEM is the private key in PEM (SEC 1).
func (p *Pair) KeyPEM() []byte {
	der, err := x509.MarshalECPrivateKey(p.Key)
	if err != nil {
		panic(err) // a P-256 key always encodes
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// TLS is the pair as crypto/tls wants it.
func (p *Pair) TLS() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.Cert.Raw}, PrivateKey: p.Key, Leaf: p.Cert}
}

// ParsePair reads a certificate and its ECDSA key from PEM.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	cb, _ := pem.Decode(certPEM)
	kb, _ := pem.Decode(keyPEM)
	if cb == nil || kb == nil {
		return nil, errors.New("certs: no PEM block found")
	}
	cert, err := x509.ParseCertificate(cb.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	key, err := x509.ParseECPrivateKey(kb.Bytes)
	if err != nil {
		return nil, fmt.Errorf("certs: %w", err)
	}
	return &Pair{cert, key}, nil
}

// WriteFile writes data so that a reader sees all of it or nothing, readable by the owner only.
func WriteFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	if _, err = f.Write(data); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// LoadOrMake returns the pair stored as NAME.crt and NAME.key in dir, or makes and stores it. Dir "" stores nothing.
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
		// A leaf is renewed in its last month; an authority outlives the rest.
		if p.Cert.IsCA || time.Until(p.Cert.NotAfter) > 30*24*time.Hour {
			return p, nil
		}
	}
	p, err := build()
	if err != nil {
		return nil, err
	}
	if err := WriteFile(key, p.KeyPEM()); err != nil {
		return nil, err
	}
	return p, WriteFile(crt, p.CertPEM())
}

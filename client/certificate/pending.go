package certificate

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// pendingFile returns the name of the file with the key of a request without a result.
func (m *Manager) pendingFile() string { return m.opts.File + ".pending" }

// pendingKey returns the key of the request that has no result yet, also of one made by an earlier run, or a
// new key. It is kept until dropPending.
func (m *Manager) pendingKey() (*ecdsa.PrivateKey, error) {
	if m.pending != nil {
		return m.pending, nil
	}
	if m.opts.File != "" {
		key, err := loadKey(m.pendingFile())
		switch {
		case err == nil && !m.inUse(key):
			m.pending = key
			return key, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			m.opts.Logger.Warn("load pending key failed", "file", m.pendingFile(), "err", err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if m.opts.File != "" {
		text, err := encodeKey(key)
		if err == nil {
			err = save(m.pendingFile(), nil, text)
		}
		if err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	m.pending = key
	return key, nil
}

// dropPending makes the next request use a new key.
func (m *Manager) dropPending() {
	m.pending = nil
	if m.opts.File != "" {
		if err := os.Remove(m.pendingFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.opts.Logger.Warn("remove pending key failed", "file", m.pendingFile(), "err", err)
		}
	}
}

// inUse reports whether a key is that of the current certificate: the program ended after its certificate was
// saved and before the pending key was removed.
func (m *Manager) inUse(key *ecdsa.PrivateKey) bool {
	cert := m.Current()
	return cert != nil && key.PublicKey.Equal(cert.Leaf.PublicKey)
}

// submit creates the request, or finds the one that was created with the same key for the same certificate.
func (m *Manager) submit(ctx context.Context, csrs *client.Client[*certificatesv1.CertificateSigningRequest], csr *certificatesv1.CertificateSigningRequest) (*certificatesv1.CertificateSigningRequest, error) {
	tbs, err := toBeSigned(csr.Spec.Request)
	if err != nil {
		return nil, err
	}
	terms, err := json.Marshal([]any{csr.Spec.SignerName, csr.Spec.Usages, csr.Spec.ExpirationSeconds})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(terms, tbs...))
	csr.Name = "csr-" + hex.EncodeToString(sum[:16])
	made, err := csrs.Create(ctx, csr)
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	made, err = csrs.Get(ctx, metav1.KeyOf(csr))
	if err != nil {
		return nil, err
	}
	// Signatures differ each time, what they sign does not.
	if other, err := toBeSigned(made.Spec.Request); err != nil || !bytes.Equal(tbs, other) || made.Spec.SignerName != csr.Spec.SignerName {
		m.dropPending()
		return nil, fmt.Errorf("%s is another request", csr.Name)
	}
	return made, nil
}

func toBeSigned(request []byte) ([]byte, error) {
	block, _ := pem.Decode(request)
	if block == nil {
		return nil, errors.New("the request is not PEM")
	}
	r, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return r.RawTBSCertificateRequest, nil
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func loadKey(path string) (*ecdsa.PrivateKey, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return nil, errors.New("the key is not PEM")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}

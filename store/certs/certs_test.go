package certs_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/certs"
)

func TestServingAndClientVerify(t *testing.T) {
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	serving, err := ca.Serving("api", "localhost", "127.0.0.1")
	require.NoError(t, err)
	_, err = serving.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "localhost"})
	require.NoError(t, err)
	_, err = serving.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "elsewhere"})
	require.Error(t, err)
	client, err := ca.Client("ann", "dev", "ops")
	require.NoError(t, err)
	_, err = client.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	require.Equal(t, []string{"dev", "ops"}, client.Cert.Subject.Organization)
	other, err := certs.NewAuthority("other")
	require.NoError(t, err)
	_, err = client.Cert.Verify(x509.VerifyOptions{Roots: other.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.Error(t, err)
}

func TestLoadOrMakeKeepsAndProtects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	made := 0
	build := func() (*certs.Pair, error) {
		made++
		ca, err := certs.NewAuthority("test")
		if err != nil {
			return nil, err
		}
		return &ca.Pair, nil
	}
	first, err := certs.LoadOrMake(dir, "ca", build)
	require.NoError(t, err)
	second, err := certs.LoadOrMake(dir, "ca", build)
	require.NoError(t, err)
	require.Equal(t, 1, made)
	require.Equal(t, first.Cert.Raw, second.Cert.Raw)
	info, err := os.Stat(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("junk"), 0o600))
	_, err = certs.LoadOrMake(dir, "ca", build)
	require.ErrorContains(t, err, "ca.crt")
}

func Example() {
	ca, err := certs.NewAuthority("my cluster")
	if err != nil {
		panic(err)
	}
	admin, err := ca.Client("admin", "system:masters")
	if err != nil {
		panic(err)
	}
	fmt.Println(admin.Cert.Subject.CommonName, admin.Cert.Issuer.CommonName)
	// Output: admin my cluster
}

// Keys and certificates of other tools: openssl, cfssl, kubeadm and cert-manager write RSA and PKCS#8.
func TestParsePairOfOthers(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block := func(typ string, der []byte, err error) []byte {
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		return block("PRIVATE KEY", der, err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	for name, in := range map[string]struct {
		key crypto.Signer
		pem []byte
	}{
		"SEC 1":               {ec, block("EC PRIVATE KEY", sec1, err)},
		"after EC PARAMETERS": {ec, append(block("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 34}, nil), block("EC PRIVATE KEY", sec1, err)...)},
		"ECDSA, PKCS#8":       {ec, pkcs8(ec)},
		"RSA, PKCS#1":         {rsaKey, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey), nil)},
		"RSA, PKCS#8":         {rsaKey, pkcs8(rsaKey)},
		"Ed25519, PKCS#8":     {ed, pkcs8(ed)},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
				IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
			der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, in.key.Public(), in.key)
			crt := block("CERTIFICATE", der, err)
			p, err := certs.ParsePair(crt, in.pem)
			require.NoError(t, err)
			again, err := certs.ParsePair(p.CertPEM(), p.KeyPEM())
			require.NoError(t, err)
			require.Equal(t, in.key.Public(), again.Key.Public())
			// It signs certificates that verify.
			ca := &certs.Authority{Pair: *p}
			leaf, err := ca.Serving("x", "localhost")
			require.NoError(t, err)
			_, err = leaf.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), DNSName: "localhost"})
			require.NoError(t, err)

			other, err := certs.NewAuthority("other")
			require.NoError(t, err)
			_, err = certs.ParsePair(crt, other.KeyPEM())
			require.ErrorContains(t, err, "private key")
		})
	}
	for _, bad := range []string{"", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		_, err := certs.ParsePair([]byte(bad), []byte(bad))
		require.ErrorContains(t, err, "certs: ")
	}
}

// An authority signs certificates for hosts and users, which cannot sign others; its own key usage excludes
// encryption.
func TestAuthoritySignsNoAuthorities(t *testing.T) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	require.True(t, ca.Cert.MaxPathLenZero)
	require.Zero(t, ca.Cert.KeyUsage&x509.KeyUsageKeyEncipherment)
	below, err := certs.NewAuthority("below")
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, below.Cert, ca.Cert, below.Cert.PublicKey, ca.Key)
	require.NoError(t, err)
	signed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	user, err := below.Client("eve", "system:masters")
	require.NoError(t, err)
	between := x509.NewCertPool()
	between.AddCert(signed)
	_, err = user.Cert.Verify(x509.VerifyOptions{Roots: ca.Pool(), Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.Error(t, err)
}

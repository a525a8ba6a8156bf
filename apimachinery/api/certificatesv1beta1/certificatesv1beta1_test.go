package certificatesv1beta1_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// certificate returns a self-signed one, as PEM.
func certificate(t *testing.T, serial int64, authority bool) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<31, 0), IsCA: authority, BasicConstraintsValid: authority}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func of(name, signer, certificates string) *certificatesv1beta1.ClusterTrustBundle {
	b := &certificatesv1beta1.ClusterTrustBundle{Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: certificates}}
	b.Name = name
	return b
}

func texts(errs validation.ErrorList) []string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Field+": "+e.Detail)
	}
	return out
}

func TestValidation(t *testing.T) {
	a, b, leaf := certificate(t, 1, true), certificate(t, 2, true), certificate(t, 3, false)
	const bundle = "spec.trustBundle: "
	withHeader := strings.Replace(a, "-----BEGIN CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\nA: b\n\n", 1)
	for _, c := range []struct {
		name, signer, certificates string
		wrong                      []string
	}{
		{"plain", "", a, nil}, {"plain", "", a + "text between\n" + b, nil}, {"a.test:boats:v1", "a.test/boats", a, nil},
		{"plain", "a.test/boats", a, []string{"metadata.name: ClusterTrustBundle for signerName a.test/boats must be named with prefix a.test:boats:"}},
		{"plain", "", "", []string{bundle + "at least one trust anchor must be provided"}}, {"plain", "", "no PEM", []string{bundle + "at least one trust anchor must be provided"}},
		{"plain", "", a + b + a, []string{bundle + "duplicate trust anchor (indices [0 2])"}}, {"plain", "", leaf + a, []string{bundle + "entry 0 does not have the CA bit set"}},
		{"plain", "", a + withHeader, []string{bundle + "entry 1 has PEM block headers"}}, {"plain", "", strings.ReplaceAll(a, "CERTIFICATE", "PUBLIC KEY"), []string{bundle + "entry 0 has bad block type: PUBLIC KEY"}},
		{"plain", "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", []string{bundle + "entry 0 does not parse as X.509"}},
	} {
		require.Equal(t, c.wrong, texts(certificatesv1beta1.ValidateClusterTrustBundle(of(c.name, c.signer, c.certificates))), c)
	}
	for _, wrong := range []*certificatesv1beta1.ClusterTrustBundle{of("a:b", "", a), of("a.test:boats:", "a.test/boats", a), of("a.test:boats:A", "a.test/boats", a), of("boats:v1", "boats", a), of("plain", "", strings.Repeat("x", 1<<20+1))} {
		require.NotEmpty(t, certificatesv1beta1.ValidateClusterTrustBundle(wrong), "%s of %s", wrong.Name, wrong.Spec.SignerName)
	}

	// An update keeps the signer, and does not parse again what stays.
	require.Empty(t, certificatesv1beta1.ValidateClusterTrustBundleUpdate(of("plain", "", leaf), of("plain", "", leaf)))
	require.Empty(t, certificatesv1beta1.ValidateClusterTrustBundleUpdate(of("plain", "", b), of("plain", "", leaf)))
	require.NotEmpty(t, certificatesv1beta1.ValidateClusterTrustBundleUpdate(of("plain", "", leaf), of("plain", "", b)))
	require.NotEmpty(t, certificatesv1beta1.ValidateClusterTrustBundleUpdate(of("a.test:boats:v1", "a.test/boats", a), of("a.test:boats:v1", "b.test/boats", a)))
}

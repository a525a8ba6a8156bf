package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/webhook"
)

// A certificate that names its host as a common name only, or is signed over SHA-1, is reported with the
// call.
func TestDeprecations(t *testing.T) {
	var seen []webhook.Deprecation
	c := webhook.New(webhook.Options{Called: func(c webhook.Call) { seen = c.Deprecations }})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return k
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, SignatureAlgorithm: x509.ECDSAWithSHA1}
	rootKey, leafKey := key(), key()
	authority, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	require.NoError(t, err)
	root, err = x509.ParseCertificate(authority)
	require.NoError(t, err)
	for name, one := range map[string]struct {
		hosts     []string
		algorithm x509.SignatureAlgorithm
		want      []webhook.Deprecation
	}{
		"good":        {hosts: []string{"localhost"}},
		"common name": {want: []webhook.Deprecation{webhook.MissingSAN}},
		"SHA-1":       {hosts: []string{"localhost"}, algorithm: x509.ECDSAWithSHA1, want: []webhook.Deprecation{webhook.InsecureSHA1}},
	} {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: one.hosts,
			NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, SignatureAlgorithm: one.algorithm}
		der, err := x509.CreateCertificate(rand.Reader, leaf, root, leafKey.Public(), rootKey)
		require.NoError(t, err)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
		s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der, authority}, PrivateKey: leafKey}}}
		s.StartTLS()
		_, port, err := net.SplitHostPort(s.Listener.Addr().String())
		require.NoError(t, err)
		target := webhook.Target{URL: "https://localhost:" + port, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority})}
		var reply struct{}
		seen = nil
		err = c.Call(t.Context(), target, time.Minute, struct{}{}, &reply)
		require.Equal(t, one.want == nil, err == nil, "%s: %v", name, err)
		require.Equal(t, one.want, seen, name)
		s.Close()
	}
	// Other clients would refuse what this one accepts.
	weak := &x509.Certificate{SignatureAlgorithm: x509.SHA1WithRSA, RawIssuer: []byte("a"), RawSubject: []byte("b")}
	require.Equal(t, []webhook.Deprecation{webhook.MissingSAN, webhook.InsecureSHA1},
		webhook.Deprecations(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{weak}}, nil))
	require.Empty(t, webhook.Deprecations(nil, nil))
	noted, _ := webhook.MissingSAN.Note("hook.a.svc")
	require.Equal(t, "missing-san.invalid-cert.kubernetes.io/hook.a.svc", noted)
}

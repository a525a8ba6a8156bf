package component_test

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

// Files of certificates and keys are refused, or hold what connections need: a pair has a certificate of the
// key, and authorities certify only those whom they have signed.
func FuzzCertificateFiles(f *testing.F) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(f, err)
	other, err := certs.NewAuthority("other")
	require.NoError(f, err)
	stranger, err := other.Client("stranger")
	require.NoError(f, err)
	pair, err := ca.Client("ann")
	require.NoError(f, err)
	f.Add(pair.CertPEM(), pair.KeyPEM())
	f.Add(append(pair.CertPEM(), ca.CertPEM()...), stranger.KeyPEM())
	f.Add(ca.CertPEM(), []byte("-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"), []byte{})
	f.Fuzz(func(t *testing.T, certificate, key []byte) {
		if p, err := component.ReadPair([][]byte{certificate, key}); err == nil {
			require.NotNil(t, p.Leaf)
			require.NotNil(t, p.PrivateKey)
		}
		a, err := component.ReadAuthorities([][]byte{certificate})
		if err != nil {
			return
		}
		require.Equal(t, certificate, a.Text)
		_, err = stranger.Cert.Verify(x509.VerifyOptions{Roots: a.Pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		require.Error(t, err)
	})
}

// The names of a certificate are refused, or it is served to those who request one of them; others get the
// server's own.
func FuzzServedNames(f *testing.F) {
	ca, err := certs.NewAuthority("ca")
	require.NoError(f, err)
	dir := f.TempDir()
	write := func(name string) (certFile, keyFile string) {
		pair, err := ca.Serving(name, name)
		require.NoError(f, err)
		certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
		require.NoError(f, os.WriteFile(certFile, pair.CertPEM(), 0o600))
		require.NoError(f, os.WriteFile(keyFile, pair.KeyPEM(), 0o600))
		return certFile, keyFile
	}
	own := component.TLS{MinVersion: "VersionTLS12"}
	own.CertFile, own.KeyFile = write("own")
	certFile, keyFile := write("other")
	f.Add("", "other")
	f.Add(":exact.wild.test,*.other.test,B.test", "x.other.test")
	f.Add(":,", "")
	f.Add(":*.,.,*", ".")
	f.Fuzz(func(t *testing.T, names, name string) {
		if names != "" && !strings.HasPrefix(names, ":") {
			return // a part of the file's name
		}
		o := own
		o.SNIFiles = []string{certFile + "," + keyFile + names}
		cfg, err := o.Config(slog.New(slog.DiscardHandler), nil)
		if err != nil {
			require.ErrorContains(t, err, "--tls-sni-cert-key: ")
			return
		}
		pair, err := cfg.GetCertificate(&tls.ClientHelloInfo{ServerName: name})
		require.NoError(t, err)
		listed := strings.Split(strings.ToLower(strings.TrimPrefix(names, ":")), ",")
		if names == "" {
			listed = []string{"other"}
		}
		requested := strings.TrimSuffix(strings.ToLower(name), ".")
		_, above, below := strings.Cut(requested, ".")
		want := "own"
		for _, n := range listed {
			if n == requested || below && n == "*."+above {
				want = "other"
			}
		}
		require.Equal(t, want, pair.Leaf.Subject.CommonName)
	})
}

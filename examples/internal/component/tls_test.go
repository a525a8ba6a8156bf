package component_test

import (
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
)

// pairFiles makes a serving certificate for names and returns its files.
func pairFiles(t *testing.T, ca *certs.Authority, file string, names ...string) (certFile, keyFile string) {
	t.Helper()
	pair, err := ca.Serving(names[0], names...)
	require.NoError(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, file+".crt"), filepath.Join(dir, file+".key")
	require.NoError(t, os.WriteFile(certFile, pair.CertPEM(), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pair.KeyPEM(), 0o600))
	return certFile, keyFile
}

// handshake returns the client's state of a connection.
func handshake(t *testing.T, server, client *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Server(far, server).HandshakeContext(t.Context())
		_ = far.Close()
	}()
	client.InsecureSkipVerify = true
	c := tls.Client(near, client)
	err := c.HandshakeContext(t.Context())
	_ = near.Close()
	<-done
	return c.ConnectionState(), err
}

func TestServingTLS(t *testing.T) {
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	o := &component.TLS{MinVersion: "VersionTLS12"}
	o.CertFile, o.KeyFile = pairFiles(t, ca, "serving", "api.test")
	config := func(change func(o *component.TLS)) (*tls.Config, error) {
		changed := *o
		change(&changed)
		return changed.Config(slog.New(slog.DiscardHandler), nil)
	}
	t.Run("version", func(t *testing.T) {
		for least, ok := range map[string]bool{"VersionTLS12": true, "VersionTLS13": false} {
			cfg, err := config(func(o *component.TLS) { o.MinVersion = least })
			require.NoError(t, err)
			_, err = handshake(t, cfg, &tls.Config{MaxVersion: tls.VersionTLS12})
			require.Equal(t, ok, err == nil, "%s: %v", least, err)
			_, err = handshake(t, cfg, &tls.Config{})
			require.NoError(t, err)
		}
		_, err := config(func(o *component.TLS) { o.MinVersion = "1.2" })
		require.ErrorContains(t, err, `--tls-min-version: "1.2" is none of VersionTLS10`)
	})
	t.Run("suites", func(t *testing.T) {
		cfg, err := config(func(o *component.TLS) {
			o.CipherSuites = []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"}
		})
		require.NoError(t, err)
		got, err := handshake(t, cfg, &tls.Config{MaxVersion: tls.VersionTLS12})
		require.NoError(t, err)
		require.Contains(t, tls.CipherSuiteName(got.CipherSuite), "AES_128_GCM_SHA256")
		_, err = handshake(t, cfg, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}})
		require.Error(t, err)
		_, err = config(func(o *component.TLS) { o.CipherSuites = []string{"TLS_NONE"} })
		require.ErrorContains(t, err, `--tls-cipher-suites: "TLS_NONE" is not known`)
		_, err = config(func(o *component.TLS) {
			o.MinVersion, o.CipherSuites = "VersionTLS13", []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}
		})
		require.ErrorContains(t, err, "cannot be chosen")
	})
	t.Run("names", func(t *testing.T) {
		own, ownKey := pairFiles(t, ca, "own", "a.test", "*.wild.test")
		second, secondKey := pairFiles(t, ca, "second", "a.test")
		given, givenKey := pairFiles(t, ca, "given", "given.test")
		cfg, err := config(func(o *component.TLS) {
			o.SNIFiles = []string{own + "," + ownKey, second + "," + secondKey, given + "," + givenKey + ":exact.wild.test,*.other.test,B.test"}
		})
		require.NoError(t, err)
		for name, want := range map[string]string{"": "api.test", "api.test": "api.test", "unknown.test": "api.test", "a.test": "a.test", "A.test": "a.test", "x.wild.test": "a.test",
			"x.y.wild.test": "api.test", "exact.wild.test": "given.test", "x.other.test": "given.test", "b.test": "given.test", "given.test": "api.test"} {
			got, err := handshake(t, cfg, &tls.Config{ServerName: name})
			require.NoError(t, err)
			require.Equal(t, want, got.PeerCertificates[0].Subject.CommonName, name)
			require.NotContains(t, got.PeerCertificates[0].DNSNames, "second")
		}
		for _, bad := range []string{"only.crt", own + ",", own + "," + ownKey + ":", own + "," + secondKey, "absent.crt,absent.key"} {
			_, err := config(func(o *component.TLS) { o.SNIFiles = []string{bad} })
			require.ErrorContains(t, err, "--tls-sni-cert-key: ", bad)
		}
	})
}

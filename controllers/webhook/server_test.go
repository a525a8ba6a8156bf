package webhook_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/atomicfile"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/controllers/webhook"
	"github.com/keelson-dev/keelson/store/certs"
)

// Certificates that change on disk are used for the next connection; one that cannot be read does not
// displace the last good one.
func TestCertificatesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	ca, err := certs.NewAuthority("ca")
	require.NoError(t, err)
	issue := func(name string) {
		pair, err := ca.Serving(name, "127.0.0.1")
		require.NoError(t, err)
		require.NoError(t, atomicfile.WriteSync(filepath.Join(dir, "tls.crt"), pair.CertPEM()))
		require.NoError(t, atomicfile.WriteSync(filepath.Join(dir, "tls.key"), pair.KeyPEM()))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := webhook.New(webhook.Options{CertDir: dir, Listener: l})
	require.ErrorContains(t, server.Run(t.Context()), "tls.crt")
	require.ErrorContains(t, server.Healthy(t.Context()), "the server does not run")

	issue("first")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	serves := func() string {
		conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{RootCAs: ca.Pool()})
		require.NoError(t, err)
		defer conn.Close()
		return certificate(conn).Subject.CommonName
	}
	require.Equal(t, "first", serves())
	require.NoError(t, server.Healthy(ctx))
	issue("the second")
	require.Equal(t, "the second", serves())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tls.key"), []byte("half"), 0o600))
	require.Equal(t, "the second", serves())
	cancel()
	require.NoError(t, <-done)
	require.ErrorContains(t, server.Healthy(t.Context()), "the server does not run")

	// An expired certificate is served until there is another, and is reported.
	expired, _, err := clienttest.Certificate("127.0.0.1", nil, new(time.Now().Add(-time.Hour)))
	require.NoError(t, err)
	l, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server = webhook.New(webhook.Options{Listener: l, Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &expired, nil }})
	ctx, cancel = context.WithCancel(t.Context())
	go func() { done <- server.Run(ctx) }()
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.ErrorContains(t, server.Healthy(ctx), "the certificate expired at")
	cancel()
	require.NoError(t, <-done)
}

func certificate(c *tls.Conn) *x509.Certificate { return c.ConnectionState().PeerCertificates[0] }

package controllertest_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

// TestCertificatesOutliveTheBubble: virtual time passes at will, and no test waits longer than these
// certificates last. Looked at rather than waited for, since a virtual year costs millions of pings.
func TestCertificatesOutliveTheBubble(t *testing.T) {
	var snapshot controllertest.Snapshot
	lasts := func(t *testing.T, c *controllertest.Cluster) {
		cfg := c.Config(client.User{Name: "ann", Groups: []string{"system:masters"}})
		pair, err := tls.X509KeyPair(cfg.TLS.CertData, cfg.TLS.KeyData)
		require.NoError(t, err)
		raw, err := cfg.Dial(t.Context(), "tcp", strings.TrimPrefix(cfg.Host, "https://"))
		require.NoError(t, err)
		defer raw.Close()
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(cfg.TLS.CAData))
		later := time.Now().AddDate(100, 0, 0)
		conn := tls.Client(raw, &tls.Config{
			RootCAs: roots, ServerName: "localhost", Certificates: []tls.Certificate{pair}, Time: func() time.Time { return later },
		})
		require.NoError(t, conn.HandshakeContext(t.Context()), "a client of a hundred years later trusts the server")
		cert, err := x509.ParseCertificate(pair.Certificate[0])
		require.NoError(t, err)
		_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: later, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		require.NoError(t, err, "and the server the client")
	}
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, controllertest.Options{})
		lasts(t, c)
		snapshot = c.Snapshot()
	})
	synctest.Test(t, func(t *testing.T) { lasts(t, controllertest.StartFrom(t, snapshot, controllertest.Options{})) })
	// Outside a bubble all that has an end would have ended.
	tb := &refused{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		controllertest.StartFrom(tb, snapshot, controllertest.Options{})
	}()
	<-done
	require.Contains(t, tb.said, "made in a bubble")
}

// refused notes why a test was ended, and ends the goroutine alone.
type refused struct {
	testing.TB
	said string
}

func (r *refused) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

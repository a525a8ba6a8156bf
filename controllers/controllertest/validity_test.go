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

// TestCertificatesOutliveTheBubble: the certificates are valid for longer than any test sleeps. Their dates
// are checked, because sleeping a virtual year costs millions of pings.
func TestCertificatesOutliveTheBubble(t *testing.T) {
	var snapshot controllertest.Snapshot
	lasts := func(t *testing.T, c *controllertest.Cluster) {
		a := c.Access(client.User{Name: "ann", Groups: []string{"system:masters"}})
		pair, err := tls.X509KeyPair(a.Cert, a.Key)
		require.NoError(t, err)
		raw, err := a.Dial(t.Context(), "tcp", strings.TrimPrefix(a.Host, "https://"))
		require.NoError(t, err)
		defer raw.Close()
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(a.CA))
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
	// Outside a bubble everything with an expiry would have expired.
	tb := &refused{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		controllertest.StartFrom(tb, snapshot, controllertest.Options{})
	}()
	<-done
	require.Contains(t, tb.said, "made in a bubble")
}

// refused records why a test was ended, and ends only the goroutine.
type refused struct {
	testing.TB
	said string
}

func (r *refused) Fatalf(format string, args ...any) {
	r.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// While certificates and authorities are replaced on disk, no request fails, be it on a connection that is
// open or on a new one, and new connections see the new certificate.
func TestNoRequestFailsWhileFilesChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := certs.NewAuthority("first")
		require.NoError(t, err)
		second, err := certs.NewAuthority("second")
		require.NoError(t, err)
		r := &reloading{t: t, dir: dir}
		r.before, err = first.Client("before", "system:masters")
		require.NoError(t, err)
		r.after, err = second.Client("after", "system:masters")
		require.NoError(t, err)
		stop := r.start(first)
		l := pipenet.New()
		serving, endServing := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- r.cp.Serve(serving, l, r.serving) }()

		var own atomic.Pointer[certs.Pair] // the certificate of clients
		own.Store(r.before)
		var seen atomic.Pointer[string] // the server's name on the last new connection
		transport := func(kept bool) *http.Transport {
			return &http.Transport{DialContext: l.Dial, DisableKeepAlives: !kept, TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					pair := own.Load().TLS()
					return &pair, nil
				},
				VerifyConnection: func(s tls.ConnectionState) error {
					seen.Store(&s.PeerCertificates[0].Subject.CommonName)
					return nil
				}}}
		}
		asking, enough := context.WithCancel(t.Context())
		sent := make(chan int, 2)
		for _, kept := range []bool{true, false} {
			web := transport(kept)
			go func() {
				n := 0
				for ; asking.Err() == nil; n++ {
					resp, err := (&http.Client{Transport: web}).Get("https://pipe/api/v1/namespaces")
					if err != nil || resp.StatusCode != http.StatusOK {
						t.Errorf("request %d failed: %v, %v", n, resp, err)
						break
					}
					_ = resp.Body.Close()
					time.Sleep(50 * time.Millisecond)
				}
				web.CloseIdleConnections()
				sent <- n
			}()
		}
		pass := func() { time.Sleep(2 * component.ReloadEvery) }
		pass()
		require.Equal(t, "before", *seen.Load())
		r.write("ca.crt", append(first.CertPEM(), second.CertPEM()...))
		pass()
		r.write("serving.crt", r.after.CertPEM())
		pass() // the key is the old one
		require.Equal(t, "before", *seen.Load())
		r.write("serving.key", r.after.KeyPEM())
		own.Store(r.after)
		pass()
		require.Equal(t, "after", *seen.Load())
		enough()
		require.Greater(t, min(<-sent, <-sent), 100)
		endServing()
		require.NoError(t, <-served)
		stop()
	})
}

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/examples/internal/component"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// underReload is a control plane that serves on a pipe while its files change, and two authorities.
type underReload struct {
	*reloading
	first, second *certs.Authority
	own           atomic.Pointer[certs.Pair] // the certificate of clients
	enough        atomic.Bool
	sent          sync.WaitGroup
}

// startLoaded starts it; prepare writes the files that the flags name.
func startLoaded(t *testing.T, dir string, prepare func(l *underReload), flags ...string) *underReload {
	l := &underReload{reloading: &reloading{t: t, dir: dir}}
	var err error
	l.first, err = certs.NewAuthority("first")
	require.NoError(t, err)
	l.second, err = certs.NewAuthority("second")
	require.NoError(t, err)
	l.before, err = l.first.Client("before", "system:masters")
	require.NoError(t, err)
	l.after, err = l.second.Client("after", "system:masters")
	require.NoError(t, err)
	l.own.Store(l.before)
	prepare(l)
	stop := l.start(l.first, flags...)
	t.Cleanup(func() {
		l.endLoad()
		stop()
	})
	return l
}

// endLoad ends what sendUnderLoad began, and waits for it.
func (l *underReload) endLoad() {
	l.enough.Store(true)
	l.sent.Wait()
}

// sendUnderLoad calls once every 50 ms until endLoad, and requires that it is more than a hundred times. It
// stops at an error.
func (l *underReload) sendUnderLoad(once func() error, end func()) {
	l.sent.Go(func() {
		defer end()
		n := 0
		for ; !l.enough.Load(); n++ {
			if err := once(); err != nil {
				l.t.Errorf("request %d failed: %v", n, err)
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		assert.Greater(l.t, n, 100)
	})
}

// pass waits until files have been read again.
func (l *underReload) pass() { time.Sleep(2 * component.ReloadEvery) }

// While certificates and authorities are replaced on disk, no request fails, be it on a connection that is
// open or on a new one, and new connections see the new certificate; one for a name sees that of the name.
func TestNoRequestFailsWhileFilesChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := startLoaded(t, dir, func(l *underReload) {
			l.write("named.crt", l.before.CertPEM())
			l.write("named.key", l.before.KeyPEM())
		}, "--tls-sni-cert-key="+filepath.Join(dir, "named.crt")+","+filepath.Join(dir, "named.key")+":named.test")
		pipe := pipenet.New()
		serving, endServing := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- l.cp.Serve(serving, pipe, l.serving) }()

		var seen [2]atomic.Pointer[string] // the server's name on the last connection without and with a name
		transport := func(name string, kept bool) *http.Transport {
			at := &seen[0]
			if name != "" {
				at = &seen[1]
			}
			return &http.Transport{DialContext: pipe.Dial, DisableKeepAlives: !kept, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: name,
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					pair := l.own.Load().TLS()
					return &pair, nil
				},
				VerifyConnection: func(s tls.ConnectionState) error {
					at.Store(&s.PeerCertificates[0].Subject.CommonName)
					return nil
				}}}
		}
		for _, web := range []*http.Transport{transport("", true), transport("", false), transport("named.test", false)} {
			l.sendUnderLoad(func() error {
				resp, err := (&http.Client{Transport: web}).Get("https://pipe/api/v1/namespaces")
				if err == nil {
					_ = resp.Body.Close()
					if resp.StatusCode != http.StatusOK {
						err = errors.New(resp.Status)
					}
				}
				return err
			}, web.CloseIdleConnections)
		}
		see := func(own, named string) {
			t.Helper()
			l.pass()
			require.Equal(t, []string{own, named}, []string{*seen[0].Load(), *seen[1].Load()})
		}
		see("before", "before")
		l.write("ca.crt", append(l.first.CertPEM(), l.second.CertPEM()...))
		l.pass()
		l.write("serving.crt", l.after.CertPEM())
		see("before", "before") // the key is the old one
		l.write("serving.key", l.after.KeyPEM())
		l.own.Store(l.after)
		see("after", "before")
		l.write("named.key", l.after.KeyPEM())
		see("after", "before")
		l.write("named.crt", l.after.CertPEM())
		see("after", "after")
		l.endLoad()
		endServing()
		require.NoError(t, <-served)
	})
}

// While the keys of service accounts are rotated, no token that was signed with a key which is still listed
// is refused; and while the authority of proxies is replaced, no user that they report is.
func TestNoTokenIsRefusedWhileKeysChange(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := startLoaded(t, dir, func(l *underReload) {
			l.write("sa.pub", l.before.KeyPEM())
			l.write("front.crt", l.first.CertPEM())
		}, "--service-account-key-file="+filepath.Join(dir, "sa.pub"), "--requestheader-client-ca-file="+filepath.Join(dir, "front.crt"))
		send := func(who *certs.Pair, method, path, body string, header ...string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			if who != nil {
				r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{who.Cert}}
			}
			w := httptest.NewRecorder()
			l.cp.ServeHTTP(w, r)
			return w
		}
		require.Equal(t, http.StatusCreated, send(l.before, "POST", "/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"a"}}`).Code)
		sign := func() (token string) {
			var request struct{ Status struct{ Token string } }
			w := send(l.before, "POST", "/api/v1/namespaces/default/serviceaccounts/a/token", `{"spec":{}}`)
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &request), "%s", w.Body)
			return request.Status.Token
		}
		code := func(token string) int {
			return send(nil, "GET", "/api/v1/namespaces", "", "Authorization", "Bearer "+token).Code
		}
		const known, unknown = http.StatusForbidden, http.StatusUnauthorized
		oldest := sign()
		last := oldest
		l.sendUnderLoad(func() error {
			for _, token := range []string{last, sign()} {
				if last = token; code(token) != known {
					return errors.New("a token is unknown")
				}
			}
			return nil
		}, func() {})
		var front atomic.Pointer[certs.Pair]
		proxy := func(ca *certs.Authority) {
			pair, err := ca.Client("front") // who has no rights of its own
			require.NoError(t, err)
			front.Store(pair)
		}
		proxy(l.first)
		l.sendUnderLoad(func() error {
			if w := send(front.Load(), "GET", "/api/v1/namespaces", "", "X-Remote-User", "ann", "X-Remote-Group", "system:masters"); w.Code != http.StatusOK {
				return errors.New(w.Body.String())
			}
			return nil
		}, func() {})

		l.pass()
		l.write("sa.pub", append(l.before.KeyPEM(), l.after.KeyPEM()...))
		l.write("front.crt", append(l.first.CertPEM(), l.second.CertPEM()...))
		l.pass()
		l.write("sa.key", []byte("half of a key"))
		l.pass()
		l.write("sa.key", l.after.KeyPEM())
		proxy(l.second)
		l.pass()
		require.Equal(t, known, code(oldest))
		l.write("sa.pub", l.after.KeyPEM())
		l.write("front.crt", l.second.CertPEM())
		l.pass()
		require.Equal(t, unknown, code(oldest), "its key is no longer listed")
		l.endLoad()
		proxy(l.first)
		require.Equal(t, http.StatusForbidden, send(front.Load(), "GET", "/api/v1/namespaces", "", "X-Remote-User", "ann", "X-Remote-Group", "system:masters").Code,
			"whom a proxy of the first authority reports does not count")
	})
}

package frontproxy_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/internal/frontproxy"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// The headers of a request name its user and no other, in a form that every key of Extra has.
func TestTheUserIsInHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, "front")
		r := &http.Request{Method: "GET", URL: s.url, Header: http.Header{"X-Remote-User": {"root"}, "X-Remote-Extra-Scopes": {"all"}, "X-Other": {"x"}}}
		resp, err := c.Send(r.WithContext(t.Context()), &authn.User{Name: "ann", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"example.com/a b%": {"1", "2"}}})
		require.NoError(t, err)
		_ = resp.Body.Close()
		got := <-s.got
		require.Equal(t, "ann", got.Header.Get("X-Remote-User"))
		require.Equal(t, []string{"7"}, got.Header["X-Remote-Uid"])
		require.Equal(t, []string{"a", "b"}, got.Header["X-Remote-Group"])
		require.Equal(t, []string{"1", "2"}, got.Header[http.CanonicalHeaderKey("X-Remote-Extra-example.com%2Fa%20b%25")])
		require.Equal(t, "x", got.Header.Get("X-Other"))
		require.NotContains(t, got.Header, "X-Remote-Extra-Scopes")
		require.Equal(t, "front", got.TLS.PeerCertificates[0].Subject.CommonName)
	})
}

// Another certificate, or other authorities, are used for the next request.
func TestFilesOfTheClientChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, "first")
		get := func() error {
			_, _, err := c.Get(t.Context(), &authn.User{Name: "ann"}, s.url, http.Header{}, 10)
			return err
		}
		require.NoError(t, get())
		require.Equal(t, "first", (<-s.got).TLS.PeerCertificates[0].Subject.CommonName)
		s.identify(t, "second")
		require.NoError(t, get())
		require.Equal(t, "second", (<-s.got).TLS.PeerCertificates[0].Subject.CommonName)
		s.roots.Store(x509.NewCertPool())
		require.ErrorContains(t, get(), "certificate signed by unknown authority")
		s.roots.Store(s.ca.Pool())
		require.NoError(t, get())
		<-s.got
	})
}

// While the certificate and the authorities are replaced, no request fails.
func TestNoRequestFailsWhileFilesOfTheClientChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, "0")
		var sent sync.WaitGroup
		ended := make(chan struct{})
		for range 3 {
			sent.Go(func() {
				for range 200 {
					_, _, err := c.Get(t.Context(), &authn.User{Name: "ann"}, s.url, http.Header{}, 10)
					assert.NoError(t, err)
					time.Sleep(time.Millisecond)
				}
			})
		}
		go func() {
			sent.Wait()
			close(ended)
		}()
		names, replace := map[string]bool{}, time.NewTicker(7*time.Millisecond)
		defer replace.Stop()
		for i := 0; ; {
			select {
			case r := <-s.got:
				names[r.TLS.PeerCertificates[0].Subject.CommonName] = true
				continue
			case <-ended:
			case <-replace.C:
				i++
				s.identify(t, strconv.Itoa(i))
				s.roots.Store(s.ca.Pool())
				continue
			}
			break
		}
		require.Greater(t, len(names), 1)
	})
}

// A document has a limit, and only two codes.
func TestDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		c := s.client(t, "front")
		for path, want := range map[string]string{"/?bytes=10": "", "/?bytes=11": "is larger than 10 bytes", "/none": "bad status from https://server/none: 404"} {
			from, err := s.url.Parse(path)
			require.NoError(t, err)
			_, body, err := c.Get(t.Context(), &authn.User{Name: "ann"}, from, http.Header{}, 10)
			<-s.got
			if want != "" {
				require.ErrorContains(t, err, want)
			} else {
				require.NoError(t, err)
				require.Len(t, body, 10)
			}
		}
	})
}

// server is one that accepts clients of its authority.
type server struct {
	ca    *certs.Authority
	url   *url.URL
	pipe  *pipenet.Listener
	got   chan *http.Request
	own   atomic.Pointer[tls.Certificate] // of the client
	roots atomic.Pointer[x509.CertPool]
}

func newServer(t *testing.T) *server {
	ca, err := certs.NewAuthority("test")
	require.NoError(t, err)
	pair, err := ca.Serving("server", "server")
	require.NoError(t, err)
	s := &server{ca: ca, url: &url.URL{Scheme: "https", Host: "server", Path: "/"}, pipe: pipenet.New(), got: make(chan *http.Request, 10)}
	s.roots.Store(ca.Pool())
	hs := &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.got <- r
			if r.URL.Path == "/none" {
				http.NotFound(w, r)
			} else if r.URL.Query().Get("bytes") == "11" {
				_, _ = io.WriteString(w, strings.Repeat("x", 11))
			} else {
				_, _ = io.WriteString(w, strings.Repeat("x", 10))
			}
		})}
	done := make(chan struct{})
	go func() { defer close(done); _ = hs.ServeTLS(s.pipe, "", "") }()
	t.Cleanup(func() { _ = hs.Close(); <-done })
	return s
}

// identify gives the client another certificate.
func (s *server) identify(t *testing.T, name string) {
	pair, err := s.ca.Client(name)
	require.NoError(t, err)
	own := pair.TLS()
	s.own.Store(&own)
}

func (s *server) client(t *testing.T, name string) *frontproxy.Client {
	s.identify(t, name)
	c := frontproxy.New(frontproxy.Options{TLS: &tls.Config{}, Roots: s.roots.Load, Certificate: s.own.Load, Dial: s.pipe.Dial})
	t.Cleanup(c.Close)
	return c
}

package rest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// proxied connects to a server behind a proxy whose handshake is hello, and returns how often hello was
// called.
func proxied(t *testing.T, proxy string, hello func(c net.Conn, r *bufio.Reader) bool) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{TLS: true, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{}`) })})
		l := pipenet.New()
		var through atomic.Int32
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				near, err := l.Accept()
				if err != nil {
					return
				}
				wg.Go(func() {
					defer near.Close()
					r := bufio.NewReader(near)
					if !hello(near, r) {
						return
					}
					through.Add(1)
					far, err := s.Config().Dial(context.Background(), "tcp", "server.test:443")
					if err != nil {
						return
					}
					defer far.Close()
					wg.Go(func() { _, _ = io.Copy(near, far); near.Close() })
					_, _ = io.Copy(far, r)
				})
			}
		})
		cfg := s.Config()
		cfg.Dial = l.Dial
		u, err := url.Parse(proxy)
		require.NoError(t, err)
		cfg.Proxy = http.ProxyURL(u)
		c := s.ConnWith(t, cfg, rest.Options{})
		for range 3 {
			_, err = c.Do(t.Context(), get("a"))
			require.NoError(t, err)
		}
		require.EqualValues(t, 1, through.Load(), "one tunnel for all")
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
		wg.Wait()
	})
}

func TestThroughAnHTTPProxy(t *testing.T) {
	proxied(t, "http://user:word@proxy.test:3128", func(c net.Conn, r *bufio.Reader) bool {
		req, err := http.ReadRequest(r)
		if err != nil || req.Method != http.MethodConnect || req.Host != "server.test:443" || req.Header.Get("Proxy-Authorization") == "" {
			return false
		}
		_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		return err == nil
	})
}

func TestThroughASOCKS5Proxy(t *testing.T) {
	proxied(t, "socks5://proxy.test:1080", func(c net.Conn, r *bufio.Reader) bool {
		head := make([]byte, 2)
		if _, err := io.ReadFull(r, head); err != nil || head[0] != 5 {
			return false
		}
		if _, err := io.ReadFull(r, make([]byte, head[1])); err != nil {
			return false
		}
		_, _ = c.Write([]byte{5, 0})
		ask := make([]byte, 5)
		if _, err := io.ReadFull(r, ask); err != nil || ask[1] != 1 || ask[3] != 3 {
			return false
		}
		name := make([]byte, int(ask[4])+2)
		if _, err := io.ReadFull(r, name); err != nil {
			return false
		}
		if string(name[:ask[4]]) != "server.test" || binary.BigEndian.Uint16(name[ask[4]:]) != 443 {
			return false
		}
		_, err := c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		return err == nil
	})
}

// behind serves TLS with a certificate that is good until notAfter.
func behind(t *testing.T, notAfter time.Time, f func(t *testing.T, c *rest.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		end := notAfter
		if end.IsZero() {
			end = time.Now().Add(-time.Minute)
		}
		pair, ca, err := clienttest.Certificate("server.test", nil, &end)
		require.NoError(t, err)
		l := pipenet.New()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{}`) }), ErrorLog: log.New(io.Discard, "", 0)}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}}))
		}()
		c, err := rest.New(rest.Config{Host: "https://server.test", Dial: l.Dial, TLS: rest.TLSConfig{CAData: ca}}, rest.Options{})
		require.NoError(t, err)
		f(t, c)
		require.NoError(t, c.Close())
		require.NoError(t, srv.Close())
		<-served
	})
}

func TestAnExpiredCertificateIsNamed(t *testing.T) {
	behind(t, time.Time{}, func(t *testing.T, c *rest.Conn) {
		_, err := c.Do(t.Context(), get("a"))
		var e *rest.Error
		require.ErrorAs(t, err, &e)
		var bad x509.CertificateInvalidError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, x509.Expired, bad.Reason)
		require.ErrorContains(t, err, "server.test")
	})
}

// TestAnUnreachableServer connects to a closed port, and to an address that drops everything.
func TestAnUnreachableServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries, failed int
		refuse := func(context.Context, string, string) (net.Conn, error) {
			tries++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: io.ErrClosedPipe}
		}
		c, err := rest.New(rest.Config{Host: "http://server.test", Dial: refuse}, rest.Options{Metrics: rest.Metrics{Request: func(_ rest.Target, code int, _ time.Duration) {
			if code == 0 {
				failed++
			}
		}}})
		require.NoError(t, err)
		_, err = c.Do(t.Context(), get("a"))
		var e *rest.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, 1, tries, "a failed dial is not retried")
		require.Equal(t, 1, failed)

		swallow := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		c, err = rest.New(rest.Config{Host: "http://server.test", Dial: swallow, Timeout: 5 * time.Second}, rest.Options{})
		require.NoError(t, err)
		began := time.Now()
		_, err = c.Do(t.Context(), get("a"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began))
		// The attempt to connect outlives its request, so that the next request can use it; Close ends it.
		require.NoError(t, c.Close())
	})
}

// TestLyingServers has servers whose replies contradict their headers: each gives a typed error, and none
// affects the next request.
func TestLyingServers(t *testing.T) {
	for name, lie := range map[string]http.HandlerFunc{
		"another kind": func(w http.ResponseWriter, r *http.Request) {
			status(w, 200, `{"kind":"Pod","apiVersion":"v1","metadata":7}`)
		},
		"not JSON": func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{"metadata":{"name":"a"`) },
		"a web page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		},
		"not protobuf": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", client.MediaProtobuf)
			io.WriteString(w, "k8s\x00\xff\xff\xff")
		},
		"a length too many": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{}`)
		},
		"success as error": func(w http.ResponseWriter, r *http.Request) { status(w, 500, `{"kind":"Status","status":"Success"}`) },
		"an empty error":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://elsewhere.test/")
			w.WriteHeader(302)
		},
		"a switch": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
		"mid-air":  func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			lies := true
			serving(t, false, func(w http.ResponseWriter, r *http.Request) {
				if lies {
					lie(w, r)
					return
				}
				status(w, 200, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default"}}`)
			}, func(t *testing.T, s *clienttest.Server) {
				lies = true
				cms := client.For[*corev1.ConfigMap](s.Conn(t, rest.Options{}))
				_, err := cms.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"})
				var refused *apierrors.StatusError
				var undecodable *client.DecodeError
				var broken *rest.Error
				require.Error(t, err)
				require.True(t, errors.As(err, &refused) || errors.As(err, &undecodable) || errors.As(err, &broken), "%T: %v", err, err)
				lies = false
				_, err = cms.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"})
				require.NoError(t, err)
			})
		})
	}
}

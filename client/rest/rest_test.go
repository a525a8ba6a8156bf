package rest_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func get(name string) *client.Request {
	return &client.Request{Resource: configMaps, Namespace: "default", Name: name}
}

// serving runs f in a bubble against a handler.
func serving(t *testing.T, tls bool, h http.HandlerFunc, f func(t *testing.T, s *clienttest.Server)) {
	synctest.Test(t, func(t *testing.T) {
		f(t, clienttest.Start(t, clienttest.Options{Handler: h, TLS: tls}))
	})
}

func status(w http.ResponseWriter, code int, body string, headers ...string) {
	for i := 0; i+1 < len(headers); i += 2 {
		w.Header().Add(headers[i], headers[i+1])
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	io.WriteString(w, body)
}

func TestRetryAfterIsHonouredAndTheBodySentAgain(t *testing.T) {
	for _, code := range []int{429, 503, 500} {
		var bodies []string
		serving(t, true, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(b))
			if len(bodies) < 3 {
				status(w, code, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests"}`, "Retry-After", "1")
				return
			}
			status(w, 201, `{}`)
		}, func(t *testing.T, s *clienttest.Server) {
			var retries int
			c := s.Conn(t, rest.Options{Metrics: rest.Metrics{Retry: func(rest.Target, int) { retries++ }}})
			start := time.Now()
			r := get("")
			r.Method, r.Body, r.ContentType = "POST", []byte(`{"a":1}`), "application/json"
			resp, err := c.Do(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, 201, resp.Code)
			require.Equal(t, []string{`{"a":1}`, `{"a":1}`, `{"a":1}`}, bodies)
			require.Equal(t, 2, retries)
			require.GreaterOrEqual(t, time.Since(start), 2*time.Second)
			require.Less(t, time.Since(start), 3*time.Second)
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	n := 0
	refuse := func(w http.ResponseWriter, r *http.Request) {
		n++
		status(w, 429, `slow down`, "Retry-After", "2")
	}
	serving(t, false, refuse, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{})
		_, err := c.Do(t.Context(), get("a"))
		require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
		require.Equal(t, 11, n)
		// With a deadline before the next try the last reply is returned at once.
		n = 0
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err = c.Do(ctx, get("a"))
		require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
		require.Less(t, time.Since(start), 3*time.Second)
		require.LessOrEqual(t, n, 2)
		// An eviction refused by a budget is not retried.
		n = 0
		r := get("a")
		r.Method, r.Subresource = "POST", "eviction"
		_, err = c.Do(t.Context(), r)
		require.True(t, apierrors.IsTooManyRequests(err))
		require.Equal(t, 1, n)
	})
}

// A 429 that is a decision about the object neither slows down other requests nor is retried: an eviction
// that a budget refuses, with or without Retry-After, and a 429 without Retry-After, such as the denial of a
// webhook.
func TestAnswersThatAreNotLoad(t *testing.T) {
	served := 0
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		served++
		if strings.HasSuffix(r.URL.Path, "/eviction") && served%2 == 0 {
			w.Header().Set("Retry-After", "10")
		}
		status(w, 429, `{"kind":"Status","status":"Failure","reason":"TooManyRequests","message":"not now"}`)
	}, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{Metrics: rest.Metrics{Limit: func(n int) { require.Equal(t, 32, n, "the limit has changed") }}})
		start := time.Now()
		for n := range 20 {
			r := get(fmt.Sprint("pod-", n))
			r.Method = "POST"
			if n < 10 {
				r.Subresource = "eviction"
			}
			_, err := c.Do(t.Context(), r)
			require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
			time.Sleep(2 * time.Second)
		}
		require.Equal(t, 20, served)
		require.Equal(t, 40*time.Second, time.Since(start))
	})
}

// A 404 that names no object names the request.
func TestWhichResourceIsNotServed(t *testing.T) {
	body := `{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"the server could not find the requested resource"}`
	serving(t, false, func(w http.ResponseWriter, r *http.Request) { status(w, 404, body) }, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{})
		_, err := c.Do(t.Context(), &client.Request{Method: "POST", Resource: schema.GroupVersionResource{Group: "x.example.com", Version: "v1", Resource: "thingz"}, Namespace: "default"})
		require.True(t, apierrors.IsNotFound(err))
		require.EqualError(t, err, "the server could not find the requested resource (post thingz.x.example.com)")
		body = `{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"configmaps \"a\" not found","details":{"kind":"configmaps","name":"a"}}`
		_, err = c.Do(t.Context(), get("a"))
		require.EqualError(t, err, `configmaps "a" not found`)
	})
}

func TestErrorsAreTyped(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("case") {
		case "status":
			status(w, 409, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"no"}`)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			io.WriteString(w, "<html>\xff bad gateway</html>")
		case "cut":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("short"))
		}
	}, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{})
		do := func(name, method string) error {
			r := get("a")
			r.Method = method
			r.Query = map[string][]string{"case": {name}}
			_, err := c.Do(t.Context(), r)
			return err
		}
		require.True(t, apierrors.IsConflict(do("status", "PUT")))
		require.Equal(t, 502, apierrors.CodeOf(do("html", "GET")))
		err := do("cut", "POST")
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		var e *rest.Error
		require.ErrorAs(t, err, &e)
		require.NotContains(t, err.Error(), "case=", "queries may hold secrets")
		s.Listener.Close()
		c.Close()
		_, err = c.Do(t.Context(), get("a"))
		require.ErrorAs(t, err, &e)
	})
}

func TestReadsAreSentAgainOnBrokenConnections(t *testing.T) {
	n := 0
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		if n++; n < 3 {
			panic(http.ErrAbortHandler)
		}
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{})
		_, err := c.Do(t.Context(), get("a"))
		require.NoError(t, err)
		require.Equal(t, 3, n)
		n = 0
		r := get("a")
		r.Method = "POST"
		_, err = c.Do(t.Context(), r)
		require.Error(t, err, "a write may have been done")
		require.Equal(t, 1, n)
	})
}

func TestConcurrencyAdapts(t *testing.T) {
	var now, most atomic.Int64
	limit := int64(5)
	serving(t, true, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		most.Store(max(most.Load(), n))
		if n > limit {
			status(w, 429, `{"kind":"Status","status":"Failure","reason":"TooManyRequests"}`, "Retry-After", "1")
			return
		}
		time.Sleep(100 * time.Millisecond)
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		var limits []int
		var refused, total atomic.Int64
		c := s.Conn(t, rest.Options{Retries: 1000, Metrics: rest.Metrics{Limit: func(n int) { limits = append(limits, n) }, Request: func(_ rest.Target, code int, _ time.Duration) {
			total.Add(1)
			if code == 429 {
				refused.Add(1)
			}
		}}})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 20 {
					if _, err := c.Do(t.Context(), get("a")); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.NotEmpty(t, limits)
		require.Less(t, float64(refused.Load())/float64(total.Load()), 0.45, "%d of %d refused", refused.Load(), total.Load())
	})
}

// A change of the limit during a call of the hook is in a later call, whichever goroutine makes it.
func TestLimitIsReportedInOrder(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, _ *http.Request) { status(w, 429, `slow down`, "Retry-After", "1") }, func(t *testing.T, s *clienttest.Server) {
		var limits []int
		c := s.Conn(t, rest.Options{Retries: -1, Metrics: rest.Metrics{Limit: func(n int) {
			if n == 16 {
				time.Sleep(3 * time.Second)
			}
			limits = append(limits, n)
		}}})
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 2 * time.Second)
				_, err := c.Do(t.Context(), get("a"))
				require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
			})
		}
		wg.Wait()
		require.Equal(t, []int{32, 16, 8}, limits)
	})
}

// The hooks receive what the metrics of Kubernetes components need: the HTTP method and the host beside the
// verb, the limit from the beginning, and the time that requests waited for their turn, of either limit.
func TestMetricsHooks(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Second)
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		var mu sync.Mutex
		var limits []int
		targets, waits := map[rest.Target]int{}, []time.Duration{}
		m := rest.Metrics{
			Limit: func(n int) { limits = append(limits, n) },
			Request: func(to rest.Target, code int, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				require.Equal(t, 200, code)
				require.Equal(t, time.Second, took)
				targets[to]++
			},
			Queued: func(to rest.Target, waited time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				require.NotEmpty(t, to.Host)
				waits = append(waits, waited)
			},
		}
		c := s.Conn(t, rest.Options{MaxInFlight: 1, QPS: 0.5, Burst: 2, Metrics: m})
		require.Equal(t, []int{1}, limits)
		host := strings.TrimPrefix(strings.TrimPrefix(c.Host(), "https://"), "http://")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if _, err := c.Do(t.Context(), get("a")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, map[rest.Target]int{{Verb: "get", Method: "GET", Host: host, Resource: get("a").Resource.Resource}: 2}, targets)
		require.Equal(t, []time.Duration{time.Second}, waits, "the second one waited for the first")
		for range 2 {
			_, err := c.Do(t.Context(), get("a"))
			require.NoError(t, err)
		}
		require.Equal(t, []time.Duration{time.Second, time.Second}, waits, "the fourth one waited for the rate")
	})
}

func TestLeasesAndStreamsDoNotWait(t *testing.T) {
	release := make(chan struct{})
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "leases") || r.URL.Query().Has("watch") {
			status(w, 200, `{}`)
			return
		}
		<-release
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		release = make(chan struct{})
		c := s.Conn(t, rest.Options{MaxInFlight: 1})
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = c.Do(t.Context(), get("a")) })
		}
		synctest.Wait()
		_, err := c.Do(t.Context(), &client.Request{Resource: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespace: "a", Name: "b"})
		require.NoError(t, err)
		r := get("")
		r.Query = map[string][]string{"watch": {"true"}}
		st, err := c.Stream(t.Context(), r)
		require.NoError(t, err)
		st.Body.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = c.Do(ctx, get("b"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		wg.Wait()
	})
}

func TestFixedRate(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{}`) }, func(t *testing.T, s *clienttest.Server) {
		c := s.Conn(t, rest.Options{QPS: 5, Burst: 1})
		start := time.Now()
		for range 20 {
			_, err := c.Do(t.Context(), get("a"))
			require.NoError(t, err)
		}
		require.InDelta(t, 3.8, time.Since(start).Seconds(), 0.1)
	})
}

func TestWarnings(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		status(w, 200, `{}`, "Warning", `299 - "old \"thing\"", 299 agent "second"`, "Warning", `199 - "not ours"`)
	}, func(t *testing.T, s *clienttest.Server) {
		var log bytes.Buffer
		c := s.Conn(t, rest.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 3 {
			resp, err := c.Do(t.Context(), get("a"))
			require.NoError(t, err)
			require.Equal(t, []string{`old "thing"`, "second"}, resp.Warnings)
		}
		require.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log.String())
		var got []rest.Warning
		c = s.Conn(t, rest.Options{Warnings: func(w rest.Warning) { got = append(got, w) }})
		_, err := c.Do(t.Context(), get("a"))
		require.NoError(t, err)
		require.Len(t, got, 3)
	})
}

func TestRequestsAsSent(t *testing.T) {
	var seen *http.Request
	serving(t, true, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		cfg := s.Config()
		cfg.BearerToken, cfg.UserAgent = "secret", "test/1"
		n := 0
		cfg.Wrap = func(rt http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { n++; return rt.RoundTrip(r) })
		}
		c := client.Impersonate(s.ConnWith(t, cfg, rest.Options{}), client.User{Name: "bob", UID: "7", Groups: []string{"g", "h"}, Extra: map[string][]string{"a/b%": {"x"}}})
		r := get("a b/c")
		r.Subresource = "proxy/x"
		_, err := c.Do(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, "/api/v1/namespaces/default/configmaps/a%20b%2Fc/proxy/x", seen.URL.EscapedPath())
		require.Equal(t, "Bearer secret", seen.Header.Get("Authorization"))
		require.Equal(t, "test/1", seen.UserAgent())
		require.Equal(t, "bob", seen.Header.Get("Impersonate-User"))
		require.Equal(t, "7", seen.Header.Get("Impersonate-Uid"))
		require.Equal(t, []string{"g", "h"}, seen.Header["Impersonate-Group"])
		require.Equal(t, "x", seen.Header.Get("Impersonate-Extra-a%2Fb%25"))
		require.Equal(t, "HTTP/2.0", seen.Proto)
		require.Empty(t, seen.Header.Get("Accept-Encoding"))
		require.Equal(t, 1, n)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// files writes a certificate for a user and its key.
func files(t *testing.T, dir, user string) {
	pair, pemCert, err := clienttest.Certificate("client", &pkix.Name{CommonName: user}, nil)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(pair.PrivateKey.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "crt"), pemCert, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
}

func TestCertificatesAndTokensRotate(t *testing.T) {
	dir := t.TempDir()
	serving(t, true, func(w http.ResponseWriter, r *http.Request) {
		status(w, 200, fmt.Sprintf("%q", r.TLS.PeerCertificates[0].Subject.CommonName+" "+r.Header.Get("Authorization")))
	}, func(t *testing.T, s *clienttest.Server) {
		files(t, dir, "one")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("t1\n"), 0o600))
		cfg := s.Config()
		cfg.TLS.CertFile, cfg.TLS.KeyFile, cfg.BearerTokenFile = filepath.Join(dir, "crt"), filepath.Join(dir, "key"), filepath.Join(dir, "token")
		c := s.ConnWith(t, cfg, rest.Options{})
		who := func() string {
			resp, err := c.Do(t.Context(), get("a"))
			require.NoError(t, err)
			return string(resp.Body)
		}
		require.Equal(t, `"one Bearer t1"`, who())
		files(t, dir, "two")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "token"), []byte("t2"), 0o600))
		require.Equal(t, `"one Bearer t1"`, who(), "the files are not read for every request")
		time.Sleep(11 * time.Second)
		require.Equal(t, `"two Bearer t2"`, who())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "crt"), []byte("half"), 0o600))
		time.Sleep(11 * time.Second)
		require.Equal(t, `"two Bearer t2"`, who(), "a broken file changes nothing")
	})
}

// The error of an expired certificate differs from that of an unknown one, and contains a plain text reply.
func TestRefusalsSayWhy(t *testing.T) {
	dir := t.TempDir()
	serving(t, true, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "PUT" {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", 400)
			return
		}
		status(w, 401, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401,"message":"Unauthorized"}`)
	}, func(t *testing.T, s *clienttest.Server) {
		files(t, dir, "one")
		cfg := s.Config()
		cfg.TLS.CertFile, cfg.TLS.KeyFile = filepath.Join(dir, "crt"), filepath.Join(dir, "key")
		c := s.ConnWith(t, cfg, rest.Options{})
		_, err := c.Do(t.Context(), get("a"))
		require.EqualError(t, err, "Unauthorized")
		put := get("a")
		put.Method = "PUT"
		_, err = c.Do(t.Context(), put)
		require.ErrorContains(t, err, "unknown reason (put configmaps a): Client sent an HTTP request to an HTTPS server.")
		time.Sleep(2 * 24 * time.Hour)
		cfg.TLS.Insecure, cfg.TLS.CAData, cfg.TLS.CAFile = true, nil, ""
		_, err = s.ConnWith(t, cfg, rest.Options{}).Do(t.Context(), get("a"))
		require.True(t, apierrors.IsUnauthorized(err))
		require.ErrorContains(t, err, "Unauthorized: the client certificate expired at 2000-01-02T00:00:00Z")
	})
}

func TestUnauthorizedReadsTheTokenAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer new" {
			status(w, 401, `{"kind":"Status","status":"Failure","reason":"Unauthorized","code":401}`)
			return
		}
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
		cfg := s.Config()
		cfg.BearerTokenFile = file
		c := s.ConnWith(t, cfg, rest.Options{})
		_, err := c.Do(t.Context(), get("a"))
		require.True(t, apierrors.IsUnauthorized(err))
		require.NoError(t, os.WriteFile(file, []byte("new"), 0o600))
		_, err = c.Do(t.Context(), get("a"))
		require.NoError(t, err)
	})
}

func TestStreamsEnd(t *testing.T) {
	for _, tls := range []bool{false, true} {
		serving(t, tls, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "first\n")
			http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, func(t *testing.T, s *clienttest.Server) {
			c := s.Conn(t, rest.Options{})
			st, err := c.Stream(t.Context(), get("a"))
			require.NoError(t, err)
			buf := make([]byte, 100)
			n, err := st.Body.Read(buf)
			require.NoError(t, err)
			require.Equal(t, "first\n", string(buf[:n]))
			go func() {
				time.Sleep(time.Second)
				st.Body.Close()
			}()
			_, err = st.Body.Read(buf)
			require.Error(t, err, "closing ends a read")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			st, err = c.Stream(ctx, get("a"))
			require.NoError(t, err)
			defer st.Body.Close()
			_, err = io.ReadAll(st.Body)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// blackHole is a connection whose network drops everything without an error.
type blackHole struct {
	net.Conn
	gone *atomic.Bool
	stop chan struct{}
	once sync.Once
}

func (b *blackHole) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.gone.Load() {
		<-b.stop
		return 0, net.ErrClosed
	}
	return n, err
}

func (b *blackHole) Write(p []byte) (int, error) {
	if b.gone.Load() {
		return len(p), nil
	}
	return b.Conn.Write(p)
}

func (b *blackHole) Close() error {
	b.once.Do(func() { close(b.stop) })
	return b.Conn.Close()
}

func TestDeadConnectionsAreNoticed(t *testing.T) {
	serving(t, true, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, s *clienttest.Server) {
		var gone atomic.Bool
		cfg := s.Config()
		dial := cfg.Dial
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &blackHole{Conn: c, gone: &gone, stop: make(chan struct{})}, nil
		}
		c := s.ConnWith(t, cfg, rest.Options{})
		st, err := c.Stream(t.Context(), get("a"))
		require.NoError(t, err)
		defer st.Body.Close()
		time.Sleep(time.Minute)
		gone.Store(true)
		start := time.Now()
		_, err = io.ReadAll(st.Body)
		require.Error(t, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
	})
}

func TestBadConfigs(t *testing.T) {
	for _, cfg := range []rest.Config{
		{},
		{Host: "ftp://x"},
		{Host: "https://x", TLS: rest.TLSConfig{CAData: []byte("junk")}},
		{Host: "https://x", TLS: rest.TLSConfig{CAFile: "/does/not/exist"}},
		{Host: "https://x", TLS: rest.TLSConfig{CertData: []byte("junk"), KeyData: []byte("junk")}},
		{Host: "https://x", TLS: rest.TLSConfig{Insecure: true, CAData: []byte("x")}},
		{Host: "x", Username: "u", BearerToken: "t"},
		{Host: "https://x", Transport: http.DefaultTransport, TLS: rest.TLSConfig{Insecure: true}},
	} {
		_, err := rest.New(cfg, rest.Options{})
		require.Error(t, err, "%+v", cfg)
	}
}

// TestTransport: a given transport sends everything, inside Wrap.
func TestTransport(t *testing.T) {
	serving(t, true, func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{"from":"server"}`) }, func(t *testing.T, s *clienttest.Server) {
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(s.Config().TLS.CAData))
		tr := &http.Transport{DialContext: s.Listener.Dial, TLSClientConfig: &tls.Config{RootCAs: roots}}
		defer tr.CloseIdleConnections()
		wrapped := 0
		c := s.ConnWith(t, rest.Config{Host: s.Config().Host, Transport: tr, Wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) { wrapped++; return next.RoundTrip(r) })
		}}, rest.Options{})
		resp, err := c.Do(t.Context(), get("a"))
		require.NoError(t, err)
		require.JSONEq(t, `{"from":"server"}`, string(resp.Body))
		require.Equal(t, 1, wrapped)
		require.NoError(t, c.Close())
		_, err = c.Do(t.Context(), get("a"))
		require.NoError(t, err, "the transport is not the connection's to close")
	})
}

func TestUntrustedServerIsRefused(t *testing.T) {
	serving(t, true, func(w http.ResponseWriter, r *http.Request) { status(w, 200, `{}`) }, func(t *testing.T, s *clienttest.Server) {
		cfg := s.Config()
		cfg.TLS.CAData = nil
		_, err := s.ConnWith(t, cfg, rest.Options{}).Do(t.Context(), get("a"))
		var unknown *tls.CertificateVerificationError
		require.ErrorAs(t, err, &unknown)
		cfg.TLS.Insecure = true
		_, err = s.ConnWith(t, cfg, rest.Options{}).Do(t.Context(), get("a"))
		require.NoError(t, err)
	})
}

type source func(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error)

func (f source) Credential(ctx context.Context, rejected *rest.Credential) (*rest.Credential, error) {
	return f(ctx, rejected)
}

func TestCredentialSource(t *testing.T) {
	serving(t, false, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer 2" {
			status(w, 401, `{"kind":"Status","status":"Failure","reason":"Unauthorized","code":401}`)
			return
		}
		status(w, 200, `{}`)
	}, func(t *testing.T, s *clienttest.Server) {
		n := 1
		cfg := s.Config()
		cfg.Credentials = source(func(_ context.Context, rejected *rest.Credential) (*rest.Credential, error) {
			if rejected != nil {
				n++
			}
			if n == 4 {
				return nil, errors.New("no more")
			}
			return &rest.Credential{Token: fmt.Sprint(n)}, nil
		})
		c := s.ConnWith(t, cfg, rest.Options{})
		_, err := c.Do(t.Context(), get("a"))
		require.NoError(t, err)
		n = 3
		_, err = c.Do(t.Context(), get("a"))
		require.ErrorContains(t, err, "no more")
	})
}

func FuzzParseWarnings(f *testing.F) {
	f.Add(`299 - "a", 299 - "b\"" "Mon, 02 Jan 2006 15:04:05 GMT"`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range rest.ParseWarnings(s) {
			require.NotEmpty(t, w.Agent)
		}
	})
}

func Example() {
	conn, err := rest.New(rest.Config{Host: "https://10.0.0.1:6443", BearerTokenFile: os.Args[0]}, rest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	fmt.Println(conn.Host())
	// Output: https://10.0.0.1:6443
}

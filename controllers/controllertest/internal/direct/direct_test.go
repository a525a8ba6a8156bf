package direct_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/controllertest/internal/direct"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// call sends a request by a transport to h.
func call(t *testing.T, ctx context.Context, h http.HandlerFunc, edit ...func(*http.Request)) (*http.Response, error) {
	s := direct.New(context.Background, h)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server.test/a%2Fb?c=d", http.NoBody)
	require.NoError(t, err)
	for _, f := range edit {
		f(r)
	}
	return s.Transport(&authn.User{Name: "ann"}).RoundTrip(r)
}

// The response of each handler is compared with that of net/http over HTTP/2 and in memory.
func TestResponsesAreThoseOfAConnection(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 16<<10)
	handlers := map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"text":    func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") },
		"status": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Warning", "one")
			w.Header().Add("Warning", "two")
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			w.Header().Set("Late", "yes")
			fmt.Fprint(w, "{}")
		},
		"no content": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			_, err := fmt.Fprint(w, "x")
			if !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"length": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5")
			fmt.Fprint(w, "hello")
		},
		"early": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusEarlyHints); fmt.Fprint(w, "x") },
		"large": func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(large) },
		"streamed": func(w http.ResponseWriter, r *http.Request) {
			for i := range 3 {
				fmt.Fprint(w, i)
				w.(http.Flusher).Flush()
			}
		},
		"request": func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			fmt.Fprint(w, r.Method, r.Host, r.URL.String(), r.RequestURI, r.URL.Path, r.Proto, r.ContentLength, r.Header["A"], r.TLS != nil, string(body), err)
		},
	}
	for name, h := range handlers {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				want := show(t, method, network(t, h))
				s := direct.New(context.Background, h)
				defer s.Close()
				require.Equal(t, want, show(t, method, s.Transport(&authn.User{})))
			})
		}
	}
}

// network returns a transport that reaches h by HTTP/2 over a connection.
func network(t *testing.T, h http.Handler) http.RoundTripper {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Listener.Close()
	l := pipenet.New()
	s.Listener = l
	s.StartTLS()
	t.Cleanup(s.Close)
	tr := s.Client().Transport.(*http.Transport)
	tr.DialContext = l.Dial
	tr.DisableCompression = true
	tr.TLSClientConfig.ServerName = "example.com"
	return tr
}

// show returns what a client sees.
func show(t *testing.T, method string, tr http.RoundTripper) string {
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader("sent")
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "https://server.test/a%2Fb?c=d", body)
	require.NoError(t, err)
	r.Header["A"] = []string{"1", "2"}
	resp, err := tr.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	resp.Header.Del("Date")
	resp.Header.Del("Content-Length") // ContentLength has it
	length := resp.ContentLength
	if length < 0 || method == "HEAD" {
		length = 0 // a connection may know it or not
	}
	return fmt.Sprintf("%s %s %v %d %q %q", resp.Status, resp.Proto, resp.Header, max(length, int64(len(b))), b, resp.Trailer)
}

type leaky struct{}

// The handler's context is not the client's: it has no values of it, and the user of the transport.
func TestContextsAreSeparate(t *testing.T) {
	ctx := context.WithValue(t.Context(), leaky{}, "token")
	ctx = authn.WithUser(ctx, &authn.User{Name: "mallory"})
	resp, err := call(t, ctx, func(w http.ResponseWriter, r *http.Request) {
		got, ok, err := direct.Authenticator().Authenticate(r)
		fmt.Fprint(w, r.Context().Value(leaky{}), authn.UserFrom(r.Context()), got.User.Name, ok, err, direct.Caller(r.Context()).Value(leaky{}))
	})
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "<nil> <nil>anntrue <nil>token", string(b))
	_, ok, err := direct.Authenticator().Authenticate(httptest.NewRequestWithContext(ctx, "GET", "/", nil))
	require.NoError(t, err)
	require.False(t, ok, "no other request is trusted")
	require.Nil(t, direct.Caller(ctx))
}

// A handler waits for a client that does not read, and ends when it has gone.
func TestStreamsHaveBackpressure(t *testing.T) {
	for _, end := range []string{"close", "cancel", "server"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var wrote int
			var failed error
			s := direct.New(context.Background, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for failed == nil {
					var n int
					n, failed = w.Write(make([]byte, 1<<10))
					wrote += n
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			r, err := http.NewRequestWithContext(ctx, "GET", "https://server.test/", nil)
			require.NoError(t, err)
			resp, err := s.Transport(&authn.User{}).RoundTrip(r)
			require.NoError(t, err)
			synctest.Wait()
			streams, bytes := s.Unread()
			require.Equal(t, 1, streams)
			require.Equal(t, wrote, bytes)
			require.Equal(t, 64<<10, wrote)
			_, err = io.ReadFull(resp.Body, make([]byte, 10<<10))
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, 74<<10, wrote)
			switch end {
			case "close":
				require.NoError(t, resp.Body.Close())
			case "cancel":
				cancel()
				synctest.Wait()
				_, err := resp.Body.Read(make([]byte, 1))
				require.ErrorIs(t, err, context.Canceled)
			}
			synctest.Wait()
			require.NoError(t, s.Close())
			require.Error(t, failed)
			streams, _ = s.Unread()
			require.Zero(t, streams)
			_, err = s.Transport(&authn.User{}).RoundTrip(r.WithContext(t.Context()))
			require.ErrorIs(t, err, net.ErrClosed)
		})
	}
}

// A client that gives up does not wait for the handler, whose context ends.
func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too slow"))
		defer cancel()
		ended := time.Time{}
		began := time.Now()
		_, err := call(t, ctx, func(w http.ResponseWriter, r *http.Request) {
			_, inherits := r.Context().Deadline()
			<-r.Context().Done()
			time.Sleep(time.Hour)
			ended = time.Now()
			if inherits || !errors.Is(r.Context().Err(), context.Canceled) {
				panic("a deadline of the client reached the server")
			}
		})
		require.EqualError(t, err, "too slow")
		require.Equal(t, time.Second, time.Since(began))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, time.Hour+time.Second, ended.Sub(began))
	})
}

// A response that the handler did not complete does not look complete.
func TestAbortedResponses(t *testing.T) {
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	_, err := call(t, t.Context(), abort)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	resp, err := call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "half")
		w.(http.Flusher).Flush()
		abort(w, r)
	})
	require.NoError(t, err)
	b, err := io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "half", string(b))
}

// stalled is a request body that never comes.
type stalled struct {
	once sync.Once
	done chan struct{}
}

func (s *stalled) Read([]byte) (int, error) { <-s.done; return 0, io.ErrClosedPipe }
func (s *stalled) Close() error             { s.once.Do(func() { close(s.done) }); return nil }

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &stalled{done: make(chan struct{})}
		began := time.Now()
		resp, err := call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
			if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				panic(err)
			}
			_, err := r.Body.Read(make([]byte, 1))
			fmt.Fprint(w, errors.Is(err, os.ErrDeadlineExceeded), r.ContentLength)
		}, func(r *http.Request) { r.Method, r.Body, r.ContentLength = "POST", body, -1 })
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.Equal(t, "true -1", string(b))
		require.Equal(t, time.Minute, time.Since(began))

		var late error
		_, err = call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			if err := errors.Join(control.SetWriteDeadline(time.Now().Add(time.Minute)), control.Flush()); err != nil {
				panic(err)
			}
			_, late = w.Write(make([]byte, 1<<20))
		})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.ErrorIs(t, late, os.ErrDeadlineExceeded)
	})
}

// An upgraded connection carries bytes both ways, also through a reverse proxy, as exec and port-forward do.
func TestUpgrades(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(c, rw)
	}
	upgrade := func(r *http.Request) { r.Header.Set("Connection", "Upgrade"); r.Header.Set("Upgrade", "echo") }
	behind := direct.New(context.Background, http.HandlerFunc(echo))
	defer behind.Close()
	target, err := url.Parse("http://behind.test")
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Transport: behind.Transport(&authn.User{}), Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	for name, h := range map[string]http.HandlerFunc{"echo": echo, "proxy": proxy.ServeHTTP} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			resp, err := call(t, ctx, h, upgrade)
			require.NoError(t, err)
			require.Equal(t, http.StatusSwitchingProtocols, resp.StatusCode)
			c := resp.Body.(io.ReadWriteCloser)
			for _, line := range []string{"a\n", "b\n"} {
				_, err := io.WriteString(c, line)
				require.NoError(t, err)
				got, err := bufio.NewReader(io.LimitReader(c, 2)).ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, line, got)
			}
			cancel()
			_, err = c.Read(make([]byte, 1))
			require.Error(t, err)
			require.NoError(t, c.Close())
		})
	}
	resp, err := call(t, t.Context(), func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no", http.StatusForbidden)
	}, upgrade)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

// What net/http's client would not send is not sent.
func TestRefusedRequests(t *testing.T) {
	never := func(http.ResponseWriter, *http.Request) { panic("called") }
	for want, edit := range map[string]func(*http.Request){
		"no host":                    func(r *http.Request) { r.URL.Host = "" },
		"invalid header field name":  func(r *http.Request) { r.Header["a b"] = []string{"c"} },
		"invalid header field value": func(r *http.Request) { r.Header.Set("Impersonate-User", "a\r\nb") },
	} {
		_, err := call(t, t.Context(), never, edit)
		require.ErrorContains(t, err, want)
	}
}

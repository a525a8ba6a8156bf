package health_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/health"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// Alive and ready are different questions.
func Example() {
	started := false
	h := health.New(health.Options{})
	h.Live("deadlock", func(context.Context) error { return nil })
	h.Ready("started", func(context.Context) error {
		if !started {
			return errors.New("not yet")
		}
		return nil
	})
	for range 2 {
		for _, path := range []string{"/livez", "/readyz"} {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
			fmt.Println(path, answer.Code)
		}
		started = true
	}
	// Output:
	// /livez 200
	// /readyz 500
	// /livez 200
	// /readyz 200
}

func get(h http.Handler, path string) (int, string) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestChecks(t *testing.T) {
	var log bytes.Buffer
	h := health.New(health.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.Panics(t, func() { h.Live("", func(context.Context) error { return nil }) })
	require.Panics(t, func() { h.Live("a/b", func(context.Context) error { return nil }) })
	require.Panics(t, func() { h.Live("a", nil) })
	var broken error
	h.Live("alive", func(context.Context) error { return broken })
	h.Ready("warm", func(context.Context) error { return nil })
	require.Panics(t, func() { h.Ready("alive", func(context.Context) error { return nil }) })
	h.Handle("GET /metrics", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "measured") }))
	for _, want := range []struct {
		path string
		code int
		body string
	}{
		{"/healthz", 200, "ok"}, {"/livez", 200, "ok"}, {"/readyz", 200, "ok"}, {"/metrics", 200, "measured"},
		{"/readyz?verbose", 200, "[+]alive ok\n[+]warm ok\nreadyz check passed"}, {"/livez?verbose", 200, "[+]alive ok\nlivez check passed"},
		{"/readyz/warm", 200, "ok"}, {"/livez/warm", 404, "404 page not found"}, {"/readyz/none", 404, "404 page not found"},
	} {
		code, body := get(h, want.path)
		require.Equal(t, want.code, code, want.path)
		require.Equal(t, want.body, body, want.path)
	}
	broken = errors.New("the secret reason")
	for _, want := range []struct {
		path string
		code int
		body string
	}{
		{"/readyz", 500, "[-]alive failed: reason withheld\n[+]warm ok\nreadyz check failed"}, {"/livez", 500, "[-]alive failed: reason withheld\nlivez check failed"},
		{"/livez?exclude=alive", 200, "ok"}, {"/livez/alive", 500, "failed: reason withheld"}, {"/readyz/warm", 200, "ok"},
	} {
		code, body := get(h, want.path)
		require.Equal(t, want.code, code, want.path)
		require.Equal(t, want.body, body, want.path)
	}
	require.Equal(t, 1, strings.Count(log.String(), "the secret reason"), "once: %s", &log)
	broken = nil
	code, _ := get(h, "/livez")
	require.Equal(t, 200, code)
	require.Contains(t, log.String(), "passed again")
}

// visible is an error of which a part may be shown.
type visible struct{ name string }

func (v *visible) Error() string  { return "the secret of " + v.name }
func (v *visible) Public() string { return v.name }

// Reports are shown on request and fail nothing, and errors name what may be named.
func TestReports(t *testing.T) {
	h := health.New(health.Options{})
	var required, reported error
	h.Ready("required", func(context.Context) error { return required })
	h.Report("reported", func(context.Context) error { return reported })
	for _, want := range []struct {
		required, reported error
		path               string
		code               int
		body               string
	}{
		{nil, nil, "/readyz?verbose", 200, "[+]required ok\n[+]reported ok\nreadyz check passed"},
		{nil, &visible{"a"}, "/readyz?verbose", 200, "[+]required ok\n[!]reported failed, not required: a: reason withheld\nreadyz check passed"},
		{nil, &visible{"a"}, "/readyz", 200, "ok"}, {nil, &visible{"a"}, "/livez?verbose", 200, "livez check passed"},
		{nil, &visible{"a"}, "/readyz/reported", 500, "failed: a: reason withheld"},
		{errors.New("x"), &visible{"a"}, "/readyz", 500, "[-]required failed: reason withheld\nreadyz check failed"},
		{fmt.Errorf("x: %w", errors.Join(&visible{"b"}, errors.New("y"), &visible{"c"})), nil, "/readyz", 500, "[-]required failed: b, c: reason withheld\nreadyz check failed"},
	} {
		required, reported = want.required, want.reported
		code, body := get(h, want.path)
		require.Equal(t, want.code, code, want.path)
		require.Equal(t, want.body, body, want.path)
	}
}

// Checks that panic or hang fail alone, over TLS and in a program that ends.
func TestBadChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := certs.NewAuthority("ca")
		require.NoError(t, err)
		pair, err := ca.Serving("health", "health")
		require.NoError(t, err)
		cert, l := pair.TLS(), pipenet.New()
		h := health.New(health.Options{Listener: l, Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &cert, nil }})
		h.Ready("panics", func(context.Context) error { panic("no") })
		hung := make(chan struct{})
		var calls atomic.Int32
		h.Ready("hangs", func(context.Context) error { calls.Add(1); <-hung; return nil })
		h.Ready("fine", func(context.Context) error { return nil })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		tr := &http.Transport{DialContext: l.Dial, TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
		began := time.Now()
		resp, err := (&http.Client{Transport: tr}).Get("https://health/readyz")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, 500, resp.StatusCode)
		require.Equal(t, "[-]panics failed: reason withheld\n[-]hangs failed: reason withheld\n[+]fine ok\nreadyz check failed\n", string(text))
		require.Equal(t, 5*time.Second, time.Since(began))
		code, _ := get(h, "/readyz/hangs")
		require.Equal(t, 500, code)
		require.EqualValues(t, 1, calls.Load(), "what hangs is not called again")
		tr.CloseIdleConnections()
		stop()
		require.NoError(t, <-done)
		close(hung)
	})
	require.ErrorContains(t, health.New(health.Options{Addr: "127.0.0.1:99999"}).Run(t.Context()), "health: ")
}

// Checks run side by side: a slow one holds up the answer, and not the checks after it.
func TestChecksRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := health.New(health.Options{})
		for i := range 10 {
			h.Live(fmt.Sprint("slow", i), func(context.Context) error { time.Sleep(4 * time.Second); return nil })
		}
		h.Live("hangs", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		code, body := get(h, "/livez")
		require.Equal(t, 500, code)
		require.Equal(t, 10, strings.Count(body, "ok\n"))
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// A check that failed before is not failed by other requests that run it, nor by clients that vanish.
func TestRequestsShareACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := health.New(health.Options{})
		broken, calls := errors.New("broken"), 0
		h.Live("slow", func(context.Context) error {
			calls++
			time.Sleep(3 * time.Second)
			return broken
		})
		code, _ := get(h, "/livez")
		require.Equal(t, 500, code)
		broken = nil
		ctx, vanish := context.WithCancel(t.Context())
		go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/livez", nil).WithContext(ctx))
		time.Sleep(time.Second)
		vanish()
		time.Sleep(time.Second)
		began := time.Now()
		code, _ = get(h, "/livez")
		require.Equal(t, 200, code)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, 2, calls)
	})
}

// A request that follows an answer begins a new call: results of before are not seen again.
func TestEveryAnswerIsNew(t *testing.T) {
	h := health.New(health.Options{})
	var result error
	h.Live("flips", func(context.Context) error { return result })
	for i := range 50_000 {
		want := 200
		if result = nil; i%2 == 0 {
			result, want = errors.New("odd"), 500
		}
		code, _ := get(h, "/livez")
		require.Equal(t, want, code)
	}
}

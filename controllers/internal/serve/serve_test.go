package serve_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/internal/serve"
	"github.com/keelson-dev/keelson/store/certs"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// slow answers a request after a duration.
func slow(d time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			w.WriteHeader(http.StatusTeapot)
		case <-r.Context().Done():
		}
	})
}

// run serves until cancel is called; ended receives what Run returned.
func run(t *testing.T, s *http.Server) (l *pipenet.Listener, cancel context.CancelFunc, ended <-chan error) {
	l = pipenet.New()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve.Run(ctx, s, l, 10*time.Second) }()
	return l, cancel, done
}

// A request in progress is finished within the timeout, and no new one is accepted meanwhile.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cancel, ended := run(t, &http.Server{Handler: slow(5 * time.Second)})
		client := &http.Client{Transport: &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}}
		got := make(chan int, 1)
		go func() {
			resp, err := client.Get("http://server/")
			if err != nil {
				got <- 0
				return
			}
			_ = resp.Body.Close()
			got <- resp.StatusCode
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		synctest.Wait()
		_, err := client.Get("http://server/")
		require.Error(t, err, "the listener is closed")
		require.Equal(t, http.StatusTeapot, <-got)
		require.NoError(t, <-ended)
		require.LessOrEqual(t, time.Since(began), 6*time.Second)
	})
}

// A request that takes longer loses its connection, and Run reports it.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cancel, ended := run(t, &http.Server{Handler: slow(time.Hour)})
		client := &http.Client{Transport: &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}}
		failed := make(chan error, 1)
		go func() {
			_, err := client.Get("http://server/")
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		require.ErrorIs(t, <-ended, context.DeadlineExceeded)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Error(t, <-failed)
	})
}

// With a TLSConfig the server speaks TLS, with the certificates of that configuration.
func TestTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, err := certs.NewAuthority("ca")
		require.NoError(t, err)
		pair, err := ca.Serving("server", "server")
		require.NoError(t, err)
		l, cancel, ended := run(t, &http.Server{Handler: slow(time.Second), TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair.TLS()}}})
		client := &http.Client{Transport: &http.Transport{DialContext: l.Dial, DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}}
		resp, err := client.Get("https://server/")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		cancel()
		require.NoError(t, <-ended)
	})
}

type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errors.New("accept is broken") }

func TestListenerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.EqualError(t, serve.Run(t.Context(), &http.Server{}, broken{pipenet.New()}, time.Second), "accept is broken")
	})
}

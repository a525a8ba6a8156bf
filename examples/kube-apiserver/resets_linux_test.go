package main

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An unauthenticated client that cancels requests at random moments does not harm the server.
func TestResetStreams(t *testing.T) {
	l := startLive(t)
	const clients, requests = 32, 60
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
			defer transport.CloseIdleConnections()
			for range requests {
				l.abandon(transport, time.Duration(random.Int64N(int64(3*time.Millisecond))))
			}
		})
	}
	running.Wait()
	select {
	case <-l.ended:
		require.Fail(t, "the server ended", l.log)
	default:
	}
	require.Equal(t, http.StatusOK, l.code(l.front, "/version"))
}

// abandon sends a request whose body does not end, and resets its stream after a while.
func (l *live) abandon(via http.RoundTripper, after time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), after)
	defer cancel()
	body, open := io.Pipe()
	defer open.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+l.host+"/version", body)
	require.NoError(l.t, err)
	if resp, err := via.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
}

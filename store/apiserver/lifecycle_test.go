package apiserver_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/pipenet"
)

// The context of Serve and Run ends for both at once, and Serve may notice it first. The server is not ready
// from then on, also if it refuses new requests at once.
func TestServeEndsBeforeRunNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		defer func() { require.NoError(t, st.Close()) }()
		s, err := apiserver.New(apiserver.Options{Store: st, ShutdownSendRetryAfter: true})
		require.NoError(t, err)
		running, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- s.Run(running) }()
		<-s.Ready()
		serving, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(serving, pipenet.New(), nil) }()
		synctest.Wait()
		require.Equal(t, http.StatusOK, direct(s, "GET", "/readyz", "").Code)
		cancel()
		require.NoError(t, <-served)
		require.Equal(t, http.StatusInternalServerError, direct(s, "GET", "/readyz", "").Code)
		require.Equal(t, http.StatusOK, direct(s, "GET", "/livez", "").Code)
		stop()
		require.NoError(t, <-ran)
	})
}

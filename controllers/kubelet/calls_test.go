package kubelet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Handlers of hijacked connections are ended and waited for.
func TestCallsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		c := &calls{conns: map[*call]net.Conn{}}
		stuck := false
		h := c.track(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			stuck = true
			_, err := io.ReadAll(here) // it does not look at its context
			require.ErrorIs(t, err, io.ErrClosedPipe)
			stuck = false
		}))
		done := make(chan struct{})
		r := httptest.NewRequest("GET", "/", nil).WithContext(withConn(context.Background(), here))
		go func() { defer close(done); h.ServeHTTP(httptest.NewRecorder(), r) }()
		synctest.Wait()
		require.True(t, stuck)
		began := time.Now()
		c.end()
		require.False(t, stuck)
		require.Equal(t, callGrace, time.Since(began))
		<-done
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusServiceUnavailable, w.Code, "nothing begins afterwards")
		c.end()
	})
}

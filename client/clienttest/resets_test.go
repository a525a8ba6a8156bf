package clienttest_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client/clienttest"
)

func TestReset(t *testing.T) {
	for _, tls := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var begun, whole, cut, open atomic.Int32
			s := clienttest.Start(t, clienttest.Options{TLS: tls, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				begun.Add(1)
				open.Add(1)
				defer open.Add(-1)
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					whole.Add(1)
				} else {
					cut.Add(1)
				}
				<-r.Context().Done()
			})})
			clienttest.Reset(t.Context(), 1, 400, s.Config())
			synctest.Wait()
			require.Zero(t, open.Load(), "all have been given up")
			require.LessOrEqual(t, begun.Load(), int32(400))
			require.Greater(t, begun.Load(), int32(200), "most have begun")
			require.NotZero(t, whole.Load())
			require.NotZero(t, cut.Load())
		})
	}
}

package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/cache"
	"github.com/keelson-dev/keelson/store/registry"
)

// lentWriter is a ResponseWriter that, as those of net/http, belongs to the handler only until that returns.
// Its writes hang from the second flush on until they are released.
type lentWriter struct {
	*httptest.ResponseRecorder
	flushes int
	stuck   chan struct{} // closed when a write hangs
	release chan struct{}
	over    atomic.Bool
	late    atomic.Int32 // uses after the handler
}

func newLentWriter() *lentWriter {
	return &lentWriter{ResponseRecorder: httptest.NewRecorder(), stuck: make(chan struct{}), release: make(chan struct{})}
}

func (w *lentWriter) use() {
	if w.over.Load() {
		w.late.Add(1)
	}
}

func (w *lentWriter) Write(b []byte) (int, error) {
	w.use()
	if w.flushes > 0 {
		close(w.stuck)
		<-w.release
		return 0, errors.New("the client has gone")
	}
	return w.ResponseRecorder.Write(b)
}

func (w *lentWriter) Flush() { w.use(); w.flushes++ }

func (w *lentWriter) SetReadDeadline(time.Time) error { w.use(); return nil }

func (w *lentWriter) SetWriteDeadline(time.Time) error { w.use(); return nil }

// A watch that is found too slow while its handler returns is cut off without its ResponseWriter: net/http
// has taken that back.
func TestSlowWatchThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var armed atomic.Bool
		found, proceed := make(chan struct{}), make(chan struct{})
		slow := func() {
			if armed.Load() {
				close(found)
				<-proceed
			}
		}
		s := start(t, apiserver.Options{Registry: registry.Options{Cache: cache.Options{WatcherBuffer: 2, Metrics: cache.Metrics{Slow: slow}}}})
		s.do("GET", configMaps, nil).ok(200)
		armed.Store(true)
		w := newLentWriter()
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.ServeHTTP(w, httptest.NewRequest("GET", configMaps+"?watch=1&resourceVersion=0", nil))
			w.over.Store(true)
		}()
		synctest.Wait()
		for i := range 6 { // the first blocks in a write, the others queue behind it
			s.do("POST", configMaps, configMap(fmt.Sprintf("c%d", i))).ok(201)
			synctest.Wait()
		}
		<-w.stuck
		<-found
		close(w.release)
		<-served
		close(proceed)
		synctest.Wait()
		require.Zero(t, w.late.Load(), "the ResponseWriter was used after the handler had returned")
	})
}

// stalledBody returns no data until it is closed by the end of its request.
type stalledBody <-chan struct{}

func (b stalledBody) Read([]byte) (int, error) {
	<-b
	return 0, context.Canceled
}

func (stalledBody) Close() error { return nil }

// A request that is abandoned while its handler returns is not used afterwards.
func TestAbandonedRequestThatHasEnded(t *testing.T) {
	s := start(t, apiserver.Options{})
	var late int32
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "/version", nil)
		r.Body, r.ContentLength = stalledBody(ctx.Done()), -1
		w := newLentWriter()
		go cancel()
		s.ServeHTTP(w, r)
		w.over.Store(true)
		runtime.Gosched()
		late += w.late.Load()
	}
	require.Zero(t, late, "the ResponseWriter was used after the handler had returned")
	require.Equal(t, http.StatusOK, s.do("GET", "/version", nil).code)
}

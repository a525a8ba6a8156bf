package clienttest_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// TestHistories lets concurrent clients write a few objects of the server, and checks every reply and every
// event.
func TestHistories(t *testing.T) {
	for _, seed := range seeds.Of(t, 100) {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.Start(t, clienttest.Options{})
			var others sync.WaitGroup
			if seed%4 == 0 {
				others.Go(func() { clienttest.Reset(t.Context(), seed, 24, s.Config()) })
			}
			h, err := clienttest.Record(t.Context(), seed, clienttest.HistoryOptions{}, s.Conn(t, rest.Options{}), s.Conn(t, rest.Options{}))
			others.Wait()
			require.NoError(t, err, "seed %d", seed)
			require.NoError(t, h.Check(), "seed %d", seed)
			calls, unknown := h.Calls()
			require.Zero(t, unknown, "seed %d: a healthy server leaves no call open", seed)
			require.NotZero(t, calls)
			events, streams := h.Events()
			require.NotZero(t, events)
			require.Equal(t, 2, streams, "seed %d: no watcher had to start over", seed)
		})
	}
}

// TestHistoriesOfAFailingStore does the same while the store refuses requests, loses answers and breaks
// watches.
func TestHistoriesOfAFailingStore(t *testing.T) {
	for _, seed := range seeds.Of(t, 100) {
		synctest.Test(t, func(t *testing.T) {
			healthy := memory.New(memory.Options{})
			defer healthy.Close()
			var started atomic.Bool
			chaos := storetest.Chaos(seed, 0.1)
			s := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{Store: storetest.NewFaulty(healthy, storetest.Hooks{
				Before: func(ctx context.Context, r storetest.Request) error {
					if !started.Load() {
						return nil
					}
					return chaos.Before(ctx, r)
				},
				After: func(ctx context.Context, r storetest.Request) error {
					if !started.Load() {
						return nil
					}
					return chaos.After(ctx, r)
				},
				Batch: chaos.Batch,
			})}})
			<-s.API.Ready()
			started.Store(true)
			h, err := clienttest.Record(t.Context(), seed, clienttest.HistoryOptions{}, s.Conn(t, rest.Options{}), s.Conn(t, rest.Options{}))
			require.NoError(t, err, "seed %d", seed)
			require.NoError(t, h.Check(), "seed %d", seed)
		})
	}
}

// staleReads answers some reads with an earlier reply to the same read.
type staleReads struct {
	client.Conn
	before map[string]*client.Response
	n      int
}

func (c *staleReads) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	if r.Verb() != "get" {
		return c.Conn.Do(ctx, r)
	}
	c.n++
	if old := c.before[r.URLPath()]; old != nil && c.n%3 == 0 {
		return old, nil
	}
	resp, err := c.Conn.Do(ctx, r)
	if err == nil {
		c.before[r.URLPath()] = resp
	}
	return resp, err
}

func TestHistoryFindsStaleReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		honest := s.Conn(t, rest.Options{})
		// Only one client uses the lying connection, so that it needs no lock.
		h, err := clienttest.Record(t.Context(), 1, clienttest.HistoryOptions{Clients: 2, Calls: 200, Keys: 1, Watchers: 1}, honest, &staleReads{Conn: honest, before: map[string]*client.Response{}})
		require.NoError(t, err)
		require.ErrorContains(t, h.Check(), "not linearizable")
	})
}

func TestHistoryWaitsForServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{Wrap: func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					http.Error(w, "the store is gone", http.StatusInternalServerError)
					return
				}
				h.ServeHTTP(w, r)
			})
		}})
		h, err := clienttest.Record(t.Context(), 1, clienttest.HistoryOptions{Calls: 5, Patience: time.Second}, s.Conn(t, rest.Options{}))
		require.ErrorContains(t, err, "no server accepted the last write")
		require.NoError(t, h.Check())
		_, unknown := h.Calls()
		require.NotZero(t, unknown)
	})
}

package apiserver_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// However often readiness is probed, the store is queried once a second.
func TestProbesShareTheStoresAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		healthy := memory.New(memory.Options{})
		defer healthy.Close()
		var asked atomic.Int32
		var broken, counting atomic.Bool
		st := storetest.NewFaulty(healthy, storetest.Hooks{Before: func(ctx context.Context, r storetest.Request) error {
			if !counting.Load() || r.Op != "progress" {
				return nil
			}
			asked.Add(1)
			if broken.Load() {
				return errors.New("the store is gone")
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			return ctx.Err()
		}})
		s := start(t, apiserver.Options{Store: st})
		synctest.Wait()
		counting.Store(true)
		time.Sleep(2 * time.Second)
		probe := func(n, code int) int32 {
			asked.Store(0)
			var clients sync.WaitGroup
			for range n {
				clients.Go(func() {
					for _, path := range []string{"/readyz", "/livez", "/healthz/etcd", "/readyz?verbose"} {
						require.Equal(t, code, s.do("GET", path, nil).code, path)
					}
				})
			}
			clients.Wait()
			return asked.Load()
		}
		require.EqualValues(t, 1, probe(50, 200))
		time.Sleep(2 * time.Second)
		// If a caller disconnects during the query of the store, the others get its result.
		ctx, cancel := context.WithCancel(t.Context())
		gone, err := http.NewRequestWithContext(ctx, "GET", "http://server/readyz", nil)
		require.NoError(t, err)
		go func() {
			if resp, err := s.client.Do(gone); err == nil {
				_ = resp.Body.Close()
			}
		}()
		time.Sleep(10 * time.Millisecond)
		cancel()
		require.EqualValues(t, 0, probe(10, 200), "the query of the disconnected caller counts")
		broken.Store(true)
		time.Sleep(time.Second)
		require.EqualValues(t, 1, probe(10, 500))
	})
}

// No memory is allocated for a large body that a client announces and does not send.
func TestAnnouncedBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{RequestTimeout: 10 * time.Second})
		got := allocated(func() {
			var clients sync.WaitGroup
			for range 50 {
				clients.Go(func() {
					stalled, rest := io.Pipe()
					defer rest.Close()
					r, err := http.NewRequestWithContext(t.Context(), "POST", "http://server"+configMaps, stalled)
					require.NoError(t, err)
					r.ContentLength = 3 << 20
					r.Header.Set("Content-Type", "application/json")
					resp, err := s.client.Do(r)
					require.NoError(t, err)
					require.NoError(t, resp.Body.Close())
					require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
				})
			}
			clients.Wait()
		})
		require.Less(t, got, int64(50<<20), "150 MiB were announced")
	})
	s := start(t, apiserver.Options{})
	large := strings.Repeat("x", 700_000)
	require.Equal(t, large, s.do("POST", configMaps, configMap("large", "k", large)).ok(201).str("data.k"), "a body that is larger than the first allocation")
}

// wordy warns of every write.
type wordy struct{ texts []string }

func (wordy) Name() string { return "Wordy" }

func (wordy) Handles(admission.Operation) bool { return true }

func (w wordy) Validate(_ context.Context, a *admission.Attributes) error {
	for _, text := range w.texts {
		a.Warn(text)
	}
	return nil
}

func TestWarningsAreBounded(t *testing.T) {
	total := func(header http.Header) (n int) {
		for _, w := range header.Values("Warning") {
			n += len(w)
		}
		return n
	}
	long := []string{strings.Repeat("a", 1<<20), "short"}
	for i := range 30 {
		long = append(long, strings.Repeat(string(rune('b'+i%20)), 1000+i))
	}
	s := start(t, apiserver.Options{Admission: []admission.Plugin{wordy{long}}})
	a := s.do("POST", configMaps, configMap("a"))
	a.ok(201)
	require.LessOrEqual(t, total(a.header), 4096+20*len(`299 - ""`))
	require.Contains(t, a.header.Values("Warning"), `299 - "short"`)
	require.Contains(t, a.header.Values("Warning"), `299 - "`+strings.Repeat("a", 256)+`"`)
	b := s.do("POST", configMaps, `{"metadata":{"name":"b"},"`+strings.Repeat("k", 1<<20)+`":1}`)
	b.ok(201)
	require.LessOrEqual(t, total(b.header), 4096+20*len(`299 - ""`), "the client's own text")
	few := start(t, apiserver.Options{Admission: []admission.Plugin{wordy{[]string{strings.Repeat("é", 3000)}}}})
	require.Equal(t, []string{`299 - "` + strings.Repeat("é", 3000) + `"`}, few.do("POST", configMaps, configMap("a")).header.Values("Warning"), "warnings within the bound are not cut")
}

// A refused caller loses its HTTP/2 connection: otherwise it could have a thousand streams refused at a time
// for one handshake.
func TestUnauthenticatedConnectionsEnd(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, apiserver.Options{Authenticator: authn.Func(func(r *http.Request) (*authn.Response, bool, error) {
				if r.Header.Get("Authorization") == "" {
					return nil, false, nil
				}
				return &authn.Response{User: &authn.User{Name: "ann"}}, true, nil
			})})
			transport := s.client.Transport.(*http.Transport)
			transport.Protocols = new(http.Protocols)
			transport.Protocols.SetHTTP1(!http2)
			transport.Protocols.SetUnencryptedHTTP2(http2)
			dial, dials := transport.DialContext, 0
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				dials++
				return dial(ctx, network, address)
			}
			for range 5 {
				require.Equal(t, 200, s.do("GET", configMaps, nil, "Authorization", "Bearer x").code)
			}
			require.Equal(t, 1, dials)
			for range 5 {
				require.Equal(t, 401, s.do("GET", configMaps, nil).code)
				synctest.Wait() // the end of the connection may come after the response
			}
			if http2 {
				require.Equal(t, 5, dials, "the connection ends after each")
			} else {
				require.Equal(t, 1, dials)
			}
		})
	}
}

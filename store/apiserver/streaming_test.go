package apiserver_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
)

// A list is sent from the cache item by item: however many clients read one slowly, the memory for all of
// them is far less than the size of one response. The cache keeps one encoded form of each object, made for
// the first list in JSON, metadata or CBOR and shared by all that follow; protobuf is sent as it is stored.
func TestSlowListsMemory(t *testing.T) {
	const objects, readers = 1000, 8
	s := start(t, apiserver.Options{NoCompression: true, CBOR: true})
	text := strings.Repeat("x", 8000)
	for i := range objects {
		s.do("POST", configMaps, configMap(fmt.Sprintf("c%05d", i), "k", text)).ok(201)
	}
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // free what the first list left in pools
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	for _, accept := range []string{"application/vnd.kubernetes.protobuf", "application/json", "application/cbor"} {
		get := func() *http.Response {
			resp := s.open("GET", configMaps, nil, "Accept", accept)
			require.Equal(t, accept, resp.Header.Get("Content-Type"))
			return resp
		}
		first := get()
		size, err := io.Copy(io.Discard, first.Body)
		require.NoError(t, err)
		require.NoError(t, first.Body.Close())
		require.Greater(t, size, int64(objects*len(text)))

		before := live()
		slow := make([]*http.Response, readers)
		for i := range slow {
			slow[i] = get()
			_, err := io.ReadFull(slow[i].Body, make([]byte, 1))
			require.NoError(t, err)
		}
		held := live() - before
		t.Logf("%s: %d readers of %.1f MB each hold %.1f MB", accept, readers, float64(size)/1e6, float64(held)/1e6)
		require.Less(t, held, int(size)/2, accept)
		for _, resp := range slow {
			n, err := io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			require.Equal(t, size, n+1)
			require.NoError(t, resp.Body.Close())
		}
	}
}

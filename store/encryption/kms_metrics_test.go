package encryption

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/memory"
)

// The metrics see each call of a plugin, each value with its key, and the seeds in memory.
func TestKMSMetrics(t *testing.T) {
	k, inner := startKMS(t), memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	opts := Options{Metrics: Metrics{
		Called: func(p, method string, err error, took time.Duration) {
			note("%s %s %v %v", p, method, err == nil, took > 0)
		},
		KeyUsed:     func(p, key string, written bool) { note("%s used %s %v", p, key, written) },
		KeyReported: func(p, key string) { note("%s reported %s", p, key) },
		Seeds:       func(p string, n int) { note("%s seeds %d", p, n) },
	}}
	p, err := New(k.configuration(t), opts)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	s := NewStore(inner, p, func(string) (schema.GroupResource, bool) { return secretResource, true })
	_, err = s.Create(t.Context(), "/secrets/a", []byte("a"), store.WriteOptions{})
	require.NoError(t, err)
	_, _, err = s.Get(t.Context(), "/secrets/a")
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"vault Status true true", "vault reported one", "vault Encrypt true true", "vault seeds 1", "vault used one true", "vault used one false"}, slices.Compact(seen))
}

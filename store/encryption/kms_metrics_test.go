package encryption

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
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
		SeedMade:    func(took time.Duration) { note("seed made %v", took > 0) },
		SeedMissing: func() { note("seed missing") },
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
	require.Equal(t, []string{"vault Status true true", "vault reported one", "seed made true", "vault Encrypt true true", "vault seeds 1", "vault used one true", "vault used one false"}, slices.Compact(seen))
	// Another server has the seed decrypted.
	seen = nil
	mu.Unlock()
	other, err := New(k.configuration(t), opts)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	_, _, err = NewStore(inner, other, func(string) (schema.GroupResource, bool) { return secretResource, true }).Get(t.Context(), "/secrets/a")
	require.NoError(t, err)
	mu.Lock()
	require.Equal(t, []string{"seed missing", "vault Decrypt true true", "vault seeds 1", "vault used one false"}, seen)
}

// Each attempt to transform a value is reported, with the prefix of the provider and that of its key, but not
// of resources without a configuration.
func TestTransformations(t *testing.T) {
	inner := memory.New(memory.Options{})
	t.Cleanup(func() { require.NoError(t, inner.Close()) })
	var seen []string
	opts := Options{Metrics: Metrics{Transformed: func(x Transformation) {
		seen = append(seen, fmt.Sprintf("%v %s %t %v", x.Resource, x.Prefix, x.Written, x.Err))
	}}}
	configured := func(providers string) *Store {
		c, err := ParseConfiguration([]byte("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- {resources: [secrets], providers: [" + providers + "]}"))
		require.NoError(t, err)
		p, err := New(c, opts)
		require.NoError(t, err)
		t.Cleanup(p.Close)
		return NewStore(inner, p, func(key string) (schema.GroupResource, bool) {
			return schema.GroupResource{Resource: strings.Split(key, "/")[1]}, true
		})
	}
	key := func(name string) string {
		return "{name: " + name + ", secret: " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(name[:1], 32))) + "}"
	}
	s := configured("{aesgcm: {keys: [" + key("one") + "]}}, {identity: {}}")
	for _, at := range []string{"/secrets/a", "/configmaps/a"} {
		_, err := s.Create(t.Context(), at, []byte("a"), store.WriteOptions{})
		require.NoError(t, err)
		_, _, err = s.Get(t.Context(), at)
		require.NoError(t, err)
	}
	_, err := inner.Create(t.Context(), "/secrets/plain", []byte("a"), store.WriteOptions{})
	require.NoError(t, err)
	_, _, err = s.Get(t.Context(), "/secrets/plain")
	require.NoError(t, err)
	require.Equal(t, []string{"secrets one: true <nil>", "secrets k8s:enc:aesgcm:v1: true <nil>", "secrets one: false <nil>", "secrets k8s:enc:aesgcm:v1: false <nil>", "secrets identity false <nil>"}, seen)
	seen = nil
	_, _, err = configured("{secretbox: {keys: ["+key("two")+"]}}").Get(t.Context(), "/secrets/a")
	require.NoError(t, err) // the value is unreadable
	_, _, err = configured("{aesgcm: {keys: ["+key("two")+"]}}").Get(t.Context(), "/secrets/a")
	require.NoError(t, err)
	require.Equal(t, []string{"secrets unknown false no matching prefix found",
		"secrets unknown false no matching key was found for the provided AES transformer",
		"secrets k8s:enc:aesgcm:v1: false no matching key was found for the provided AES transformer"}, seen)
}

package apimetrics

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// count returns the number of series of a metric, and the labels of the last one.
func count(t *testing.T, r *prometheus.Registry, name string) (n int, labels string) {
	t.Helper()
	all, err := r.Gather()
	require.NoError(t, err)
	for _, family := range all {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				n++
				labels = fmt.Sprint(m.GetLabel())
			}
		}
	}
	return n, labels
}

// Keys appear by their hashes, and those of long ago are forgotten.
func TestKeyServices(t *testing.T) {
	m := New()
	m.Identify("apiserver-x")
	hooks := m.Encryption()
	const prefix = "apiserver_envelope_encryption_"
	hooks.Called("vault", "Encrypt", nil, time.Millisecond)
	_, labels := count(t, m.registry, prefix+"kms_operations_latency_seconds")
	for _, want := range []string{`value:"OK"`, `value:"/v2.KeyManagementService/Encrypt"`, `value:"vault"`} {
		require.Contains(t, strings.ReplaceAll(labels, ":  ", ":"), want)
	}
	hooks.Called("vault", "Status", grpcstatus.Error(codes.Unavailable, "x"), time.Millisecond)
	hooks.Called("vault", "Status", errors.New("x"), time.Millisecond)
	n, _ := count(t, m.registry, prefix+"kms_operations_latency_seconds")
	require.Equal(t, 3, n)
	for i := range maxKeys + 10 {
		id := fmt.Sprint("key-", i)
		hooks.KeyReported("vault", id)
		hooks.KeyUsed("vault", id, true)
		hooks.KeyUsed("vault", id, true)
	}
	for _, name := range []string{"key_id_hash_total", "key_id_hash_last_timestamp_seconds", "key_id_hash_status_last_timestamp_seconds"} {
		n, labels := count(t, m.registry, prefix+name)
		require.Equal(t, maxKeys, n, name)
		require.NotContains(t, labels, "key-")
		require.Contains(t, labels, "sha256:")
	}
	hooks.KeyReported("vault", "")
	hooks.KeyReported("vault", strings.Repeat("x", maxKeyID+1))
	n, _ = count(t, m.registry, prefix+"invalid_key_id_from_status_total")
	require.Equal(t, 2, n)
}

// An APIService has a series while it exists.
func TestAggregations(t *testing.T) {
	m := New()
	hooks := m.Aggregation()
	hooks.Failed("v1.a.test", "MissingEndpoints")
	hooks.Failed("v1.b.test", "MissingEndpoints")
	n, _ := count(t, m.registry, "aggregator_unavailable_apiservice_total")
	require.Equal(t, 2, n)
	hooks.Forgotten("v1.a.test")
	n, labels := count(t, m.registry, "aggregator_unavailable_apiservice_total")
	require.Equal(t, 1, n)
	require.Contains(t, labels, "v1.b.test")
}

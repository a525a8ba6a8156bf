package apimetrics

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/encryption"
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

// Transformations are counted by resource, prefix and outcome, and those that succeed are timed; counting one
// allocates nothing.
func TestTransformations(t *testing.T) {
	m := New()
	hooks := m.Encryption()
	one := encryption.Transformation{Resource: schema.GroupResource{Group: "apps", Resource: "deployments"}, Prefix: "k8s:enc:aesgcm:v1:", Written: true, Elapsed: time.Microsecond}
	hooks.Transformed(one)
	require.Zero(t, testing.AllocsPerRun(10, func() { hooks.Transformed(one) })) // calls it eleven times
	one.Written = false
	for _, err := range []error{errors.New("x"), fmt.Errorf("vault: %w", grpcstatus.Error(codes.Unavailable, "x"))} {
		one.Err = err
		hooks.Transformed(one)
	}
	hooks.SeedMissing()
	hooks.SeedMade(time.Microsecond)
	const operations = `apiserver_storage_transformation_operations_total{resource="deployments.apps",`
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		operations + `status="OK",transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} 12`,
		operations + `status="unknown-non-grpc",transformation_type="from_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} 1`,
		operations + `status="Unavailable",transformation_type="from_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} 1`,
		`apiserver_storage_transformation_duration_seconds_count{transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} 12`,
		"apiserver_storage_envelope_transformation_cache_misses_total 1",
		"apiserver_storage_data_key_generation_duration_seconds_count 1",
	} {
		require.Contains(t, w.Body.String(), line)
	}
	require.NotContains(t, w.Body.String(), `apiserver_storage_transformation_duration_seconds_count{transformation_type="from_storage"`)
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

package apimetrics

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status" // the protocol of the services

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/encryption"
)

// keyServices holds the metrics of key management services. Keys appear by the hash of their ID, as in
// kube-apiserver.
type keyServices struct {
	calls         *prometheus.HistogramVec
	used          *prometheus.CounterVec
	lastUsed      *prometheus.GaugeVec
	lastReported  *prometheus.GaugeVec
	invalid       *prometheus.CounterVec
	seeds         *prometheus.GaugeVec
	times         *prometheus.HistogramVec
	total         *prometheus.CounterVec
	misses        prometheus.Counter
	made          prometheus.Observer
	series        *memo[transformation, transformationSeries]
	server        string // the hash of the server's identity; empty without one
	mu            sync.Mutex
	known         []keyUse // those with a series, oldest first
	knownReported []keyUse
}

// keyUse is what the series of a key have in common.
type keyUse struct{ transformation, provider, key string }

// transformation is what transformations of values have in common.
type transformation struct {
	resource schema.GroupResource
	prefix   string
	written  bool
	status   string
}

type transformationSeries struct {
	total prometheus.Counter
	time  prometheus.Observer // nil of failures
}

// maxKeys is the number of keys that have series: each rotation makes another one.
const maxKeys = 100

// maxKeyID is the longest ID of a key that can be used, in bytes.
const maxKeyID = 1024

func newKeyServices(r *prometheus.Registry) *keyServices {
	const prefix = "apiserver_envelope_encryption_"
	k := &keyServices{
		times:  histogram(r, "apiserver_storage_transformation_duration_seconds", "Time to encrypt or decrypt a value.", prometheus.ExponentialBuckets(5e-6, 2, 25), "transformation_type", "transformer_prefix"),
		total:  counter(r, "apiserver_storage_transformation_operations_total", "Values encrypted and decrypted, by outcome.", "resource", "transformation_type", "transformer_prefix", "status"),
		misses: counter(r, "apiserver_storage_envelope_transformation_cache_misses_total", "Values whose seed had to be decrypted by the key management service.").WithLabelValues(),
		made:   histogram(r, "apiserver_storage_data_key_generation_duration_seconds", "Time to generate a seed.", prometheus.ExponentialBuckets(5e-6, 2, 14)).WithLabelValues(),
		calls: histogram(r, prefix+"kms_operations_latency_seconds", "Time of calls of key management services.",
			prometheus.ExponentialBuckets(0.0001, 2, 20), "provider_name", "method_name", "grpc_status_code"),
		used:         counter(r, prefix+"key_id_hash_total", "Values written to and read from the store, by key.", "transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		lastUsed:     gauge(r, prefix+"key_id_hash_last_timestamp_seconds", "Unix time of the last value, by key.", "transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
		lastReported: gauge(r, prefix+"key_id_hash_status_last_timestamp_seconds", "Unix time at which the service has last reported the key.", "provider_name", "key_id_hash", "apiserver_id_hash"),
		invalid:      counter(r, prefix+"invalid_key_id_from_status_total", "Keys reported that cannot be used.", "provider_name", "error"),
		seeds:        gauge(r, prefix+"dek_source_cache_size", "Decrypted seeds that are kept in memory.", "provider_name"),
	}
	// Random numbers cannot fail, so that this one stays at zero.
	counter(r, "apiserver_storage_data_key_generation_failures_total", "Seeds that could not be generated.").WithLabelValues()
	k.series = newMemo(k.seriesOf)
	return k
}

func (k *keyServices) seriesOf(t transformation) transformationSeries {
	kind := "from_storage"
	if t.written {
		kind = "to_storage"
	}
	s := transformationSeries{total: k.total.WithLabelValues(t.resource.String(), kind, t.prefix, t.status)}
	if t.status == codes.OK.String() {
		s.time = k.times.WithLabelValues(kind, t.prefix)
	}
	return s
}

func (k *keyServices) transformed(t encryption.Transformation) {
	status := codes.OK.String()
	if t.Err != nil {
		status = "unknown-non-grpc"
		if s, ok := errors.AsType[interface {
			error
			GRPCStatus() *grpcstatus.Status
		}](t.Err); ok {
			status = s.GRPCStatus().Code().String()
		}
	}
	s := k.series.of(transformation{t.Resource, t.Prefix, t.Written, status})
	s.total.Inc()
	if s.time != nil {
		s.time.Observe(t.Elapsed.Seconds())
	}
}

// Encryption returns the hooks for the encryption options of a server.
func (m *Metrics) Encryption() encryption.Metrics {
	k := m.keyServices
	return encryption.Metrics{
		Transformed: k.transformed,
		SeedMissing: k.misses.Inc,
		SeedMade:    func(took time.Duration) { k.made.Observe(took.Seconds()) },
		Called: func(provider, method string, err error, took time.Duration) {
			k.calls.WithLabelValues(provider, "/v2.KeyManagementService/"+method, grpcstatus.Code(err).String()).Observe(took.Seconds())
		},
		KeyUsed:     k.keyUsed,
		KeyReported: k.keyReported,
		Seeds:       func(provider string, n int) { k.seeds.WithLabelValues(provider).Set(float64(n)) },
	}
}

func (k *keyServices) keyUsed(provider, keyID string, written bool) {
	use := keyUse{"from_storage", provider, hashed(keyID)}
	if written {
		use.transformation = "to_storage"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	remember(&k.known, use, func(old keyUse) {
		k.used.DeleteLabelValues(old.transformation, old.provider, old.key, k.server)
		k.lastUsed.DeleteLabelValues(old.transformation, old.provider, old.key, k.server)
	})
	k.used.WithLabelValues(use.transformation, provider, use.key, k.server).Inc()
	k.lastUsed.WithLabelValues(use.transformation, provider, use.key, k.server).SetToCurrentTime()
}

func (k *keyServices) keyReported(provider, keyID string) {
	switch {
	case keyID == "":
		k.invalid.WithLabelValues(provider, "empty").Inc()
		return
	case len(keyID) > maxKeyID:
		k.invalid.WithLabelValues(provider, "too_long").Inc()
		return
	}
	use := keyUse{"", provider, hashed(keyID)}
	k.mu.Lock()
	defer k.mu.Unlock()
	remember(&k.knownReported, use, func(old keyUse) { k.lastReported.DeleteLabelValues(old.provider, old.key, k.server) })
	k.lastReported.WithLabelValues(provider, use.key, k.server).SetToCurrentTime()
}

// remember adds a use, and forgets the oldest if they are too many.
func remember(known *[]keyUse, use keyUse, forget func(keyUse)) {
	for _, k := range *known {
		if k == use {
			return
		}
	}
	if len(*known) >= maxKeys {
		forget((*known)[0])
		*known = (*known)[1:]
	}
	*known = append(*known, use)
}

// hashed is the form in which an ID appears; empty for an empty one.
func hashed(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))
}

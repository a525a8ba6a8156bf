package apimetrics

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/registry"
)

// requests holds the metrics of requests to the store. They have the names of kube-apiserver's etcd metrics,
// whatever the store is.
type requests struct {
	durations     *prometheus.HistogramVec
	total, errors *prometheus.CounterVec
	leases        prometheus.Observer
	series        *memo[storeRequest, storeSeries]
	resources     atomic.Pointer[registry.Registry] // nil until Watch
	known         atomic.Pointer[prefixes]
}

// storeRequest is what requests to the store have in common.
type storeRequest struct {
	operation string
	resource  schema.GroupResource
}

// storeSeries are the metrics of such requests.
type storeSeries struct {
	duration      prometheus.Observer
	total, errors prometheus.Counter
}

// prefixes are the resources by the beginning of their keys, as of a generation of the registry.
type prefixes struct {
	generation int64
	resources  map[string]schema.GroupResource
}

func newRequests(r *prometheus.Registry) *requests {
	q := &requests{
		durations: histogram(r, "etcd_request_duration_seconds", "Time of requests to the store.", durationBuckets, "operation", "group", "resource"),
		total:     counter(r, "etcd_requests_total", "Requests to the store.", "operation", "group", "resource"),
		leases:    histogram(r, "etcd_lease_object_counts", "Keys that have got a lease of etcd when it was replaced.", []float64{10, 50, 100, 500, 1000, 2500, 5000}).WithLabelValues(),
		errors:    counter(r, "etcd_request_errors_total", "Requests to the store that failed.", "operation", "group", "resource"),
	}
	q.series = newMemo(func(k storeRequest) storeSeries {
		group, resource := k.resource.Group, k.resource.Resource
		return storeSeries{
			duration: q.durations.WithLabelValues(k.operation, group, resource),
			total:    q.total.WithLabelValues(k.operation, group, resource),
			errors:   q.errors.WithLabelValues(k.operation, group, resource),
		}
	})
	return q
}

// resourceOf returns the resource a key or prefix belongs to; empty for keys of the server itself.
func (q *requests) resourceOf(key string) schema.GroupResource {
	r := q.resources.Load()
	if r == nil {
		return schema.GroupResource{}
	}
	p := q.known.Load()
	if generation := r.Generation(); p == nil || p.generation != generation {
		p = &prefixes{generation: generation, resources: map[string]schema.GroupResource{}}
		for _, res := range r.Resources() {
			if _, known := p.resources[res.Prefix()]; !known { // events are of two groups
				p.resources[res.Prefix()] = res.Definition().Info.GVR.GroupResource()
			}
		}
		q.known.Store(p)
	}
	for i := 1; i < len(key); i++ { // /pods/, /services/specs/, /GROUP/RESOURCE/
		n := strings.IndexByte(key[i:], '/')
		if n < 0 {
			break
		}
		i += n
		if gr, ok := p.resources[key[:i+1]]; ok {
			return gr
		}
	}
	return schema.GroupResource{}
}

// done measures a request. A request that is refused because of the stored state, or cancelled by the client,
// does not count as failed.
func (q *requests) done(operation, key string, began time.Time, err error) {
	s := q.series.of(storeRequest{operation, q.resourceOf(key)})
	s.duration.Observe(time.Since(began).Seconds())
	s.total.Inc()
	if _, away := errors.AsType[*store.UnavailableError](err); away {
		s.errors.Inc()
	}
}

// LeaseGranted counts the keys of a lease that another one has replaced; it is for the options of a store.
func (m *Metrics) LeaseGranted(keys int) { m.stored.leases.Observe(float64(keys)) }

// Store returns s with its requests measured; watches and requests for progress are not.
func (m *Metrics) Store(s store.Store) store.Store { return &measured{Store: s, requests: m.stored} }

type measured struct {
	store.Store
	requests *requests
}

// Get implements store.Store.
func (s *measured) Get(ctx context.Context, key string) (kv store.KV, revision int64, err error) {
	defer func(began time.Time) { s.requests.done("get", key, began, err) }(time.Now())
	return s.Store.Get(ctx, key)
}

// List implements store.Store.
func (s *measured) List(ctx context.Context, prefix string, o store.ListOptions) (_ store.ListResult, err error) {
	operation := "list"
	if o.KeysOnly {
		operation = "listOnlyKeys"
	}
	defer func(began time.Time) { s.requests.done(operation, prefix, began, err) }(time.Now())
	return s.Store.List(ctx, prefix, o)
}

// Create implements store.Store.
func (s *measured) Create(ctx context.Context, key string, value []byte, o store.WriteOptions) (_ int64, err error) {
	defer func(began time.Time) { s.requests.done("create", key, began, err) }(time.Now())
	return s.Store.Create(ctx, key, value, o)
}

// Update implements store.Store.
func (s *measured) Update(ctx context.Context, key string, value []byte, expected int64, o store.WriteOptions) (_ int64, err error) {
	defer func(began time.Time) { s.requests.done("update", key, began, err) }(time.Now())
	return s.Store.Update(ctx, key, value, expected, o)
}

// Delete implements store.Store.
func (s *measured) Delete(ctx context.Context, key string, expected int64, o store.WriteOptions) (_ int64, err error) {
	defer func(began time.Time) { s.requests.done("delete", key, began, err) }(time.Now())
	return s.Store.Delete(ctx, key, expected, o)
}

// Txn implements store.Store: it is measured as its first operation.
func (s *measured) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (_ int64, err error) {
	if len(ops) == 0 {
		return s.Store.Txn(ctx, ops, guards)
	}
	operation := map[store.OpType]string{store.OpCreate: "create", store.OpUpdate: "update", store.OpDelete: "delete"}[ops[0].Type]
	defer func(began time.Time) { s.requests.done(operation, ops[0].Key, began, err) }(time.Now())
	return s.Store.Txn(ctx, ops, guards)
}

// Size implements store.Sized.
func (s *measured) Size(ctx context.Context) (int64, error) {
	if sized, ok := s.Store.(store.Sized); ok {
		return sized.Size(ctx)
	}
	return 0, errors.ErrUnsupported
}

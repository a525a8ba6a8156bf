package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/rest"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

// embedded starts the cluster's etcd in a temporary folder, and returns its address.
func embedded(t testing.TB) string {
	endpoint, end, err := embeddedEtcd(context.Background(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(end)
	return endpoint
}

func open(t testing.TB, endpoint, prefix string) store.Store {
	st, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{endpoint}, Prefix: prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, st.Close()) })
	require.True(t, st.Capabilities().Progress, "etcd 3.6 reports progress")
	return st
}

// The embedded etcd keeps the contract of stores, reports of progress included. The cases share one, except
// the one that compacts the whole history.
func TestEmbeddedStore(t *testing.T) {
	shared, n := embedded(t), 0
	prefixes := map[store.Store]string{}
	join := func(t testing.TB, s store.Store) store.Store { return open(t, shared, prefixes[s]) }
	storetest.Run(t, func(t testing.TB) store.Store {
		endpoint := shared
		if strings.HasSuffix(t.Name(), "/Compact") {
			endpoint = embedded(t)
		}
		n++
		prefix := fmt.Sprintf("/case%d", n)
		s := open(t, endpoint, prefix)
		prefixes[s] = prefix
		return s
	}, storetest.Options{Crash: join, Join: join}) // the crash of a client: etcd itself ends with the test
}

// Two servers over one embedded etcd answer concurrent clients as a correct Kubernetes API would.
func TestEmbeddedHistories(t *testing.T) {
	st := open(t, embedded(t), "")
	var conns []client.Conn
	for range 2 {
		conns = append(conns, clienttest.Start(t, clienttest.Options{Server: apiserver.Options{Store: st}}).Conn(t, rest.Options{}))
	}
	for _, seed := range seeds.Slow(t, 10) {
		h, err := clienttest.Record(t.Context(), seed, clienttest.HistoryOptions{}, conns...)
		require.NoError(t, err, "seed %d", seed)
		require.NoError(t, h.Check(), "seed %d", seed)
		_, unknown := h.Calls()
		require.Zero(t, unknown, "seed %d: a healthy server leaves no call open", seed)
	}
}

// Counters of etcd itself: a consistent list after a write through another server causes a read of the
// revision, never of the objects, and a list at a known revision causes no read.
func TestEmbeddedListsComeFromTheCache(t *testing.T) {
	st := open(t, embedded(t), "")
	one := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{Store: st}}).Conn(t, rest.Options{})
	other := clienttest.Start(t, clienttest.Options{Server: apiserver.Options{Store: st}}).Conn(t, rest.Options{})
	const path, objects, size = "/api/v1/namespaces/default/configmaps", 100, 10 << 10
	create := func(name string) {
		body := fmt.Sprintf(`{"metadata":{"name":%q},"data":{"k":%q}}`, name, strings.Repeat("x", size))
		_, err := one.Do(t.Context(), &client.Request{Method: http.MethodPost, Path: path, ContentType: "application/json", Body: []byte(body)})
		require.NoError(t, err)
	}
	list := func(query url.Values) string {
		resp, err := other.Do(t.Context(), &client.Request{Path: path, Query: query})
		require.NoError(t, err)
		return string(resp.Body)
	}
	for i := range objects {
		create(fmt.Sprintf("early-%d", i))
	}
	require.Contains(t, list(nil), `"early-0"`)

	// Other reads of the servers coincide with these sometimes, so one round that holds is enough.
	const rounds = 10
	const sent, ranges = "etcd_network_client_grpc_sent_bytes_total", "etcd_mvcc_range_total"
	awaitCost := func(name string, most float64, work func(round int)) {
		var costs []float64
		for round := range rounds {
			before := etcdCounter(t, name)
			work(round)
			costs = append(costs, etcdCounter(t, name)-before)
			if costs[round] <= most {
				return
			}
		}
		require.Fail(t, "too much of etcd's work", "%s rose by %v, wanted %v at most", name, costs, most)
	}
	// A write sends its event to both servers; the list of a megabyte that follows sends almost nothing.
	awaitCost(sent, 4*size, func(round int) {
		name := fmt.Sprintf("late-%d", round)
		create(name)
		require.Contains(t, list(nil), fmt.Sprintf("%q", name), "written before the list began")
	})
	awaitCost(ranges, 20, func(int) {
		for range 20 {
			list(nil)
		}
	})
	revision, err := st.Progress(t.Context(), "")
	require.NoError(t, err)
	exact := url.Values{"resourceVersion": {fmt.Sprint(revision)}, "resourceVersionMatch": {"Exact"}}
	create("later")
	require.NotContains(t, list(exact), `"later"`)
	awaitCost(ranges, 0, func(int) {
		for range 20 {
			require.Contains(t, list(exact), `"early-99"`)
			page := url.Values{"limit": {"10"}, "resourceVersion": exact["resourceVersion"], "resourceVersionMatch": {"Exact"}}
			require.Contains(t, list(page), `"continue"`)
		}
	})
}

// etcdCounter returns a counter of the etcd in this process.
func etcdCounter(t *testing.T, name string) float64 {
	families, err := prometheus.DefaultGatherer.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name && f.GetMetric()[0].GetCounter() != nil {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Fail(t, "etcd counts no "+name)
	return 0
}

package apiserver_test

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/storetest"
)

func openEtcd(t *testing.T, e *storetest.Etcd) store.Store {
	t.Helper()
	s, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{e.Endpoint}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Two servers over one etcd: a write that one acknowledges is visible in the other at once, in lists too.
func TestTwoServersOverOneEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	e := storetest.StartEtcd(t)
	a := startCluster(t, apiserver.Options{Store: openEtcd(t, e), AdvertiseAddress: "10.9.9.1"})
	b := startCluster(t, apiserver.Options{Store: openEtcd(t, e), AdvertiseAddress: "10.9.9.2"})
	w := b.watch(configMaps + "?watch=1")
	for i := range 20 {
		name := fmt.Sprintf("c%02d", i)
		a.do("POST", configMaps, configMap(name)).ok(201)
		require.Len(t, b.do("GET", configMaps, nil).ok(200).items(), i+1, "a list right after a write through another server")
		w.expect("ADDED", name)
	}
	// No update of concurrent writers on both servers is lost.
	a.do("POST", configMaps, configMap("shared")).ok(201)
	var wg sync.WaitGroup
	for i, s := range []*server{a, b, a, b} {
		wg.Go(func() {
			for k := range 10 {
				s.do("PATCH", configMaps+"/shared", fmt.Sprintf(`{"data":{"k%d-%d":"x"}}`, i, k), "Content-Type", "application/merge-patch+json").ok(200)
			}
		})
	}
	wg.Wait()
	require.Len(t, b.do("GET", configMaps+"/shared", nil).ok(200)["data"], 40)

	// Addresses and ports come from one pool.
	ips := map[string]bool{}
	var mu sync.Mutex
	for i, s := range []*server{a, b, a, b} {
		wg.Go(func() {
			for k := range 5 {
				o := s.do("POST", "/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"s%d-%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i, k)).ok(201)
				mu.Lock()
				ips[o.str("spec.clusterIP")] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, ips, 20)
	endpoints := fmt.Sprint(a.do("GET", "/api/v1/namespaces/default/endpoints/kubernetes", nil).ok(200)["subsets"])
	require.Contains(t, endpoints, "10.9.9.1")
	require.Contains(t, endpoints, "10.9.9.2")

	keys, err := exec.CommandContext(t.Context(), "etcdctl", "--endpoints="+e.Endpoint, "get", "/registry", "--prefix", "--keys-only").Output()
	if err == nil {
		for _, want := range []string{"/registry/configmaps/default/c00\n", "/registry/services/specs/default/kubernetes\n", "/registry/namespaces/kube-system\n",
			"/registry/ranges/servicenodeports\n", "/registry/masterleases/10.9.9.1\n", "/registry/priorityclasses/system-node-critical\n"} {
			require.Contains(t, string(keys), want)
		}
	}
}

// A server that starts again continues where the last one stopped: it has the objects, and the events since
// then.
func TestRestartOverEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	e := storetest.StartEtcd(t)
	first := start(t, apiserver.Options{Store: openEtcd(t, e)})
	from := first.do("POST", configMaps, configMap("a")).ok(201).str("metadata.resourceVersion")
	first.do("POST", configMaps, configMap("b")).ok(201)
	first.stop()
	second := start(t, apiserver.Options{Store: openEtcd(t, e)})
	require.Equal(t, []string{"a", "b"}, second.do("GET", configMaps, nil).ok(200).names())
	ev := second.watch(configMaps + "?watch=1&resourceVersion=" + from).next()
	require.Equal(t, "ADDED", ev.str("type"))
	require.Equal(t, "b", ev.str("object.metadata.name"))
}

// While the store is unavailable requests fail in time and the server is not ready; afterwards it recovers.
func TestEtcdUnavailableAndBack(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd")
	}
	e := storetest.StartEtcd(t)
	s := start(t, apiserver.Options{Store: openEtcd(t, e), RequestTimeout: 3 * time.Second})
	s.do("POST", configMaps, configMap("a")).ok(201)
	w := s.watch(configMaps + "?watch=1")
	w.expect("ADDED", "a")
	e.Kill()
	got := s.do("POST", configMaps, configMap("lost"))
	require.GreaterOrEqual(t, got.code, 500, "%s", got.body)
	require.Equal(t, 500, s.do("GET", "/readyz", nil).code)
	e.Restart()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		if s.do("POST", configMaps, configMap("back")).code == 201 {
			break
		}
		require.NoError(t, ctx.Err())
	}
	for {
		ev := w.next()
		require.NotNil(t, ev)
		if ev.str("object.metadata.name") == "back" {
			break // "lost" may have been stored: its writer got no answer
		}
	}
	require.True(t, strings.Contains(strings.Join(s.do("GET", configMaps, nil).ok(200).names(), " "), "back"))
}

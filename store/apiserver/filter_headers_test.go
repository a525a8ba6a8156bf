package apiserver_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authn"
	"github.com/stretchr/testify/require"
)

func TestCORS(t *testing.T) {
	s := start(t, apiserver.Options{CORSOrigins: []string{`^https://[a-z]+\.example\.com$`}, Authenticator: authn.Func(
		func(*http.Request) (*authn.Response, bool, error) { return nil, false, nil })})
	got := s.do("OPTIONS", configMaps, nil, "Origin", "https://app.example.com")
	require.Equal(t, 204, got.code, "a preflight needs no credentials")
	require.Equal(t, "https://app.example.com", got.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", got.header.Get("Access-Control-Allow-Credentials"))
	require.Contains(t, got.header.Get("Access-Control-Allow-Methods"), "PATCH")
	got = s.do("GET", configMaps, nil, "Origin", "https://app.example.com")
	require.Equal(t, 401, got.code)
	require.Equal(t, "https://app.example.com", got.header.Get("Access-Control-Allow-Origin"))
	got = s.do("OPTIONS", configMaps, nil, "Origin", "https://app.example.com.evil")
	require.Equal(t, 401, got.code)
	require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
	for _, o := range []apiserver.Options{{CORSOrigins: []string{"("}}, {GoawayChance: 0.5}, {GoawayChance: -1}} {
		_, err := apiserver.New(o)
		require.Error(t, err)
	}
}

func TestAggregatedDiscoveryOfOlderClients(t *testing.T) {
	s := start(t, apiserver.Options{})
	const kind = ";as=APIGroupDiscoveryList,application/json"
	for _, v := range []string{"v2", "v2beta1"} {
		got := s.do("GET", "/apis", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v="+v+kind)
		require.Equal(t, "apidiscovery.k8s.io/"+v, got.ok(200).str("apiVersion"))
		require.Contains(t, got.header.Get("Content-Type"), "v="+v)
		again := s.do("GET", "/apis", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v="+v+kind, "If-None-Match", got.header.Get("Etag"))
		require.Equal(t, 304, again.code)
	}
	require.Equal(t, "APIGroupList", s.do("GET", "/apis", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v=v3"+kind).ok(200).str("kind"))
}

// A server that shuts down is not ready at once but serves for the delay; then watches end, requests being
// served complete, and no goroutine is left.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := start(t, apiserver.Options{ShutdownDelay: 10 * time.Second, Handlers: map[string]http.Handler{
			"/slow": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-release
				_, _ = w.Write([]byte("done"))
			})}})
		w := s.watch(configMaps + "?watch=1")
		require.Equal(t, 200, s.do("GET", "/readyz", nil).code)
		var tasks sync.WaitGroup
		tasks.Go(func() { require.Equal(t, "done", string(s.do("GET", "/slow", nil).body)) })
		synctest.Wait()
		tasks.Go(s.stop)
		synctest.Wait()
		got := s.do("GET", "/readyz?verbose", nil)
		require.Equal(t, 500, got.code)
		require.Contains(t, string(got.body), "[-]shutdown failed")
		require.Equal(t, 200, s.do("GET", "/livez", nil).code)
		s.do("POST", configMaps, configMap("late")).ok(201)
		w.expect("ADDED", "late")
		time.Sleep(11 * time.Second)
		require.Nil(t, w.next(), "the watch ends")
		_, err := s.client.Get("http://server/livez")
		require.Error(t, err, "the listener is closed")
		time.Sleep(20 * time.Second)
		close(release)
		tasks.Wait()
	})
}

// Hooks receive every event, and gauges return to zero.
func TestMeasurements(t *testing.T) {
	var mu sync.Mutex
	var requests []apiserver.Measurement
	flights, long, events, rejected, checks := 0, 0, 0, 0, 0
	var deprecated []string
	count := func(n *int, delta int) { mu.Lock(); *n += delta; mu.Unlock() }
	s := start(t, apiserver.Options{Metrics: apiserver.Metrics{
		Request:     func(m apiserver.Measurement) { mu.Lock(); requests = append(requests, m); mu.Unlock() },
		InFlight:    func(_ bool, delta int) { count(&flights, delta) },
		LongRunning: func(_ apiserver.Measurement, delta int) { count(&long, delta) },
		Rejected:    func(apiserver.Measurement) { count(&rejected, 1) },
		WatchEvents: func(schema.GroupVersionResource) func(int) { return func(int) { count(&events, 1) } },
		Deprecated:  func(m apiserver.Measurement) { mu.Lock(); deprecated = append(deprecated, m.Resource); mu.Unlock() },
		HealthCheck: func(_, _ string, err error) { count(&checks, 1) },
	}})
	s.do("POST", configMaps+"?dryRun=All", configMap("a")).ok(201)
	s.do("POST", configMaps, configMap("a")).ok(201)
	s.do("PATCH", configMaps+"/a?fieldManager=m", `{"apiVersion":"v1","kind":"ConfigMap"}`, "Content-Type", "application/apply-patch+yaml").ok(200)
	s.do("GET", "/api/v1/endpoints", nil).ok(200)
	s.do("GET", "/api/v1/namespaces/default/nonsense/a", nil).ok(404)
	s.do("GET", configMaps+"/a/nonsense", nil).ok(404)
	s.do("GET", "/livez", nil)
	s.do("GET", "/nowhere", nil).ok(404)
	w := s.watch(configMaps + "?watch=1")
	w.expect("ADDED", "a")
	mu.Lock()
	require.Equal(t, 1, long)
	mu.Unlock()
	_ = w.resp.Body.Close()
	s.stop()
	want := []apiserver.Measurement{
		{Verb: "POST", DryRun: "All", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 201},
		{Verb: "POST", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 201},
		{Verb: "APPLY", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 200},
		{Verb: "LIST", Version: "v1", Resource: "endpoints", Scope: "cluster", Code: 200},
		{Verb: "GET", Scope: "resource", Code: 404},
		{Verb: "GET", Version: "v1", Resource: "configmaps", Scope: "resource", Code: 404},
		{Verb: "GET", Subresource: "/livez", Code: 200},
		{Verb: "GET", Code: 404},
		{Verb: "WATCH", Version: "v1", Resource: "configmaps", Scope: "namespace", Code: 200},
	}
	for i := range requests {
		require.Positive(t, requests[i].Elapsed)
		requests[i].Elapsed, requests[i].Bytes, requests[i].BodyBytes = 0, 0, 0
	}
	require.Equal(t, want, requests)
	require.Equal(t, []string{"endpoints"}, deprecated)
	require.Equal(t, []int{0, 0, 1, 0}, []int{flights, long, events, rejected})
	require.Positive(t, checks)
}

func TestCORSPatternsAreBound(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"example.com": false, "https://example.com": false, `^https://example\.com`: false, `example\.com$`: false, `.*`: false, `^https://.*:.*`: false,
		`^https://example\.com$`: true, `//example\.com(:|$)`: true, `//localhost:`: true, `^http://localhost:\d+$`: true, `//127\.0\.0\.1:8080`: true, `^https?://x$`: true,
	} {
		_, err := apiserver.New(apiserver.Options{CORSOrigins: []string{pattern}})
		if ok {
			require.NoError(t, err, pattern)
		} else {
			require.ErrorContains(t, err, "CORSOrigins", pattern)
		}
	}
	s := start(t, apiserver.Options{CORSOrigins: []string{`^https://example\.com$`}})
	for _, origin := range []string{"https://example.com", "https://example.com.evil.net", ""} {
		require.Contains(t, s.do("GET", configMaps, nil, "Origin", origin).header.Values("Vary"), "Origin", "a cache must keep the responses to origins apart")
	}
	require.NotContains(t, start(t, apiserver.Options{}).do("GET", configMaps, nil).header.Values("Vary"), "Origin")
}

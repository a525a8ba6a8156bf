package apiserver_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

const shipsCRD = `{"metadata":{"name":"ships.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"ships","kind":"Ship"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// A server started while its store is unavailable is alive but not ready, and becomes ready when the store is
// available, with the custom resources stored before.
func TestStartBeforeTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Options{})
		defer func() { require.NoError(t, st.Close()) }()
		run(t, st, func(s *apiserver.Server) {
			<-s.Ready()
			require.Equal(t, http.StatusCreated, direct(s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", shipsCRD).Code)
			require.Equal(t, http.StatusCreated, direct(s, "POST", "/apis/example.com/v1/namespaces/default/ships", `{"apiVersion":"example.com/v1","kind":"Ship","metadata":{"name":"argo"}}`).Code)
		})
		var away atomic.Bool
		away.Store(true)
		faulty := storetest.NewFaulty(st, storetest.Hooks{Before: func(_ context.Context, r storetest.Request) error {
			if away.Load() {
				return &store.UnavailableError{Op: r.Op, Err: storetest.ErrInjected}
			}
			return nil
		}})
		run(t, faulty, func(s *apiserver.Server) {
			time.Sleep(30 * time.Second)
			require.Equal(t, http.StatusInternalServerError, direct(s, "GET", "/readyz", "").Code)
			require.Contains(t, direct(s, "GET", "/readyz", "").Body.String(), "[-]poststarthook/bootstrap failed: reason withheld\n")
			require.Contains(t, direct(s, "GET", "/readyz/etcd", "").Body.String(), "internal server error: ")
			require.Equal(t, http.StatusOK, direct(s, "GET", "/livez/ping", "").Code)
			away.Store(false)
			<-s.Ready()
			time.Sleep(time.Second) // the result of the probe is kept that long
			require.Equal(t, http.StatusOK, direct(s, "GET", "/readyz", "").Code)
			require.Equal(t, http.StatusOK, direct(s, "GET", "/apis/example.com/v1/namespaces/default/ships/argo", "").Code, "served as soon as the server is ready")
		})
	})
}

// A store that fails at times only delays the start.
func TestStartOverFailingStore(t *testing.T) {
	for _, seed := range seeds.Slow(t, 5) {
		synctest.Test(t, func(t *testing.T) {
			st := memory.New(memory.Options{})
			defer func() { require.NoError(t, st.Close()) }()
			// Caches wait at the same time: the wait follows from it.
			jitter := backoff.WithJitter(context.Background(), func() float64 { return rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano()))).Float64() })
			runIn(t, jitter, storetest.NewFaulty(st, storetest.Timed(seed, storetest.Chaos(seed, 0.2))), func(s *apiserver.Server) {
				<-s.Ready()
				for _, path := range []string{"/api/v1/namespaces/kube-system", "/api/v1/namespaces/default/services/kubernetes", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"} {
					require.Eventually(t, func() bool { return direct(s, "GET", path, "").Code == http.StatusOK }, time.Minute, time.Second, "seed %d: %s", seed, path)
				}
				addresses := direct(s, "GET", "/apis/networking.k8s.io/v1/ipaddresses?resourceVersion=0", "").Body.String()
				require.LessOrEqual(t, strings.Count(addresses, `"parentRef"`), 1, "seed %d", seed)
			})
		})
	}
}

// run runs a server over st while do runs.
func run(t *testing.T, st store.Store, do func(s *apiserver.Server)) {
	t.Helper()
	runIn(t, context.Background(), st, do)
}

func runIn(t *testing.T, ctx context.Context, st store.Store, do func(s *apiserver.Server)) {
	t.Helper()
	s, err := apiserver.New(apiserver.Options{Store: st, StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	select {
	case err := <-done:
		require.NoError(t, err, "the server ended by itself")
	case <-time.After(time.Second):
	}
	do(s)
	cancel()
	require.NoError(t, <-done)
}

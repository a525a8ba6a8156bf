package apiserver_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/controlplane"
)

// smoke creates, reads, changes, lists and deletes one object of a new server, and stops the server.
func smoke(t testing.TB) {
	s, err := apiserver.New(apiserver.Options{StartHook: controlplane.Bookkeeping(controlplane.BookkeepingOptions{})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = s.Run(ctx)
		close(done)
	}()
	for _, step := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", configMaps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`, 201},
		{"GET", configMaps + "/a", "", 200},
		{"PUT", configMaps + "/a", `{"metadata":{"name":"a"},"data":{"k":"w"}}`, 200},
		{"GET", configMaps, "", 200},
		{"DELETE", configMaps + "/a", "", 200},
		{"GET", configMaps + "/a", "", 404},
	} {
		w := direct(s, step.method, step.path, step.body)
		require.Equal(t, step.code, w.Code, "%s %s: %s", step.method, step.path, w.Body)
	}
	cancel()
	<-done
}

// Fifty servers run in one process at once. The bubble fails if a goroutine is left.
func TestManyServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { smoke(t) })
		}
		wg.Wait()
	})
}

// Budget: 50 servers, each started, used and ended, within a second.
func BenchmarkFiftyServers(b *testing.B) {
	for b.Loop() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { smoke(b) })
		}
		wg.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(50*b.N), "us/server")
}

package etcdserver_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcd"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/file"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// serve serves a store on loopback until the test ends, and returns its URL.
func serve(t testing.TB, s store.Store, opts etcdserver.Options) string {
	t.Helper()
	endpoint, stop := serveUntil(t, s, opts)
	t.Cleanup(stop)
	return endpoint
}

func serveUntil(t testing.TB, s store.Store, opts etcdserver.Options) (endpoint string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- etcdserver.New(s, opts).Serve(ctx, listener) }()
	scheme := "http://"
	if opts.TLS != nil {
		scheme = "https://"
	}
	return scheme + listener.Addr().String(), func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

// inMemory returns a store that takes transactions as large as etcd's.
func inMemory(t testing.TB) store.Store {
	s := memory.New(memory.Options{TxnOps: 1 << 20, MaxBytes: -1})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func inFile(t testing.TB, dir string) *file.Store {
	s, err := file.Open(dir, file.Options{Memory: memory.Options{TxnOps: 1 << 20, MaxBytes: -1}})
	require.NoError(t, err)
	return s
}

func dial(t testing.TB, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop(), MaxCallSendMsgSize: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestConformance runs the suite of stores on our etcd client over our server over a store.
func TestConformance(t *testing.T) {
	for name, open := range map[string]func(testing.TB) store.Store{
		"memory": inMemory,
		"file": func(t testing.TB) store.Store {
			s := inFile(t, t.TempDir())
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			endpoints := map[store.Store]string{}
			connect := func(t testing.TB, endpoint string) store.Store {
				s, err := etcd.New(t.Context(), etcd.Options{Endpoints: []string{endpoint}})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				require.True(t, s.Capabilities().Progress)
				endpoints[s] = endpoint
				return s
			}
			join := func(t testing.TB, s store.Store) store.Store { return connect(t, endpoints[s]) }
			storetest.Run(t, func(t testing.TB) store.Store {
				return connect(t, serve(t, open(t), etcdserver.Options{}))
			}, storetest.Options{Crash: join, Join: join})
			// This tests the crash of a client; store/file tests that of a server.
		})
	}
}

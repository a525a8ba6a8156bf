package etcdserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
	"github.com/keelson-dev/keelson/store/storetest"
)

// TestTooManyKeys: what does not fit into a transaction of the store is refused whole.
func TestTooManyKeys(t *testing.T) {
	for ops, want := range map[int]error{0: rpctypes.ErrGRPCTooManyOps, 1000: nil} {
		s, stop := running(t, memory.New(memory.Options{TxnOps: ops}), etcdserver.Options{})
		for i := range 200 {
			_, err := s.Put(t.Context(), &pb.PutRequest{Key: fmt.Appendf(nil, "a%d", i)})
			require.NoError(t, err)
		}
		before := all(t, s)
		_, err := s.DeleteRange(t.Context(), &pb.DeleteRangeRequest{Key: []byte("a"), RangeEnd: []byte("b")})
		require.ErrorIs(t, err, want)
		after := all(t, s)
		if want != nil {
			require.Equal(t, before, after)
		} else {
			require.Zero(t, after.Count)
			require.Equal(t, before.Header.Revision+1, after.Header.Revision)
		}
		stop()
	}
	s, stop := running(t, memory.New(memory.Options{}), etcdserver.Options{})
	defer stop()
	deep := &pb.TxnRequest{}
	for range 127 {
		deep = &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestTxn{RequestTxn: deep}}}}
	}
	_, err := s.Txn(t.Context(), deep)
	require.NoError(t, err)
	for range 2 {
		deep = &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestTxn{RequestTxn: deep}}}}
	}
	_, err = s.Txn(t.Context(), deep)
	require.ErrorIs(t, err, rpctypes.ErrGRPCTooManyOps)
	wide := &pb.TxnRequest{}
	for range 100 {
		within := &pb.TxnRequest{Compare: make([]*pb.Compare, 28)}
		for i := range within.Compare {
			within.Compare[i] = &pb.Compare{Key: []byte("a")}
		}
		for range 80 {
			within.Success = append(within.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("a")}}})
		}
		wide.Success = append(wide.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: within}})
	}
	_, err = s.Txn(t.Context(), wide)
	require.ErrorIs(t, err, rpctypes.ErrGRPCTooManyOps)
}

func TestTooLarge(t *testing.T) {
	c := dial(t, serve(t, inMemory(t), etcdserver.Options{MaxRequestBytes: 1000}))
	_, err := c.Put(t.Context(), "a", strings.Repeat("x", 1000))
	require.ErrorIs(t, err, rpctypes.ErrRequestTooLarge)
	_, err = c.Put(t.Context(), "a", strings.Repeat("x", 1<<20)) // larger than a message may be
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, err = c.Put(t.Context(), "a", strings.Repeat("x", 900))
	require.NoError(t, err)
}

// TestForeignValue: a value that the server did not write is reported, and neither returned nor
// overwritten.
func TestForeignValue(t *testing.T) {
	m := inMemory(t)
	s, stop := running(t, m, etcdserver.Options{})
	defer stop()
	_, err := m.Create(t.Context(), "/key/a", nil, store.WriteOptions{})
	require.NoError(t, err)
	_, err = s.Range(t.Context(), &pb.RangeRequest{Key: []byte("a")})
	require.Equal(t, codes.DataLoss, status.Code(err))
	_, err = s.Put(t.Context(), &pb.PutRequest{Key: []byte("a")})
	require.Equal(t, codes.DataLoss, status.Code(err))
}

func TestHealth(t *testing.T) {
	m := memory.New(memory.Options{})
	endpoint := serve(t, m, etcdserver.Options{})
	get := func(path string) (int, string) {
		resp, err := http.Get(endpoint + path)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	for path, want := range map[string]string{"/health": `{"health":"true","reason":""}`, "/livez": "ok\n", "/readyz": "ok\n"} {
		code, text := get(path)
		require.Equal(t, []any{200, want}, []any{code, text}, path)
	}
	code, text := get("/version")
	require.Equal(t, 200, code)
	require.Regexp(t, `^\{"etcdserver":"3\.6\.\d+","etcdcluster":"3\.6\.0"\}$`, text)
	code, _ = get("/none")
	require.Equal(t, 404, code)

	c := dial(t, endpoint)
	answer, err := grpc_health_v1.NewHealthClient(c.ActiveConnection()).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, grpc_health_v1.HealthCheckResponse_SERVING, answer.Status)
	_, err = c.HashKV(t.Context(), endpoint, 0)
	require.Equal(t, codes.Unimplemented, status.Code(err))

	require.NoError(t, m.Close())
	code, text = get("/health")
	require.Equal(t, 503, code)
	require.Contains(t, text, "closed")
	_, err = c.Put(t.Context(), "a", "")
	require.Error(t, err)
}

// BenchmarkPut and the others compare with a real etcd, which is synced to the disk unless it says
// --unsafe-no-fsync; "file" is too.
func benchmark(b *testing.B, run func(b *testing.B, c *clientv3.Client)) {
	for _, kind := range []string{"memory", "file", "etcd"} {
		b.Run(kind, func(b *testing.B) {
			var endpoint string
			switch kind {
			case "memory":
				endpoint = serve(b, inMemory(b), etcdserver.Options{})
			case "file":
				s := inFile(b, b.TempDir())
				b.Cleanup(func() { require.NoError(b, s.Close()) })
				endpoint = serve(b, s, etcdserver.Options{})
			default:
				endpoint = storetest.StartEtcd(b).Endpoint
			}
			run(b, dial(b, endpoint))
		})
	}
}

func BenchmarkPut(b *testing.B) {
	benchmark(b, func(b *testing.B, c *clientv3.Client) {
		value := strings.Repeat("x", 1000)
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for i := 0; p.Next(); i++ {
				if _, err := c.Put(b.Context(), fmt.Sprintf("/registry/%d", i%1000), value); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkGet(b *testing.B) {
	benchmark(b, func(b *testing.B, c *clientv3.Client) {
		_, err := c.Put(b.Context(), "a", strings.Repeat("x", 1000))
		require.NoError(b, err)
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				if _, err := c.Get(b.Context(), "a"); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

func BenchmarkList(b *testing.B) {
	benchmark(b, func(b *testing.B, c *clientv3.Client) {
		for i := range 1000 {
			_, err := c.Put(b.Context(), fmt.Sprintf("/registry/%d", i), strings.Repeat("x", 1000))
			require.NoError(b, err)
		}
		for b.Loop() {
			_, err := c.Get(b.Context(), "/registry/", clientv3.WithPrefix())
			require.NoError(b, err)
		}
	})
}

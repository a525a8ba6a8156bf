package etcdserver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
)

// running serves without a listener: the background work of the server runs, and the test calls its methods.
func running(t testing.TB, s store.Store, opts etcdserver.Options) (server *etcdserver.Server, stop func()) {
	server = etcdserver.New(s, opts)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	return server, func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

func value(t testing.TB, s *etcdserver.Server, key string) *pb.RangeResponse {
	r, err := s.Range(context.Background(), &pb.RangeRequest{Key: []byte(key)})
	require.NoError(t, err)
	return r
}

func TestLeasesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := memory.New(memory.Options{})
		s, stop := running(t, m, etcdserver.Options{})
		for id, ttl := range map[int64]int64{1: 100, 2: 10, 3: 0} {
			granted, err := s.LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: id, TTL: ttl})
			require.NoError(t, err)
			require.Equal(t, max(ttl, 2), granted.TTL)
			require.EqualValues(t, 1, granted.Header.Revision, "nothing is written")
		}
		for i := range 300 { // more than one transaction of this store
			_, err := s.Put(ctx, &pb.PutRequest{Key: fmt.Appendf(nil, "a%d", i), Lease: 1})
			require.NoError(t, err)
		}
		_, err := s.Put(ctx, &pb.PutRequest{Key: []byte("b"), Lease: 2})
		require.NoError(t, err)
		_, err = s.Put(ctx, &pb.PutRequest{Key: []byte("a7")}) // leaves its lease
		require.NoError(t, err)
		records, err := m.List(ctx, "/lease/", store.ListOptions{})
		require.NoError(t, err)
		require.Len(t, records.Items, 2, "of the leases with keys")

		time.Sleep(10*time.Second - 1)
		synctest.Wait()
		require.EqualValues(t, 1, value(t, s, "b").Count)
		time.Sleep(1)
		synctest.Wait()
		require.Zero(t, value(t, s, "b").Count)
		ttl, err := s.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: 2})
		require.NoError(t, err)
		require.EqualValues(t, -1, ttl.TTL)
		_, err = s.Put(ctx, &pb.PutRequest{Key: []byte("b"), Lease: 2})
		require.ErrorIs(t, err, rpctypes.ErrGRPCLeaseNotFound)

		time.Sleep(90 * time.Second)
		synctest.Wait()
		left, err := s.Range(ctx, &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
		require.NoError(t, err)
		require.EqualValues(t, 1, left.Count)
		require.Equal(t, "a7", string(left.Kvs[0].Key))
		all, err := s.LeaseLeases(ctx, &pb.LeaseLeasesRequest{})
		require.NoError(t, err)
		require.Empty(t, all.Leases)
		records, err = m.List(ctx, "/lease/", store.ListOptions{})
		require.NoError(t, err)
		require.Empty(t, records.Items)
		stop()
		require.NoError(t, m.Close())
	})
}

// TestLeasesOutliveTheServer: another server over the same store has the leases with keys, with their full
// TTL.
func TestLeasesOutliveTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		m := memory.New(memory.Options{})
		s, stop := running(t, m, etcdserver.Options{})
		for id := range int64(2) {
			_, err := s.LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: 7 + id, TTL: 100})
			require.NoError(t, err)
		}
		_, err := s.Put(ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("x"), Lease: 7})
		require.NoError(t, err)
		stop()
		time.Sleep(time.Hour)
		s, stop = running(t, m, etcdserver.Options{})
		synctest.Wait()
		ttl, err := s.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: 7, Keys: true})
		require.NoError(t, err)
		require.Equal(t, []int64{100, 100}, []int64{ttl.TTL, ttl.GrantedTTL})
		require.Equal(t, [][]byte{[]byte("a")}, ttl.Keys)
		require.Equal(t, "x", string(value(t, s, "a").Kvs[0].Value))
		_, err = s.Put(ctx, &pb.PutRequest{Key: []byte("b"), Lease: 8})
		require.ErrorIs(t, err, rpctypes.ErrGRPCLeaseNotFound, "it had no keys")
		time.Sleep(100 * time.Second)
		synctest.Wait()
		require.Zero(t, value(t, s, "a").Count)
		stop()
		require.NoError(t, m.Close())
	})
}

func TestKeepAlive(t *testing.T) {
	endpoint := serve(t, inMemory(t), etcdserver.Options{})
	c := dial(t, endpoint)
	granted, err := c.Grant(t.Context(), 60)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	beats, err := c.KeepAlive(ctx, granted.ID)
	require.NoError(t, err)
	require.EqualValues(t, 60, (<-beats).TTL)
	_, err = c.KeepAliveOnce(t.Context(), 4711)
	require.ErrorIs(t, err, rpctypes.ErrLeaseNotFound)
	_, err = c.Revoke(t.Context(), granted.ID)
	require.NoError(t, err)
	_, err = c.KeepAliveOnce(t.Context(), granted.ID)
	require.ErrorIs(t, err, rpctypes.ErrLeaseNotFound)
}

// TestLeasesAmongWriters: with concurrent writers, revoking a lease deletes exactly its keys.
func TestLeasesAmongWriters(t *testing.T) {
	s, stop := running(t, inMemory(t), etcdserver.Options{})
	defer stop()
	ctx := t.Context()
	for id := range int64(4) {
		_, err := s.LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: id + 1, TTL: 1000})
		require.NoError(t, err)
	}
	var tasks sync.WaitGroup
	for worker := range 8 {
		tasks.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 3))
			for range 300 {
				key := fmt.Appendf(nil, "k%d", rnd.IntN(12))
				var err error
				switch rnd.IntN(8) {
				case 0:
					_, err = s.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: key})
				case 1:
					_, err = s.DeleteRange(ctx, &pb.DeleteRangeRequest{Key: []byte("k1"), RangeEnd: []byte("k2")})
				case 2:
					_, err = s.Txn(ctx, &pb.TxnRequest{
						Compare: []*pb.Compare{{Key: key, Target: pb.Compare_VERSION, Result: pb.Compare_GREATER, TargetUnion: &pb.Compare_Version{}}},
						Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, IgnoreLease: true}}}},
					})
				default:
					_, err = s.Put(ctx, &pb.PutRequest{Key: key, Lease: rnd.Int64N(5)})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	tasks.Wait()
	for id := range int64(4) {
		all, err := s.Range(ctx, &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
		require.NoError(t, err)
		of := int64(0)
		for _, kv := range all.Kvs {
			if kv.Lease == id+1 {
				of++
			}
		}
		ttl, err := s.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: id + 1, Keys: true})
		require.NoError(t, err)
		require.EqualValues(t, of, len(ttl.Keys))
		_, err = s.LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: id + 1})
		require.NoError(t, err)
		after, err := s.Range(ctx, &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
		require.NoError(t, err)
		require.Equal(t, all.Count-of, after.Count)
	}
}

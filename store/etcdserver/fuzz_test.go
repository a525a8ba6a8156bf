package etcdserver_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
)

// FuzzRequests sends any bytes that decode as a request. The server must respond, with a status if it
// refuses; revisions never go down; and a refused request has changed nothing.
func FuzzRequests(f *testing.F) {
	p := &pair{rnd: rand.New(rand.NewPCG(1, 1)), revision: 5}
	for range 20 {
		for kind, r := range []interface{ Marshal() ([]byte, error) }{
			p.rangeRequest(), p.putRequest(), p.deleteRequest(), p.txnRequest(0), &pb.CompactionRequest{Revision: 3},
			&pb.LeaseGrantRequest{ID: 5, TTL: 100}, &pb.LeaseRevokeRequest{ID: 5}, &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: prefix("a")}},
		} {
			data, err := r.Marshal()
			require.NoError(f, err)
			f.Add(uint8(kind), data)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte) {
		m := memory.New(memory.Options{})
		s, stop := running(t, m, etcdserver.Options{MaxRequestBytes: 1 << 16})
		ctx := t.Context()
		for i, key := range []string{"a", "ab", "b", "a", "/r/x"} {
			_, err := s.LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: int64(i + 1), TTL: 100})
			require.NoError(t, err)
			_, err = s.Put(ctx, &pb.PutRequest{Key: []byte(key), Value: []byte(key), Lease: int64(i % 2)})
			require.NoError(t, err)
		}
		before := all(t, s)
		err := send(ctx, t, s, kind, data)
		require.NotEqual(t, codes.Unknown, status.Code(err), "%v", err)
		after := all(t, s)
		require.GreaterOrEqual(t, after.Header.Revision, before.Header.Revision)
		if err != nil {
			require.Equal(t, before, after)
		}
		stop()
		require.NoError(t, m.Close())
	})
}

func all(t *testing.T, s *etcdserver.Server) *pb.RangeResponse {
	r, err := s.Range(context.Background(), &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}})
	require.NoError(t, err)
	return r
}

// decoded decodes bytes; ok is false if they are not a request.
func decoded[R any, P interface {
	*R
	Unmarshal([]byte) error
}](data []byte) (P, bool) {
	r := P(new(R))
	return r, r.Unmarshal(data) == nil
}

func send(ctx context.Context, t *testing.T, s *etcdserver.Server, kind uint8, data []byte) (err error) {
	switch kind % 8 {
	case 0:
		if r, ok := decoded[pb.RangeRequest](data); ok {
			_, err = s.Range(ctx, r)
		}
	case 1:
		if r, ok := decoded[pb.PutRequest](data); ok {
			_, err = s.Put(ctx, r)
		}
	case 2:
		if r, ok := decoded[pb.DeleteRangeRequest](data); ok {
			_, err = s.DeleteRange(ctx, r)
		}
	case 3:
		if r, ok := decoded[pb.TxnRequest](data); ok {
			_, err = s.Txn(ctx, r)
		}
	case 4:
		if r, ok := decoded[pb.CompactionRequest](data); ok {
			_, err = s.Compact(ctx, r)
		}
	case 5:
		if r, ok := decoded[pb.LeaseGrantRequest](data); ok {
			_, err = s.LeaseGrant(ctx, r)
		}
	case 6:
		if r, ok := decoded[pb.LeaseRevokeRequest](data); ok {
			_, err = s.LeaseRevoke(ctx, r)
		}
	case 7:
		r, ok := decoded[pb.WatchRequest](data)
		if !ok {
			return nil
		}
		w, end := openStream(t, s)
		w.in <- r
		if r.GetCreateRequest() != nil {
			require.True(t, (<-w.out).Created)
		}
		end()
		require.Error(t, <-w.done)
	}
	return err
}

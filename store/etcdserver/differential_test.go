package etcdserver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/storetest"
)

// TestSameAnswersAsEtcd sends the same random requests, valid and invalid ones, to a real etcd and to ours,
// and compares every response, revisions included, and all events of watches.
func TestSameAnswersAsEtcd(t *testing.T) {
	real := storetest.StartEtcd(t)
	status, err := dial(t, real.Endpoint).Status(t.Context(), real.Endpoint)
	require.NoError(t, err)
	p := &pair{t: t, version: status.Version, real: newSide(t, real.Endpoint), ours: newSide(t, serve(t, inMemory(t), etcdserver.Options{}))}
	for _, seed := range seeds.Slow(t, 40) {
		p.run(seed)
	}
}

type side struct {
	kv    pb.KVClient
	lease pb.LeaseClient
	watch pb.WatchClient
}

func newSide(t testing.TB, endpoint string) side {
	conn := dial(t, endpoint).ActiveConnection()
	return side{pb.NewKVClient(conn), pb.NewLeaseClient(conn), pb.NewWatchClient(conn)}
}

// pair drives both. Both begin empty and receive the same requests, so they stay at the same revision.
type pair struct {
	t          *testing.T
	version    string // of the real one
	real, ours side
	seed       uint64
	step       int
	rnd        *rand.Rand
	revision   int64
	compacted  int64
	leases     []int64
	watches    []*watched
}

func (p *pair) run(seed uint64) {
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	p.seed, p.rnd, p.leases, p.watches = seed, seeds.Stream(seed, 1), nil, nil
	p.same(ctx, deleteRange(&pb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}))
	for p.step = range 60 {
		p.request(ctx)
		if p.rnd.IntN(20) == 0 {
			p.compact(ctx)
		}
	}
	// No more compactions: whether a watch has already left what is compacted is a race.
	for p.step = range 60 {
		p.request(ctx)
		if p.rnd.IntN(8) == 0 {
			p.open(ctx)
		}
	}
	p.compareWatches(ctx)
	for _, id := range p.leases {
		p.same(ctx, revoke(id))
	}
}

// call sends one request to one side.
type call struct {
	what any
	do   func(context.Context, side) (answered, error)
}

type answered interface{ GetHeader() *pb.ResponseHeader }

func kv[R any, A answered](r *R, method func(pb.KVClient, context.Context, *R, ...grpc.CallOption) (A, error)) call {
	return call{r, func(ctx context.Context, s side) (answered, error) { return method(s.kv, ctx, r) }}
}

func lease[R any, A answered](r *R, method func(pb.LeaseClient, context.Context, *R, ...grpc.CallOption) (A, error)) call {
	return call{r, func(ctx context.Context, s side) (answered, error) { return method(s.lease, ctx, r) }}
}

func deleteRange(r *pb.DeleteRangeRequest) call { return kv(r, pb.KVClient.DeleteRange) }
func put(r *pb.PutRequest) call                 { return kv(r, pb.KVClient.Put) }
func revoke(id int64) call {
	return lease(&pb.LeaseRevokeRequest{ID: id}, pb.LeaseClient.LeaseRevoke)
}

// same sends a request to both and requires equal responses.
func (p *pair) same(ctx context.Context, c call) answered {
	got, gotErr := c.do(ctx, p.ours)
	if txn, ok := c.what.(*pb.TxnRequest); ok && errors.Is(rpctypes.Error(gotErr), rpctypes.ErrDuplicateKey) && unseen(txn) {
		return nil
	}
	want, wantErr := c.do(ctx, p.real)
	at := fmt.Sprintf("seed %d, step %d: %T %+v", p.seed, p.step, c.what, c.what)
	require.NoError(p.t, ctx.Err(), at)
	if _, txn := c.what.(*pb.TxnRequest); txn && p.version < "3.6" && wantErr != nil && gotErr != nil {
		return nil // of several errors in a transaction older versions report that of the first put
	}
	require.Equal(p.t, fmt.Sprint(wantErr), fmt.Sprint(gotErr), at)
	require.Equal(p.t, status.Code(wantErr), status.Code(gotErr), at)
	if wantErr != nil {
		return nil
	}
	for _, a := range []answered{want, got} {
		h := a.GetHeader()
		h.ClusterId, h.MemberId, h.RaftTerm = 0, 0, 0
	}
	require.Equal(p.t, fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", got), at)
	p.revision = max(p.revision, got.GetHeader().Revision)
	return got
}

// unseen reports whether a transaction may put and delete a key without etcd detecting it: etcd overlooks
// deletes to the end of all keys, and a put in one nested transaction with the delete in another. Our server
// refuses these, because a store cannot do both in one commit.
func unseen(r *pb.TxnRequest) bool {
	within := 0
	for _, op := range slices.Concat(r.Success, r.Failure) {
		if d := op.GetRequestDeleteRange(); d != nil && string(d.RangeEnd) == "\x00" {
			return true
		}
		if t := op.GetRequestTxn(); t != nil {
			if within++; unseen(t) {
				return true
			}
		}
	}
	return within > 1
}

func (p *pair) request(ctx context.Context) {
	switch n := p.rnd.IntN(20); {
	case n < 5:
		p.same(ctx, kv(p.rangeRequest(), pb.KVClient.Range))
	case n < 10:
		p.same(ctx, put(p.putRequest()))
	case n < 12:
		p.same(ctx, deleteRange(p.deleteRequest()))
	case n < 17:
		p.same(ctx, kv(p.txnRequest(0), pb.KVClient.Txn))
	default:
		p.leaseRequest(ctx)
	}
}

func (p *pair) leaseRequest(ctx context.Context) {
	switch p.rnd.IntN(5) {
	case 0:
		r := &pb.LeaseGrantRequest{ID: p.rnd.Int64N(1 << 40), TTL: 1000 + p.rnd.Int64N(1000)}
		if p.rnd.IntN(10) == 0 {
			r.TTL = 1 << 40
		}
		if len(p.leases) > 0 && p.rnd.IntN(10) == 0 {
			r.ID = p.leases[0]
		}
		if p.same(ctx, lease(r, pb.LeaseClient.LeaseGrant)) != nil {
			p.leases = append(p.leases, r.ID)
		}
	case 1:
		if len(p.leases) > 2 {
			p.same(ctx, revoke(p.leases[0]))
			p.leases = p.leases[1:]
		} else {
			p.same(ctx, revoke(12345))
		}
	case 2:
		p.same(ctx, lease(&pb.LeaseLeasesRequest{}, func(c pb.LeaseClient, ctx context.Context, r *pb.LeaseLeasesRequest, o ...grpc.CallOption) (*pb.LeaseLeasesResponse, error) {
			resp, err := c.LeaseLeases(ctx, r, o...)
			if err == nil {
				slices.SortFunc(resp.Leases, func(a, b *pb.LeaseStatus) int { return int(a.ID - b.ID) })
			}
			return resp, err
		}))
	default:
		p.same(ctx, lease(&pb.LeaseTimeToLiveRequest{ID: p.leaseID(), Keys: p.rnd.IntN(2) == 0}, func(c pb.LeaseClient, ctx context.Context, r *pb.LeaseTimeToLiveRequest, o ...grpc.CallOption) (*pb.LeaseTimeToLiveResponse, error) {
			resp, err := c.LeaseTimeToLive(ctx, r, o...)
			if err == nil {
				slices.SortFunc(resp.Keys, slices.Compare)
				if resp.TTL > 0 {
					require.InDelta(p.t, resp.GrantedTTL, resp.TTL, 61) // that of a minute's history
					resp.TTL = 0
				}
			}
			return resp, err
		}))
	}
}

func (p *pair) leaseID() int64 {
	switch {
	case len(p.leases) > 0 && p.rnd.IntN(8) > 0:
		return p.leases[p.rnd.IntN(len(p.leases))]
	default:
		return 54321
	}
}

var someKeys = []string{"a", "a\x00", "ab", "abc", "a\xff", "b", "\x00", "\xff", "\xff\xff", "/r/p/1", "/r/p/2", "/r/p/2/x", "/r/q", "/r/q\x00\x01", "compact_rev_key"}

func (p *pair) key() []byte {
	if p.rnd.IntN(60) == 0 {
		return nil
	}
	return []byte(someKeys[p.rnd.IntN(len(someKeys))])
}

func (p *pair) span() (key, end []byte) {
	key = p.key()
	switch p.rnd.IntN(8) {
	case 0:
		return key, []byte{0}
	case 1, 2:
		return key, []byte(clientv3.GetPrefixRangeEnd(string(key)))
	case 3:
		return append(key, 0), []byte(clientv3.GetPrefixRangeEnd(string(key[:min(len(key), 1)])))
	case 4:
		return key, p.key()
	case 5:
		return []byte("/r/"), []byte("/r0")
	default:
		return key, nil
	}
}

func (p *pair) oneIn(n int) bool { return p.rnd.IntN(n) == 0 }

// someRevision returns a revision, mostly one that exists.
func (p *pair) someRevision() int64 {
	return max(-1, p.revision+2-p.rnd.Int64N(12))
}

func (p *pair) rangeRequest() *pb.RangeRequest {
	r := &pb.RangeRequest{Serializable: p.oneIn(4), KeysOnly: p.oneIn(5), CountOnly: p.oneIn(6)}
	r.Key, r.RangeEnd = p.span()
	if p.oneIn(3) {
		r.Limit = p.rnd.Int64N(5)
	}
	if p.oneIn(3) {
		r.Revision = p.someRevision()
	}
	if p.oneIn(3) {
		r.SortOrder, r.SortTarget = pb.RangeRequest_SortOrder(p.rnd.IntN(3)), pb.RangeRequest_SortTarget(p.rnd.IntN(5))
	}
	for _, bound := range []*int64{&r.MinModRevision, &r.MaxModRevision, &r.MinCreateRevision, &r.MaxCreateRevision} {
		if p.oneIn(12) {
			*bound = p.someRevision()
		}
	}
	return r
}

func (p *pair) putRequest() *pb.PutRequest {
	r := &pb.PutRequest{Key: p.key(), Value: fmt.Append(nil, p.rnd.IntN(6)), PrevKv: p.oneIn(3)}
	if p.oneIn(10) {
		r.Value = nil
	}
	if p.oneIn(5) {
		r.Lease = p.leaseID()
	}
	if p.oneIn(10) {
		r.IgnoreLease = true
	}
	if p.oneIn(10) {
		r.IgnoreValue = true
		if p.oneIn(2) {
			r.Value = nil
		}
	}
	return r
}

func (p *pair) deleteRequest() *pb.DeleteRangeRequest {
	r := &pb.DeleteRangeRequest{PrevKv: p.oneIn(3)}
	r.Key, r.RangeEnd = p.span()
	return r
}

func (p *pair) compare() *pb.Compare {
	c := &pb.Compare{Result: pb.Compare_CompareResult(p.rnd.IntN(4)), Target: pb.Compare_CompareTarget(p.rnd.IntN(5)), Key: p.key()}
	if p.oneIn(4) {
		c.Key, c.RangeEnd = p.span()
	}
	switch c.Target {
	case pb.Compare_VERSION:
		c.TargetUnion = &pb.Compare_Version{Version: p.rnd.Int64N(4)}
	case pb.Compare_CREATE:
		c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: max(0, p.someRevision()-3) * p.rnd.Int64N(2)}
	case pb.Compare_MOD:
		c.TargetUnion = &pb.Compare_ModRevision{ModRevision: max(0, p.someRevision()-3) * p.rnd.Int64N(2)}
	case pb.Compare_VALUE:
		c.TargetUnion = &pb.Compare_Value{Value: fmt.Append(nil, p.rnd.IntN(6))}
	case pb.Compare_LEASE:
		c.TargetUnion = &pb.Compare_Lease{Lease: p.leaseID() * p.rnd.Int64N(2)}
	}
	return c
}

func (p *pair) txnRequest(depth int) *pb.TxnRequest {
	r := &pb.TxnRequest{}
	for range p.rnd.IntN(3) {
		r.Compare = append(r.Compare, p.compare())
	}
	for _, list := range []*[]*pb.RequestOp{&r.Success, &r.Failure} {
		for range p.rnd.IntN(4) {
			*list = append(*list, p.op(depth))
		}
	}
	return r
}

func (p *pair) op(depth int) *pb.RequestOp {
	switch p.rnd.IntN(9) {
	case 0, 1, 2:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: p.rangeRequest()}}
	case 3, 4, 5:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: p.putRequest()}}
	case 6:
		if depth < 2 {
			return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: p.txnRequest(depth + 1)}}
		}
		fallthrough
	default:
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: p.deleteRequest()}}
	}
}

func (p *pair) compact(ctx context.Context) {
	r := &pb.CompactionRequest{Revision: p.someRevision(), Physical: p.oneIn(2)}
	if p.same(ctx, kv(r, pb.KVClient.Compact)) != nil {
		p.compacted = r.Revision
	}
}

// watched is a watch of both.
type watched struct {
	r          *pb.WatchCreateRequest
	real, ours pb.Watch_WatchClient
}

func (p *pair) open(ctx context.Context) {
	r := &pb.WatchCreateRequest{PrevKv: p.oneIn(2), ProgressNotify: p.oneIn(2), Fragment: p.oneIn(2), WatchId: p.rnd.Int64N(2) * 7}
	r.Key, r.RangeEnd = p.span()
	if p.oneIn(2) {
		r.StartRevision = max(0, p.revision+2-p.rnd.Int64N(60))
	}
	if r.StartRevision == p.compacted {
		r.StartRevision++ // of that revision etcd sends what happens to be left, this server nothing
	}
	if p.oneIn(3) {
		r.Filters = []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_FilterType(p.rnd.IntN(2))}
	}
	w := &watched{r: r}
	var made [2]*pb.WatchResponse
	for i, s := range []side{p.real, p.ours} {
		stream, err := s.watch.Watch(ctx)
		require.NoError(p.t, err)
		require.NoError(p.t, stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}))
		made[i], err = stream.Recv()
		require.NoError(p.t, err)
		made[i].Header = &pb.ResponseHeader{Revision: made[i].Header.Revision}
		if i == 0 {
			w.real = stream
		} else {
			w.ours = stream
		}
	}
	require.Equal(p.t, made[0], made[1], "seed %d, step %d: %+v", p.seed, p.step, r)
	if !made[0].Canceled {
		p.watches = append(p.watches, w)
	}
}

// compareWatches writes something that each watch sees, and compares everything up to it.
func (p *pair) compareWatches(ctx context.Context) {
	last := map[*watched]int64{}
	for _, w := range p.watches {
		key := w.r.Key
		if len(key) == 0 {
			key = []byte{0}
		}
		for p.revision < w.r.StartRevision {
			p.same(ctx, put(&pb.PutRequest{Key: key}))
		}
		last[w] = p.same(ctx, put(&pb.PutRequest{Key: key})).GetHeader().Revision
		deleted := p.same(ctx, deleteRange(&pb.DeleteRangeRequest{Key: key})).GetHeader().Revision
		if !slices.Contains(w.r.Filters, pb.WatchCreateRequest_NODELETE) {
			last[w] = deleted
		}
	}
	for _, w := range p.watches {
		want, wantEnd := p.events(w.real, last[w])
		got, gotEnd := p.events(w.ours, last[w])
		at := fmt.Sprintf("seed %d: %+v", p.seed, w.r)
		require.Equal(p.t, wantEnd, gotEnd, at)
		require.Equal(p.t, len(want), len(got), at)
		for i := range want {
			require.Equal(p.t, fmt.Sprintf("%+v", want[i]), fmt.Sprintf("%+v", got[i]), at)
		}
	}
}

// events reads up to a revision, or to the end of the watch, which is returned.
func (p *pair) events(stream pb.Watch_WatchClient, last int64) ([]*mvccpb.Event, *pb.WatchResponse) {
	var events []*mvccpb.Event
	for {
		resp, err := stream.Recv()
		require.NoError(p.t, err, "seed %d", p.seed)
		if resp.Canceled {
			return events, &pb.WatchResponse{WatchId: resp.WatchId, Canceled: true, CompactRevision: resp.CompactRevision, CancelReason: resp.CancelReason}
		}
		for _, e := range resp.Events {
			if events = append(events, e); e.Kv.ModRevision >= last {
				return events, nil
			}
		}
	}
}

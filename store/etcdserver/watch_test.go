package etcdserver_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/keelson-dev/keelson/store/etcdserver"
	"github.com/keelson-dev/keelson/store/memory"
)

// watchStream is the server's end of a stream whose other end is the test. Send blocks until the test
// receives the response.
type watchStream struct {
	grpc.ServerStream
	ctx  context.Context
	in   chan *pb.WatchRequest
	out  chan *pb.WatchResponse
	done chan error
}

func (w *watchStream) Context() context.Context { return w.ctx }

func (w *watchStream) Send(r *pb.WatchResponse) error {
	select {
	case w.out <- r:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

func (w *watchStream) Recv() (*pb.WatchRequest, error) {
	select {
	case r := <-w.in:
		return r, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

func openStream(t testing.TB, s *etcdserver.Server) (w *watchStream, end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	w = &watchStream{ctx: ctx, in: make(chan *pb.WatchRequest), out: make(chan *pb.WatchResponse), done: make(chan error, 1)}
	go func() {
		w.done <- s.Watch(w)
		cancel() // as gRPC does
	}()
	return w, cancel
}

func (w *watchStream) create(r *pb.WatchCreateRequest) *pb.WatchResponse {
	w.in <- &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}
	return <-w.out
}

func (w *watchStream) askProgress() {
	w.in <- &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}
}

func prefix(p string) *pb.WatchCreateRequest {
	return &pb.WatchCreateRequest{Key: []byte(p), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(p))}
}

// TestProgress: every watch of a stream reports its progress, after all its events; those of other streams do
// not.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{})
		s, stop := running(t, m, etcdserver.Options{ProgressInterval: time.Minute})
		w, end := openStream(t, s)
		other, endOther := openStream(t, s)
		a, b := w.create(prefix("a")), w.create(prefix("b"))
		future := prefix("c")
		future.StartRevision = 100
		c := w.create(future)
		notified := prefix("a")
		notified.ProgressNotify = true
		require.True(t, other.create(notified).Created)
		require.Equal(t, []int64{0, 1, 2}, []int64{a.WatchId, b.WatchId, c.WatchId})
		for _, key := range []string{"a1", "x", "a2", "x"} {
			_, err := s.Put(t.Context(), &pb.PutRequest{Key: []byte(key)})
			require.NoError(t, err)
		}
		w.askProgress()
		events, reached := 0, map[int64]int64{}
		for len(reached) < 3 {
			r := <-w.out
			if len(r.Events) == 0 {
				reached[r.WatchId] = r.Header.Revision
				continue
			}
			require.NotContains(t, reached, r.WatchId, "first what it was to see")
			events += len(r.Events)
		}
		require.Equal(t, 2, events)
		require.Equal(t, map[int64]int64{0: 5, 1: 5, 2: 5}, reached)
		for seen := 0; seen < 2; {
			seen += len((<-other.out).Events)
		}
		synctest.Wait()
		select {
		case r := <-other.out:
			require.Fail(t, "it has not requested progress", "%v", r)
		default:
		}

		// A watch with progress notifications that has no events reports at intervals; the first tick finds
		// recent events.
		start := time.Now()
		r := <-other.out
		require.Empty(t, r.Events)
		require.EqualValues(t, 5, r.Header.Revision)
		require.Equal(t, 2*time.Minute, time.Since(start))

		w.in <- &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: 0}}}
		require.True(t, (<-w.out).Canceled)
		_, err := s.Put(t.Context(), &pb.PutRequest{Key: []byte("a3")})
		require.NoError(t, err)
		w.askProgress()
		for range 2 {
			require.NotEqualValues(t, 0, (<-w.out).WatchId)
		}
		require.Len(t, (<-other.out).Events, 1)
		end()
		require.Error(t, <-w.done)
		stop() // ends the other stream
		require.ErrorIs(t, <-other.done, rpctypes.ErrGRPCStopped)
		endOther()
		require.NoError(t, m.Close())
	})
}

// TestSlowWatch: a client that does not read delays no other, and its watch is cancelled as compacted.
func TestSlowWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New(memory.Options{LogEvents: 10})
		s, stop := running(t, m, etcdserver.Options{})
		slow, endSlow := openStream(t, s)
		quick, endQuick := openStream(t, s)
		slow.create(prefix("a"))
		quick.create(prefix("a"))
		for i := range 100 {
			_, err := s.Put(t.Context(), &pb.PutRequest{Key: []byte("a")})
			require.NoError(t, err)
			require.EqualValues(t, i+2, (<-quick.out).Events[0].Kv.ModRevision)
		}
		var last *pb.WatchResponse
		for last = <-slow.out; !last.Canceled; last = <-slow.out {
			require.Less(t, last.Header.Revision, int64(20))
		}
		require.NotZero(t, last.CompactRevision)
		endSlow()
		endQuick()
		require.Error(t, <-slow.done)
		require.Error(t, <-quick.done)
		stop()
		require.NoError(t, m.Close())
	})
}

// TestLargeWatchResponses: a commit is split only for a client that requested fragments; several commits are
// not sent as one large response.
func TestLargeWatchResponses(t *testing.T) {
	c := dial(t, serve(t, inMemory(t), etcdserver.Options{MaxRequestBytes: 16 << 20}))
	large := strings.Repeat("x", 1<<20)
	var ops []clientv3.Op
	for i := range 8 {
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("a%d", i), large))
	}
	for range 3 {
		_, err := c.Txn(t.Context()).Then(ops...).Commit()
		require.NoError(t, err)
	}
	for _, fragment := range []bool{false, true} {
		stream, err := pb.NewWatchClient(c.ActiveConnection()).Watch(t.Context(), grpc.MaxCallRecvMsgSize(64<<20))
		require.NoError(t, err)
		r := prefix("a")
		r.StartRevision, r.Fragment = 1, fragment
		require.NoError(t, stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}))
		events, parts := 0, 0
		for events < 24 {
			got, err := stream.Recv()
			require.NoError(t, err)
			if got.Created {
				continue
			}
			parts++
			events += len(got.Events)
			if !fragment {
				require.Len(t, got.Events, 8)
			} else {
				require.Less(t, got.Size(), 3<<20)
				require.Equal(t, events%8 != 0, got.Fragment)
			}
			last := got.Events[len(got.Events)-1].Kv.ModRevision
			require.LessOrEqual(t, last, got.Header.Revision)
			if events < 24 {
				require.Equal(t, last, got.Header.Revision, "no more is promised than was sent")
			}
		}
		require.Equal(t, fragment, parts > 3)
	}
}

// TestServeEnds: with open streams that are not read, and requests running, Serve returns and leaves no
// goroutine.
func TestServeEnds(t *testing.T) {
	m := memory.New(memory.Options{MaxBytes: -1})
	before := runtime.NumGoroutine()
	endpoint, stop := serveUntil(t, m, etcdserver.Options{})
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	require.NoError(t, err)
	stalled, err := pb.NewWatchClient(c.ActiveConnection()).Watch(t.Context())
	require.NoError(t, err)
	require.NoError(t, stalled.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: prefix("")}}))
	_, err = stalled.Recv()
	require.NoError(t, err)
	events := c.Watch(t.Context(), "", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	<-events
	lease, err := c.Grant(t.Context(), 60)
	require.NoError(t, err)
	_, err = c.KeepAlive(t.Context(), lease.ID)
	require.NoError(t, err)
	for i := range 50 {
		_, err = c.Put(t.Context(), fmt.Sprintf("a%d", i), strings.Repeat("x", 100_000))
		require.NoError(t, err)
	}
	stop()
	_, err = stalled.Recv()
	for err == nil {
		_, err = stalled.Recv()
	}
	require.Error(t, err)
	_ = c.Close() // its connection is gone
	require.NoError(t, m.Close())
	// The condition has a goroutine of its own.
	if !assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, time.Minute, 10*time.Millisecond) {
		text := make([]byte, 1<<20)
		require.Fail(t, "goroutines are left", "%d before:\n%s", before, text[:runtime.Stack(text, true)])
	}
	err = etcdserver.New(m, etcdserver.Options{}).Serve(t.Context())
	require.Error(t, err, "the store is closed")
	require.False(t, errors.Is(err, context.Canceled))
}

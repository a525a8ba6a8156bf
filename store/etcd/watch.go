package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/wake"
)

const (
	watchQueue = 4096 // undelivered responses of one watch
	minRetry   = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
)

// errBehind ends a stream whose reader did not keep up.
var errBehind = errors.New("watch buffer is full")

// stream is one etcd watch. It has a gRPC stream of its own, distinguished by metadata, so that a progress
// request reaches no other watch.
type stream struct {
	store  *Store
	prefix string
	cancel context.CancelFunc
	// requested is set when progress has been requested.
	requested wake.Signal

	queue  chan store.Batch
	queued atomic.Int64 // bytes in queue
	err    error        // why queue was closed
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	retry := minRetry
	for {
		select {
		case <-s.done:
			return store.ErrClosed
		default:
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last, failed, err := s.watchOnce(ctx, prefix, from, opts, deliver)
		if failed != nil {
			return failed
		}
		if last > from {
			from, retry = last, minRetry
		}
		var expired *store.ExpiredError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &expired):
			return err
		case errors.Is(err, errBehind):
			continue
		}
		s.opts.Logger.Warn("etcd watch failed, opening it again", "prefix", prefix, "revision", from, "err", err)
		timer := time.NewTimer(retry/2 + rand.N(retry))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-s.done:
		}
		timer.Stop()
		retry = min(2*retry, maxRetry)
	}
}

// watchOnce runs one stream to its end and returns the last revision delivered, the error of deliver,
// and that of the stream.
func (s *Store) watchOnce(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) (last int64, failed, err error) {
	st, streamCtx, err := s.open(ctx, prefix)
	if err != nil {
		return from, nil, err
	}
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer s.close(st)
	tasks.Go(func() { st.pump(streamCtx, from, opts) })
	tasks.Go(func() { st.forwardRequests(streamCtx) })
	last = from
	for {
		select {
		case b, ok := <-st.queue:
			if !ok {
				return last, nil, st.err
			}
			st.queued.Add(-size(b))
			if b.Revision < last {
				continue // progress of a stream that began from a later revision
			}
			if ctx.Err() != nil {
				return last, ctx.Err(), nil
			}
			if failed := deliver(b); failed != nil {
				return last, failed, nil
			}
			last = b.Revision
		case <-ctx.Done():
			return last, ctx.Err(), nil
		case <-s.done:
			return last, store.ErrClosed, nil
		}
	}
}

// open registers a stream. The context it returns is the stream's: etcd's client finds the stream by it.
func (s *Store) open(ctx context.Context, prefix string) (*stream, context.Context, error) {
	st := &stream{store: s, prefix: prefix, requested: wake.New(), queue: make(chan store.Batch, watchQueue)}
	own := metadata.AppendToOutgoingContext(clientv3.WithRequireLeader(ctx), "keelson-watch", strconv.FormatUint(rand.Uint64(), 36))
	ctx, st.cancel = context.WithCancel(own)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		st.cancel()
		return nil, nil, store.ErrClosed
	}
	s.streams[st] = struct{}{}
	return st, ctx, nil
}

func (s *Store) close(st *stream) {
	st.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
}

func (s *Store) openStreams(prefix string) []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*stream
	for st := range s.streams {
		if prefix == "" || st.prefix == prefix {
			out = append(out, st)
		}
	}
	return out
}

// pump moves responses from etcd's client, whose own buffer has no bound and must
// therefore be emptied at once, to the queue, which has one.
func (st *stream) pump(ctx context.Context, from int64, opts store.WatchOptions) {
	defer close(st.queue)
	defer st.cancel() // so that etcd's client stops buffering
	start, end := st.store.rangeOf(st.prefix)
	options := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithRev(from + 1)}
	if opts.Prev {
		options = append(options, clientv3.WithPrevKV())
	}
	st.err = errors.New("etcd closed the watch")
	for resp := range st.store.client.Watch(ctx, start, options...) {
		if resp.CompactRevision != 0 {
			st.err = &store.ExpiredError{Compacted: resp.CompactRevision}
			return
		}
		if err := resp.Err(); err != nil {
			st.err = err
			return
		}
		b, ok := st.batch(&resp)
		if !ok {
			continue
		}
		if st.queued.Load() > int64(st.store.opts.WatchBuffer) {
			st.err = errBehind
			return
		}
		st.queued.Add(size(b))
		select {
		case st.queue <- b:
		default:
			st.err = errBehind
			return
		}
	}
}

// batch translates a response. The header's revision is a promise only in a progress
// report: a response with old events may carry it while more of them are to come.
func (st *stream) batch(resp *clientv3.WatchResponse) (store.Batch, bool) {
	if len(resp.Events) == 0 {
		return store.Batch{Revision: resp.Header.Revision}, resp.IsProgressNotify() && st.store.progress.Load()
	}
	b := store.Batch{Events: make([]store.Event, len(resp.Events))}
	for i, e := range resp.Events {
		b.Events[i] = st.store.event(e)
	}
	b.Revision = b.Events[len(b.Events)-1].KV.Revision
	return b, true
}

func (s *Store) event(e *clientv3.Event) store.Event {
	out := store.Event{Type: store.Put, KV: s.kv(e.Kv)}
	if e.Type == clientv3.EventTypeDelete {
		out = store.Event{Type: store.Delete, KV: store.KV{Key: out.KV.Key, Revision: out.KV.Revision}}
	}
	if e.PrevKv != nil {
		prev := s.kv(e.PrevKv)
		out.Prev = &prev
	}
	return out
}

func size(b store.Batch) int64 {
	n := 64
	for _, e := range b.Events {
		n += 128 + len(e.KV.Key) + len(e.KV.Value)
		if e.Prev != nil {
			n += len(e.Prev.Value)
		}
	}
	return int64(n)
}

// forwardRequests forwards progress requests to etcd, which may block while the stream reconnects.
func (st *stream) forwardRequests(ctx context.Context) {
	for {
		select {
		case <-st.requested:
			_ = st.store.client.RequestProgress(ctx) // a waiting caller repeats the request
		case <-ctx.Done():
			return
		}
	}
}

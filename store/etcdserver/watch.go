package etcdserver

import (
	"context"
	"errors"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/keelson-dev/keelson/store"
)

// responseBytes is about how large a response to a watch is at most; a commit is split only for who asked for
// fragments.
const responseBytes = 2 << 20

// noWatch is the id in a response about a watch that was not made.
const noWatch = -1

// watches are those of one stream. Nothing is kept for a client that does not read: each watch waits until
// its response is sent, and the store ends it when what it has yet to see is more than the store keeps.
type watches struct {
	s      *Server
	stream pb.Watch_WatchServer
	ctx    context.Context // of the stream
	fail   context.CancelCauseFunc
	tasks  sync.WaitGroup

	send chan struct{}    // held by who sends; it guards what follows
	byID map[int64]*watch // those not ended
	next int64
}

// watch is one watch. Its changing parts are guarded by watches.send.
type watch struct {
	id       int64
	span     span
	prefix   string // in the store
	prev     bool
	fragment bool
	notify   bool // it wants to be told when nothing happens
	noPut    bool
	noDelete bool
	cancel   context.CancelFunc

	seen  int64 // everything up to here has been sent
	sent  int64 // revision of the last response
	asked int64 // progress is to be told when seen has reached this; 0: it was not asked for
	quiet bool  // nothing was sent since the last tick
}

// Watch implements etcdserverpb.WatchServer.
func (s *Server) Watch(stream pb.Watch_WatchServer) error {
	ctx, fail := context.WithCancelCause(stream.Context())
	ws := &watches{s: s, stream: stream, ctx: ctx, fail: fail, send: make(chan struct{}, 1), byID: map[int64]*watch{}}
	defer func() {
		fail(nil)
		ws.send <- struct{}{} // for good: what still receives begins no watch any more
		ws.tasks.Wait()
	}()
	ws.tasks.Go(ws.tick)
	err := s.receive(ctx, func() error {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		return ws.do(r)
	})
	if cause := context.Cause(ctx); cause != nil && stream.Context().Err() == nil {
		return answer(cause)
	}
	return err
}

func (ws *watches) do(r *pb.WatchRequest) error {
	switch {
	case r.GetCreateRequest() != nil:
		return ws.create(r.GetCreateRequest())
	case r.GetCancelRequest() != nil:
		return ws.end(r.GetCancelRequest().WatchId)
	case r.GetProgressRequest() != nil:
		return ws.askProgress()
	}
	return nil // etcd takes no notice of what it does not know
}

// locked runs f while nobody else sends.
func (ws *watches) locked(f func() error) error {
	select {
	case ws.send <- struct{}{}:
	case <-ws.ctx.Done():
		return ws.ctx.Err()
	}
	defer func() { <-ws.send }()
	return f()
}

func (ws *watches) create(r *pb.WatchCreateRequest) error {
	revision, err := ws.s.store.Progress(ws.ctx, nowhere)
	if err != nil {
		return err
	}
	w := newWatch(r)
	from := revision
	if r.StartRevision > 0 {
		from = r.StartRevision - 1
	}
	w.seen = from
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(ws.ctx)
	return ws.locked(func() error {
		reason := ""
		if w.id == 0 {
			for ws.byID[ws.next] != nil {
				ws.next++
			}
			w.id = ws.next
			ws.next++
		} else if ws.byID[w.id] != nil {
			reason = "mvcc: duplicate watch ID provided on the WatchStream"
		}
		if w.span.empty() {
			reason = "mvcc: watcher range is empty"
		}
		resp := &pb.WatchResponse{Header: ws.s.header(revision), WatchId: w.id, Created: true}
		if reason != "" {
			w.cancel()
			resp.WatchId, resp.Canceled, resp.CancelReason = noWatch, true, reason
		} else {
			ws.byID[w.id] = w
		}
		if err := ws.stream.Send(resp); err != nil || resp.Canceled {
			return err // the watch's context ends with the stream's
		}
		ws.tasks.Go(func() { ws.run(ctx, w, from) })
		return nil
	})
}

func newWatch(r *pb.WatchCreateRequest) *watch {
	key, end := r.Key, r.RangeEnd
	if len(key) == 0 { // from the first key on
		key = []byte{0}
	}
	w := &watch{id: r.WatchId, span: newSpan(key, end), prev: r.PrevKv, fragment: r.Fragment, notify: r.ProgressNotify}
	prefix, _ := w.span.prefix()
	w.prefix = keyRoot + prefix
	for _, f := range r.Filters {
		w.noPut = w.noPut || f == pb.WatchCreateRequest_NOPUT
		w.noDelete = w.noDelete || f == pb.WatchCreateRequest_NODELETE
	}
	return w
}

// run watches until the watch or its stream ends.
func (ws *watches) run(ctx context.Context, w *watch, from int64) {
	defer w.cancel()
	err := ws.s.store.Watch(ctx, w.prefix, from, store.WatchOptions{Prev: w.prev}, func(b store.Batch) error {
		return ws.locked(func() error { return ws.deliver(w, b) })
	})
	if ctx.Err() != nil {
		return
	}
	if expired, ok := errors.AsType[*store.ExpiredError](err); ok {
		err = ws.locked(func() error {
			return ws.cancel(w, &pb.WatchResponse{Canceled: true, CompactRevision: max(1, expired.Compacted)})
		})
	}
	if err != nil {
		ws.fail(err)
	}
}

// end ends a watch because its client wants it; no response for it follows.
func (ws *watches) end(id int64) error {
	return ws.locked(func() error {
		w := ws.byID[id]
		if w == nil {
			return nil
		}
		return ws.cancel(w, &pb.WatchResponse{Canceled: true})
	})
}

// cancel tells that a watch has ended. Called with send held.
func (ws *watches) cancel(w *watch, resp *pb.WatchResponse) error {
	if ws.byID[w.id] != w {
		return nil
	}
	w.cancel()
	delete(ws.byID, w.id)
	revision, err := ws.s.store.Progress(ws.ctx, nowhere)
	if err != nil {
		return err
	}
	resp.Header, resp.WatchId = ws.s.header(revision), w.id
	return ws.stream.Send(resp)
}

// deliver sends a batch of the store. Called with send held.
func (ws *watches) deliver(w *watch, b store.Batch) error {
	if ws.byID[w.id] != w {
		return context.Canceled
	}
	part, size := []*mvccpb.Event(nil), 0
	flush := func(revision int64, more bool) error {
		if len(part) == 0 {
			return nil
		}
		w.quiet = false
		resp := &pb.WatchResponse{Header: ws.s.header(revision), WatchId: w.id, Events: part, Fragment: more}
		part, size = nil, 0
		return ws.stream.Send(resp)
	}
	for _, e := range b.Events {
		event, err := w.event(e)
		if err != nil {
			return err
		}
		if event == nil {
			continue
		}
		n := event.Size()
		if len(part) > 0 && size+n > responseBytes {
			last := part[len(part)-1].Kv.ModRevision
			if within := last == event.Kv.ModRevision; !within || w.fragment {
				if err := flush(last, within); err != nil {
					return err
				}
			}
		}
		part, size = append(part, event), size+n
	}
	if err := flush(b.Revision, false); err != nil {
		return err
	}
	w.seen, w.sent = b.Revision, b.Revision
	if w.asked != 0 && w.seen >= w.asked {
		return ws.progress(w, w.seen)
	}
	return nil
}

// event returns what the watch is told of an event, or nil.
func (w *watch) event(e store.Event) (*mvccpb.Event, error) {
	if !w.span.contains(e.KV.Key[len(keyRoot):]) {
		return nil, nil
	}
	event := &mvccpb.Event{Type: mvccpb.PUT}
	if e.Type == store.Delete {
		if w.noDelete {
			return nil, nil
		}
		event.Type, event.Kv = mvccpb.DELETE, &mvccpb.KeyValue{Key: []byte(e.KV.Key[len(keyRoot):]), ModRevision: e.KV.Revision}
	} else {
		if w.noPut {
			return nil, nil
		}
		kv, err := decode(e.KV)
		if err != nil {
			return nil, err
		}
		event.Kv = kv
	}
	if w.prev && e.Prev != nil {
		prev, err := decode(*e.Prev)
		if err != nil {
			return nil, err
		}
		event.PrevKv = prev
	}
	return event, nil
}

// progress tells a watch that it has seen everything up to a revision. Called with send held.
func (ws *watches) progress(w *watch, revision int64) error {
	w.asked, w.quiet = 0, false
	return ws.stream.Send(&pb.WatchResponse{Header: ws.s.header(revision), WatchId: w.id})
}

// askProgress answers a client's request: each watch is told as soon as it has seen what had been written
// when the request came. etcd tells all watches in one response when the slowest has; clients take both.
func (ws *watches) askProgress() error {
	return ws.ask(func(*watch) bool { return true })
}

// ask makes the watches that are wanted tell their progress, at once or when they have caught up.
func (ws *watches) ask(wanted func(*watch) bool) error {
	prefixes := map[string]bool{}
	err := ws.locked(func() error {
		for _, w := range ws.byID {
			if wanted(w) {
				prefixes[w.prefix] = true
			}
		}
		return nil
	})
	if err != nil || len(prefixes) == 0 {
		return err
	}
	revision := int64(0)
	for prefix := range prefixes {
		reached, err := ws.s.store.Progress(ws.ctx, prefix)
		if err != nil {
			return err
		}
		if revision == 0 { // the later ones are no less
			revision = reached
		}
	}
	return ws.locked(func() error {
		for _, w := range ws.byID {
			if !prefixes[w.prefix] || !wanted(w) {
				continue
			}
			if w.seen < revision {
				w.asked = revision // it reports when it has delivered that: Progress has asked it to
				continue
			}
			// It began behind that revision, or has told of later ones.
			if err := ws.progress(w, max(revision, w.sent)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tick tells the watches that want it, and that have had nothing else for an interval, how far they are.
func (ws *watches) tick() {
	ticker := time.NewTicker(ws.s.opts.ProgressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ws.ctx.Done():
			return
		}
		err := ws.ask(func(w *watch) bool { return w.notify && w.quiet })
		if err == nil {
			err = ws.locked(func() error {
				for _, w := range ws.byID {
					w.quiet = true
				}
				return nil
			})
		}
		if err != nil {
			ws.fail(err)
			return
		}
	}
}

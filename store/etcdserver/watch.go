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

// responseBytes is about the greatest size of a watch response, in bytes; a commit is split only if the
// client requested fragments.
const responseBytes = 2 << 20

// noWatch is the id in the response to a watch that was not created.
const noWatch = -1

// watches are the watches of one stream. They have no buffers: each watch waits until its response is sent,
// and the store ends it when its next event has left the store's history.
type watches struct {
	s      *Server
	stream pb.Watch_WatchServer
	fail   context.CancelCauseFunc
	tasks  sync.WaitGroup

	send chan struct{}    // held while sending; it guards what follows
	byID map[int64]*watch // the open ones
	next int64
}

// watch is one watch. Its changing parts are guarded by watches.send.
type watch struct {
	id       int64
	span     span
	prefix   string // in the store
	prev     bool
	fragment bool
	notify   bool // progress is to be reported while there are no events
	noPut    bool
	noDelete bool
	cancel   context.CancelFunc

	seen     int64 // everything up to here has been sent
	sent     int64 // revision of the last response
	reportAt int64 // progress is to be reported when seen has reached this; 0: it was not requested
	quiet    bool  // nothing was sent since the last tick
}

// Watch implements etcdserverpb.WatchServer.
func (s *Server) Watch(stream pb.Watch_WatchServer) error {
	ctx, fail := context.WithCancelCause(stream.Context())
	ws := &watches{s: s, stream: stream, fail: fail, send: make(chan struct{}, 1), byID: map[int64]*watch{}}
	defer func() {
		fail(nil)
		ws.send <- struct{}{} // never released: a request that is still received starts no watch
		ws.tasks.Wait()
	}()
	ws.tasks.Go(func() { ws.tick(ctx) })
	err := s.receive(ctx, func() error {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		return ws.do(ctx, r)
	})
	if cause := context.Cause(ctx); cause != nil && stream.Context().Err() == nil {
		return answer(cause)
	}
	return err
}

func (ws *watches) do(ctx context.Context, r *pb.WatchRequest) error {
	switch {
	case r.GetCreateRequest() != nil:
		return ws.create(ctx, r.GetCreateRequest())
	case r.GetCancelRequest() != nil:
		return ws.end(ctx, r.GetCancelRequest().WatchId)
	case r.GetProgressRequest() != nil:
		return ws.requestProgress(ctx)
	}
	return nil // etcd ignores unknown requests
}

// locked runs f with send held.
func (ws *watches) locked(ctx context.Context, f func() error) error {
	select {
	case ws.send <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-ws.send }()
	return f()
}

func (ws *watches) create(ctx context.Context, r *pb.WatchCreateRequest) error {
	revision, err := ws.s.store.Progress(ctx, nowhere)
	if err != nil {
		return err
	}
	w := newWatch(r)
	from := revision
	if r.StartRevision > 0 {
		from = r.StartRevision - 1
	}
	w.seen = from
	watchCtx, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	return ws.locked(ctx, func() error {
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
		ws.tasks.Go(func() { ws.run(ctx, watchCtx, w, from) })
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

// run watches until the watch ends, whose context is watchCtx, or its stream, whose context is ctx.
func (ws *watches) run(ctx, watchCtx context.Context, w *watch, from int64) {
	defer w.cancel()
	err := ws.s.store.Watch(watchCtx, w.prefix, from, store.WatchOptions{Prev: w.prev}, func(b store.Batch) error {
		return ws.locked(ctx, func() error { return ws.deliver(ctx, w, b) })
	})
	if watchCtx.Err() != nil {
		return
	}
	if expired, ok := errors.AsType[*store.ExpiredError](err); ok {
		err = ws.locked(ctx, func() error {
			return ws.cancel(ctx, w, &pb.WatchResponse{Canceled: true, CompactRevision: max(1, expired.Compacted)})
		})
	}
	if err != nil {
		ws.fail(err)
	}
}

// end ends a watch at its client's request; the response is the last one for it.
func (ws *watches) end(ctx context.Context, id int64) error {
	return ws.locked(ctx, func() error {
		w := ws.byID[id]
		if w == nil {
			return nil
		}
		return ws.cancel(ctx, w, &pb.WatchResponse{Canceled: true})
	})
}

// cancel ends a watch and reports that. Called with send held.
func (ws *watches) cancel(ctx context.Context, w *watch, resp *pb.WatchResponse) error {
	if ws.byID[w.id] != w {
		return nil
	}
	w.cancel()
	delete(ws.byID, w.id)
	revision, err := ws.s.store.Progress(ctx, nowhere)
	if err != nil {
		return err
	}
	resp.Header, resp.WatchId = ws.s.header(revision), w.id
	return ws.stream.Send(resp)
}

// deliver sends a batch of the store. Called with send held.
func (ws *watches) deliver(ctx context.Context, w *watch, b store.Batch) error {
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
	if w.reportAt != 0 && w.seen >= w.reportAt {
		return ws.progress(w, w.seen)
	}
	return nil
}

// event translates an event for the watch; nil if the watch filters it out.
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

// progress reports to a watch that it has received everything up to a revision. Called with send held.
func (ws *watches) progress(w *watch, revision int64) error {
	w.reportAt, w.quiet = 0, false
	return ws.stream.Send(&pb.WatchResponse{Header: ws.s.header(revision), WatchId: w.id})
}

// requestProgress serves a client's request: each watch reports as soon as it has delivered what had been
// written when the request arrived. etcd sends one response for all watches when the slowest has; clients
// accept both.
func (ws *watches) requestProgress(ctx context.Context) error {
	return ws.request(ctx, func(*watch) bool { return true })
}

// request makes the selected watches report progress, at once or when they have caught up.
func (ws *watches) request(ctx context.Context, selected func(*watch) bool) error {
	prefixes := map[string]bool{}
	err := ws.locked(ctx, func() error {
		for _, w := range ws.byID {
			if selected(w) {
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
		reached, err := ws.s.store.Progress(ctx, prefix)
		if err != nil {
			return err
		}
		if revision == 0 { // the later ones are not less
			revision = reached
		}
	}
	return ws.locked(ctx, func() error {
		for _, w := range ws.byID {
			if !prefixes[w.prefix] || !selected(w) {
				continue
			}
			if w.seen < revision {
				w.reportAt = revision // Progress makes it deliver a batch at that revision
				continue
			}
			// It began after that revision, or has reported a later one.
			if err := ws.progress(w, max(revision, w.sent)); err != nil {
				return err
			}
		}
		return nil
	})
}

// tick reports progress to the watches with progress notifications that had no response for an interval.
func (ws *watches) tick(ctx context.Context) {
	ticker := time.NewTicker(ws.s.opts.ProgressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		err := ws.request(ctx, func(w *watch) bool { return w.notify && w.quiet })
		if err == nil {
			err = ws.locked(ctx, func() error {
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

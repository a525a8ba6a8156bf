package etcdserver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/store"
)

// tries is how often a transaction is tried concurrently with others before it runs alone.
const tries = 3

var (
	// errAlone means that a transaction must be tried again without other writers.
	errAlone = errors.New("the transaction must run alone")
	// errConflict means that a key has changed between the read and the commit.
	errConflict = status.Error(codes.Aborted, "etcdserver: a key was changed by another writer: nothing but the server may write to the store")
)

// Put implements etcdserverpb.KVServer.
func (s *Server) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if err := checkPut(r); err != nil {
		return nil, err
	}
	if r.Lease != 0 && !s.leases.has(r.Lease) { // a transaction would check the key first
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	resp, err := s.single(ctx, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: r}})
	if err != nil {
		return nil, err
	}
	put := resp.Responses[0].GetResponsePut()
	put.Header = resp.Header
	return put, nil
}

// DeleteRange implements etcdserverpb.KVServer.
func (s *Server) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if err := checkDelete(r); err != nil {
		return nil, err
	}
	resp, err := s.single(ctx, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: r}})
	if err != nil {
		return nil, err
	}
	deleted := resp.Responses[0].GetResponseDeleteRange()
	deleted.Header = resp.Header
	return deleted, nil
}

func (s *Server) single(ctx context.Context, op *pb.RequestOp) (*pb.TxnResponse, error) {
	return s.apply(ctx, &pb.TxnRequest{Success: []*pb.RequestOp{op}})
}

// Txn implements etcdserverpb.KVServer.
func (s *Server) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := checkTxn(r, store.MaxTxnOps); err != nil {
		return nil, err
	}
	if operations(r) > maxOps {
		return nil, rpctypes.ErrGRPCTooManyOps
	}
	if err := checkWrites(r); err != nil {
		return nil, err
	}
	return s.apply(ctx, r)
}

// apply runs a transaction whose form has been checked. One with single keys without a lease runs
// concurrently with others: its commit has a guard on every key that was read. Any other runs alone, because
// no guard covers a key that is created in a range.
func (s *Server) apply(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if r.Size() > s.opts.MaxRequestBytes {
		return nil, rpctypes.ErrGRPCRequestTooLarge
	}
	for range tries {
		leave, err := s.gate.share(ctx)
		if err != nil {
			return nil, answer(err)
		}
		resp, err := s.try(ctx, r, false)
		leave()
		if errors.Is(err, errAlone) {
			break
		}
		if !errors.Is(err, errConflict) {
			return resp, answer(err)
		}
	}
	leave, err := s.gate.alone(ctx)
	if err != nil {
		return nil, answer(err)
	}
	defer leave()
	resp, err := s.try(ctx, r, true)
	return resp, answer(err)
}

func (s *Server) try(ctx context.Context, r *pb.TxnRequest, alone bool) (*pb.TxnResponse, error) {
	t := &txn{s: s, alone: alone, next: pending, read: map[string]*mvccpb.KeyValue{}, writes: map[string]*write{}}
	if alone {
		var err error
		if t.base, err = s.store.Progress(ctx, nowhere); err != nil {
			return nil, err
		}
		t.next = t.base + 1
	}
	// The state before all operations decides which lists are run.
	decided := map[*pb.TxnRequest]bool{}
	if err := t.decide(ctx, r, decided); err != nil {
		return nil, err
	}
	if err := t.allowed(ctx, r, decided); err != nil {
		return nil, err
	}
	resp, err := t.run(ctx, r, decided)
	if err != nil {
		return nil, err
	}
	revision, err := t.commit(ctx)
	if err != nil {
		return nil, err
	}
	t.settle(resp, revision)
	resp.Header = s.header(revision)
	return resp, nil
}

// txn is one try of a transaction: what it has read and what it will write.
type txn struct {
	s     *Server
	alone bool
	base  int64 // alone: the revision that is read
	next  int64 // what the commit's revision should be, or pending

	read   map[string]*mvccpb.KeyValue // by key, nil if it does not exist; only if not alone
	writes map[string]*write
	order  []*write
}

// write is a key as the transaction leaves it.
type write struct {
	key      string
	kv, prev *mvccpb.KeyValue // kv: nil if it is deleted; its revisions are known after the commit
}

// Placeholders for revisions until the commit's is known.
const (
	pending  = int64(1)<<62 - 1 // the commit's: greater than any
	previous = int64(-1)        // the one before it
)

// before returns a span as it was before the transaction.
func (t *txn) before(ctx context.Context, sp span, q query) (found, error) {
	if t.alone {
		if q.revision == 0 {
			q.revision = t.base
		}
		return t.s.read(ctx, sp, q)
	}
	if !sp.single || q.revision != 0 {
		return found{}, errAlone
	}
	kv, known := t.read[sp.from]
	if !known {
		f, err := t.s.get(ctx, sp.from)
		if err != nil {
			return found{}, err
		}
		if f.count > 0 {
			kv = f.kvs[0]
		}
		t.read[sp.from] = kv
	}
	if kv == nil {
		return found{}, nil
	}
	own := *kv
	return found{kvs: []*mvccpb.KeyValue{&own}, count: 1}, nil
}

// now returns a span as the operations so far have left it.
func (t *txn) now(ctx context.Context, sp span, q query) (found, error) {
	if len(t.writes) == 0 || q.revision > 0 {
		f, err := t.before(ctx, sp, q)
		f.revision = t.reached()
		return f, err
	}
	if !t.alone {
		return found{}, errAlone
	}
	f, err := t.before(ctx, sp, query{})
	if err != nil {
		return found{}, err
	}
	kvs := slices.DeleteFunc(f.kvs, func(kv *mvccpb.KeyValue) bool { return t.writes[string(kv.Key)] != nil })
	for _, w := range t.order {
		if w.kv != nil && sp.contains(w.key) {
			own := *w.kv
			kvs = append(kvs, &own)
		}
	}
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	f = found{kvs: kvs, count: int64(len(kvs)), revision: t.reached()}
	if q.limit > 0 && f.count > q.limit {
		f.kvs = f.kvs[:q.limit]
	}
	return f, nil
}

// reached is the revision in the header of an operation's response.
func (t *txn) reached() int64 {
	if len(t.writes) > 0 {
		return t.next
	}
	return previous
}

// decide evaluates the comparisons of a transaction and of those within the lists that are run.
func (t *txn) decide(ctx context.Context, r *pb.TxnRequest, decided map[*pb.TxnRequest]bool) error {
	all := true
	for _, c := range r.Compare {
		f, err := t.before(ctx, newSpan(c.Key, c.RangeEnd), query{})
		if err != nil {
			return err
		}
		if !holds(c, f.kvs) {
			all = false
			break
		}
	}
	decided[r] = all
	for _, op := range taken(r, all) {
		if within := op.GetRequestTxn(); within != nil {
			if err := t.decide(ctx, within, decided); err != nil {
				return err
			}
		}
	}
	return nil
}

func taken(r *pb.TxnRequest, succeeded bool) []*pb.RequestOp {
	if succeeded {
		return r.Success
	}
	return r.Failure
}

// allowed returns the error with which etcd refuses the whole transaction for what is there before it.
func (t *txn) allowed(ctx context.Context, r *pb.TxnRequest, decided map[*pb.TxnRequest]bool) error {
	for _, op := range taken(r, decided[r]) {
		var err error
		switch {
		case op.GetRequestTxn() != nil:
			err = t.allowed(ctx, op.GetRequestTxn(), decided)
		case op.GetRequestPut() != nil:
			err = t.allowedPut(ctx, op.GetRequestPut())
		case op.GetRequestRange() != nil:
			err = t.allowedRange(ctx, op.GetRequestRange())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) allowedRange(ctx context.Context, r *pb.RangeRequest) error {
	if r.Revision <= 0 {
		return nil
	}
	if !t.alone {
		return errAlone
	}
	_, err := t.s.read(ctx, span{}, query{revision: r.Revision})
	return err
}

func (t *txn) allowedPut(ctx context.Context, r *pb.PutRequest) error {
	if r.IgnoreLease || r.IgnoreValue {
		f, err := t.before(ctx, span{from: string(r.Key), single: true}, query{})
		if err != nil {
			return err
		}
		if f.count == 0 {
			return rpctypes.ErrGRPCKeyNotFound
		}
	}
	if r.Lease == 0 {
		return nil
	}
	if !t.alone {
		return errAlone
	}
	if !t.s.leases.has(r.Lease) {
		return rpctypes.ErrGRPCLeaseNotFound
	}
	return nil
}

// run runs the operations of the list that was decided on.
func (t *txn) run(ctx context.Context, r *pb.TxnRequest, decided map[*pb.TxnRequest]bool) (*pb.TxnResponse, error) {
	resp := &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: decided[r]}
	for _, op := range taken(r, decided[r]) {
		var done pb.ResponseOp
		switch {
		case op.GetRequestRange() != nil:
			answered, err := t.s.answerRange(op.GetRequestRange(), func(sp span, q query) (found, error) { return t.now(ctx, sp, q) })
			if err != nil {
				return nil, err
			}
			done.Response = &pb.ResponseOp_ResponseRange{ResponseRange: answered}
		case op.GetRequestPut() != nil:
			answered, err := t.put(ctx, op.GetRequestPut())
			if err != nil {
				return nil, err
			}
			done.Response = &pb.ResponseOp_ResponsePut{ResponsePut: answered}
		case op.GetRequestDeleteRange() != nil:
			answered, err := t.delete(ctx, op.GetRequestDeleteRange())
			if err != nil {
				return nil, err
			}
			done.Response = &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: answered}
		case op.GetRequestTxn() != nil:
			answered, err := t.run(ctx, op.GetRequestTxn(), decided)
			if err != nil {
				return nil, err
			}
			done.Response = &pb.ResponseOp_ResponseTxn{ResponseTxn: answered}
		}
		resp.Responses = append(resp.Responses, &done)
	}
	return resp, nil
}

func (t *txn) put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	f, err := t.before(ctx, span{from: string(r.Key), single: true}, query{})
	if err != nil {
		return nil, err
	}
	kv := &mvccpb.KeyValue{Key: r.Key, Value: r.Value, Lease: r.Lease, Version: 1, CreateRevision: t.next, ModRevision: t.next}
	resp := &pb.PutResponse{Header: &pb.ResponseHeader{Revision: t.next}}
	var prev *mvccpb.KeyValue
	if f.count > 0 {
		prev = f.kvs[0]
		kv.Version, kv.CreateRevision = prev.Version+1, prev.CreateRevision
		if r.IgnoreValue {
			kv.Value = prev.Value
		}
		if r.IgnoreLease {
			kv.Lease = prev.Lease
		}
		if r.PrevKv {
			resp.PrevKv = prev
		}
	}
	return resp, t.write(string(r.Key), kv, prev)
}

func (t *txn) delete(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	sp := newSpan(r.Key, r.RangeEnd)
	f, err := t.now(ctx, sp, query{})
	if err != nil {
		return nil, err
	}
	for _, kv := range f.kvs {
		if err := t.write(string(kv.Key), nil, kv); err != nil {
			return nil, err
		}
	}
	resp := &pb.DeleteRangeResponse{Header: &pb.ResponseHeader{Revision: t.reached()}, Deleted: f.count}
	if r.PrevKv {
		resp.PrevKvs = f.kvs
	}
	return resp, nil
}

func (t *txn) write(key string, kv, prev *mvccpb.KeyValue) error {
	if !t.alone && (kv != nil && kv.Lease != 0 || prev != nil && prev.Lease != 0) {
		return errAlone
	}
	w := &write{key: key, kv: kv, prev: prev}
	t.writes[key] = w
	t.order = append(t.order, w)
	return nil
}

// commit writes, and returns the store's revision: that of the commit if there was something to write.
func (t *txn) commit(ctx context.Context) (int64, error) {
	ops := make([]store.Op, 0, len(t.order))
	for _, w := range t.order {
		expected := store.Absent
		if w.prev != nil {
			expected = w.prev.ModRevision
		}
		if w.kv == nil {
			ops = append(ops, store.DeleteOp(keyRoot+w.key, expected))
		} else {
			ops = append(ops, store.UpdateOp(keyRoot+w.key, encode(w.kv.Version, w.kv.Lease, w.kv.Value), expected))
		}
	}
	if t.alone && len(ops) == 0 {
		return t.base, nil
	}
	var moves []move
	if t.alone {
		var recorded []store.Op
		moves, recorded = t.s.leases.plan(t.order)
		ops = append(ops, recorded...)
	}
	guards := t.guards()
	if n := len(ops) + len(guards); n > t.s.txnOps() {
		if !t.alone && len(ops) <= t.s.txnOps() {
			return 0, errAlone // then it needs no guards
		}
		return 0, rpctypes.ErrGRPCTooManyOps
	}
	revision, err := t.s.store.Txn(ctx, ops, guards)
	if err != nil {
		return 0, conflict(err)
	}
	t.s.leases.apply(moves, revision)
	return revision, nil
}

// guards are on the keys that were read and are not written.
func (t *txn) guards() []store.Guard {
	var guards []store.Guard
	for key, kv := range t.read {
		if t.writes[key] != nil {
			continue
		}
		g := store.Guard{Key: keyRoot + key, Revision: store.Absent}
		if kv != nil {
			g.Revision = kv.ModRevision
		}
		guards = append(guards, g)
	}
	slices.SortFunc(guards, func(a, b store.Guard) int { return strings.Compare(a.Key, b.Key) })
	return guards
}

func conflict(err error) error {
	_, exists := errors.AsType[*store.ExistsError](err)
	_, changed := errors.AsType[*store.ConflictError](err)
	_, guard := errors.AsType[*store.GuardError](err)
	if exists || changed || guard {
		return errConflict
	}
	return err
}

// settle replaces the placeholders by the commit's revision.
func (t *txn) settle(resp *pb.TxnResponse, revision int64) {
	was := revision
	if len(t.order) > 0 {
		was--
	}
	at := func(r *int64) {
		switch *r {
		case t.next:
			*r = revision
		case previous:
			*r = was
		}
	}
	for _, op := range resp.Responses {
		switch {
		case op.GetResponseRange() != nil:
			at(&op.GetResponseRange().Header.Revision)
			for _, kv := range op.GetResponseRange().Kvs {
				at(&kv.ModRevision)
				at(&kv.CreateRevision)
			}
		case op.GetResponsePut() != nil:
			at(&op.GetResponsePut().Header.Revision)
		case op.GetResponseDeleteRange() != nil:
			at(&op.GetResponseDeleteRange().Header.Revision)
		case op.GetResponseTxn() != nil:
			t.settle(op.GetResponseTxn(), revision)
			at(&op.GetResponseTxn().Header.Revision)
		}
	}
}

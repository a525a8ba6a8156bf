package etcdserver

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/wake"
)

const (
	// seconds; shorter ones are extended, as etcd does to a little more than its election timeout.
	minLease = 2
	maxLease = 9_000_000_000 // seconds, etcd's bound
)

// lease is a time to live that keys share. While it has keys it has a record in the store, which is written
// and deleted in the commits that attach the first key and detach the last: so it is as durable as they are,
// and granting a lease takes no revision.
type lease struct {
	id      int64
	ttl     int64 // granted, in seconds
	expires time.Time
	keys    map[string]struct{}
	record  int64 // revision of the record, or store.Absent
}

// leases holds all leases. Their keys change only while the server's gate is held alone.
type leases struct {
	sooner wake.Signal // set when a lease has been granted, for expire

	mu   sync.Mutex
	byID map[int64]*lease
}

func newLeases() *leases {
	return &leases{byID: map[int64]*lease{}, sooner: wake.New()}
}

func (l *leases) has(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id] != nil
}

// move is the detachment of a key from one lease and its attachment to another, or the change of a lease's
// record.
type move struct {
	key      string
	from, to int64 // 0: none
	record   *record
}

// record is the state of a lease's record after the commit.
type record struct {
	id     int64
	exists bool
}

// plan returns what writes change in the leases, and the operations on the records of leases that are part of
// their commit.
func (l *leases) plan(writes []*write) ([]move, []store.Op) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var moves []move
	var ids []int64
	count := map[int64]int{}
	for _, w := range writes {
		m := move{key: w.key}
		if w.prev != nil {
			m.from = w.prev.Lease
		}
		if w.kv != nil {
			m.to = w.kv.Lease
		}
		if m.from == m.to {
			continue
		}
		moves = append(moves, m)
		for id, by := range map[int64]int{m.from: -1, m.to: 1} {
			if id != 0 {
				if _, seen := count[id]; !seen {
					ids = append(ids, id)
				}
				count[id] += by
			}
		}
	}
	slices.Sort(ids)
	var ops []store.Op
	for _, id := range ids {
		of := l.byID[id]
		if of == nil {
			continue
		}
		left := len(of.keys) + count[id]
		switch {
		case left > 0 && of.record == store.Absent:
			ops = append(ops, store.UpdateOp(leaseKey(id), binary.AppendUvarint(nil, uint64(of.ttl)), store.Absent))
			moves = append(moves, move{record: &record{id: id, exists: true}})
		case left == 0 && of.record != store.Absent:
			ops = append(ops, store.DeleteOp(leaseKey(id), of.record))
			moves = append(moves, move{record: &record{id: id}})
		}
	}
	return moves, ops
}

// apply applies what plan returned, after the commit.
func (l *leases) apply(moves []move, revision int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moves {
		if m.record != nil {
			of := l.byID[m.record.id]
			of.record = store.Absent
			if m.record.exists {
				of.record = revision
			}
			continue
		}
		if of := l.byID[m.from]; of != nil {
			delete(of.keys, m.key)
		}
		if of := l.byID[m.to]; of != nil {
			of.keys[m.key] = struct{}{}
		}
	}
}

// load reads the leases from the store. The TTL of each starts again, as in etcd after a restart.
func (s *Server) load(ctx context.Context) error {
	records, err := s.store.List(ctx, leaseRoot, store.ListOptions{})
	if err != nil || len(records.Items) == 0 {
		return err
	}
	l := s.leases
	l.mu.Lock()
	for _, kv := range records.Items {
		id, err := strconv.ParseInt(strings.TrimPrefix(kv.Key, leaseRoot), 16, 64)
		ttl, n := binary.Uvarint(kv.Value)
		if err != nil || n <= 0 || ttl > maxLease {
			l.mu.Unlock()
			return fmt.Errorf("%w: key %q at revision %d", errForeign, kv.Key, kv.Revision)
		}
		// A lease granted in the meantime has no keys yet.
		l.byID[id] = &lease{id: id, ttl: int64(ttl), expires: time.Now().Add(time.Duration(ttl) * time.Second), keys: map[string]struct{}{}, record: kv.Revision}
	}
	l.mu.Unlock()
	all, err := s.read(ctx, span{open: true}, query{revision: records.Revision})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kv := range all.kvs {
		if of := l.byID[kv.Lease]; of != nil {
			of.keys[string(kv.Key)] = struct{}{}
		}
	}
	return nil
}

// LeaseGrant implements etcdserverpb.LeaseServer.
func (s *Server) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if r.TTL > maxLease {
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	}
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	ttl := max(r.TTL, minLease)
	l := s.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	id := r.ID
	for id == 0 || r.ID == 0 && l.byID[id] != nil {
		id = rand.Int64()
	}
	if l.byID[id] != nil {
		return nil, rpctypes.ErrGRPCLeaseExist
	}
	l.byID[id] = &lease{id: id, ttl: ttl, expires: time.Now().Add(time.Duration(ttl) * time.Second), keys: map[string]struct{}{}}
	l.sooner.Set()
	return &pb.LeaseGrantResponse{Header: s.header(revision), ID: id, TTL: ttl}, nil
}

// LeaseRevoke implements etcdserverpb.LeaseServer.
func (s *Server) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	revision, err := s.revoke(ctx, r.ID, false)
	if err != nil {
		return nil, answer(err)
	}
	return &pb.LeaseRevokeResponse{Header: s.header(revision)}, nil
}

// revoke deletes a lease and its keys; with expired only if the lease has expired. If it has more keys than a
// transaction of the store takes, it uses several.
func (s *Server) revoke(ctx context.Context, id int64, expired bool) (int64, error) {
	leave, err := s.gate.alone(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	l := s.leases
	l.mu.Lock()
	of := l.byID[id]
	if of == nil || expired && time.Now().Before(of.expires) {
		l.mu.Unlock()
		return 0, rpctypes.ErrGRPCLeaseNotFound
	}
	keys := slices.Sorted(maps.Keys(of.keys))
	l.mu.Unlock()
	for part := range slices.Chunk(keys, max(1, s.txnOps()-1)) {
		t := &txn{s: s, alone: true, writes: map[string]*write{}}
		for _, key := range part {
			f, err := s.get(ctx, key)
			if err != nil {
				return 0, err
			}
			if f.count > 0 && f.kvs[0].Lease == id {
				_ = t.write(key, nil, f.kvs[0])
			}
		}
		if _, err := t.commit(ctx); err != nil {
			return 0, err
		}
	}
	l.mu.Lock()
	delete(l.byID, id)
	l.mu.Unlock()
	return s.store.Progress(ctx, nowhere)
}

// LeaseKeepAlive implements etcdserverpb.LeaseServer.
func (s *Server) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	return s.receive(stream.Context(), func() error {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		revision, err := s.store.Progress(stream.Context(), nowhere)
		if err != nil {
			return err
		}
		return stream.Send(&pb.LeaseKeepAliveResponse{Header: s.header(revision), ID: r.ID, TTL: s.leases.renew(r.ID)})
	})
}

// receive repeats step until the client has ended its stream, the server ends, or step fails. A step that is
// still blocked then ends with the stream.
func (s *Server) receive(ctx context.Context, step func() error) error {
	ended := make(chan error, 1)
	s.tasks.Go(func() {
		for {
			if err := step(); err != nil {
				ended <- err
				return
			}
		}
	})
	select {
	case err := <-ended:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return answer(err)
	case <-ctx.Done():
		return answer(ctx.Err())
	case <-s.closing:
		return rpctypes.ErrGRPCStopped
	}
}

// renew extends a lease and returns its seconds from now on: zero if it does not exist.
func (l *leases) renew(id int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byID[id]
	if of == nil || !time.Now().Before(of.expires) {
		return 0
	}
	of.expires = time.Now().Add(time.Duration(of.ttl) * time.Second)
	return of.ttl
}

// LeaseTimeToLive implements etcdserverpb.LeaseServer.
func (s *Server) LeaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	resp := &pb.LeaseTimeToLiveResponse{Header: s.header(revision), ID: r.ID, TTL: -1}
	l := s.leases
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byID[r.ID]
	if of == nil {
		return resp, nil
	}
	resp.TTL, resp.GrantedTTL = int64(max(0, time.Until(of.expires)).Seconds()), of.ttl
	if r.Keys {
		for _, key := range slices.Sorted(maps.Keys(of.keys)) {
			resp.Keys = append(resp.Keys, []byte(key))
		}
	}
	return resp, nil
}

// LeaseLeases implements etcdserverpb.LeaseServer.
func (s *Server) LeaseLeases(ctx context.Context, _ *pb.LeaseLeasesRequest) (*pb.LeaseLeasesResponse, error) {
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	resp := &pb.LeaseLeasesResponse{Header: s.header(revision)}
	for _, of := range s.leases.byExpiry() {
		resp.Leases = append(resp.Leases, &pb.LeaseStatus{ID: of.id})
	}
	return resp, nil
}

// due is a lease and when it expires.
type due struct {
	id      int64
	expires time.Time
}

// byExpiry returns the leases, the next to expire first.
func (l *leases) byExpiry() []due {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]due, 0, len(l.byID))
	for id, of := range l.byID {
		out = append(out, due{id, of.expires})
	}
	slices.SortFunc(out, func(a, b due) int { return cmp.Or(a.expires.Compare(b.expires), cmp.Compare(a.id, b.id)) })
	return out
}

// expire revokes leases when they expire, until ctx ends.
func (s *Server) expire(ctx context.Context) {
	const retry = time.Second // after an error of the store
	for ctx.Err() == nil {
		wait := time.Hour
		for _, of := range s.leases.byExpiry() {
			if wait = time.Until(of.expires); wait > 0 {
				break
			}
			wait = 0
			if _, err := s.revoke(ctx, of.id, true); err != nil && !errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
				s.opts.Logger.Warn("revoke expired lease failed", "lease", of.id, "err", err)
				wait = retry
				break
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.leases.sooner:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

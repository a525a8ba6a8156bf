package etcdserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/keelson-dev/keelson/store"
)

const (
	page    = 1000 // keys per list where the range does not end with a prefix
	rereads = 3    // attempts if the revision is compacted between two pages
)

// query selects what is read of a span.
type query struct {
	revision int64 // 0: the current one
	limit    int64 // 0: all; onlyCount: none
}

// found is the result: kvs ascending by key, and the number of keys in the span.
type found struct {
	kvs      []*mvccpb.KeyValue
	count    int64
	revision int64 // of the state shown
}

// read reads a span as of one revision. Its key-values are the caller's, their bytes are shared.
func (s *Server) read(ctx context.Context, sp span, q query) (found, error) {
	var f found
	var err error
	for range rereads {
		f, err = s.readOnce(ctx, sp, q)
		if _, expired := errors.AsType[*store.ExpiredError](err); !expired || q.revision > 0 {
			break
		}
	}
	return f, err
}

func (s *Server) readOnce(ctx context.Context, sp span, q query) (found, error) {
	if sp.single && q.revision == 0 {
		kv, err := s.get(ctx, sp.from)
		if err != nil {
			return found{}, err
		}
		return kv, nil
	}
	r := reader{s: s, found: found{revision: q.revision}, query: q}
	prefix, exact := sp.prefix()
	var err error
	switch {
	case sp.empty():
		_, err = r.list(ctx, nowhere, "", 1)
	case sp.single:
		err = r.one(ctx, sp.from)
	default:
		after := ""
		switch {
		case sp.from == prefix:
		case strings.HasSuffix(sp.from, "\x00"): // the key right after another: the continuation of a list
			after = sp.from[:len(sp.from)-1]
		default:
			after = sp.from
			err = r.one(ctx, sp.from)
		}
		if err == nil && exact {
			err = r.rest(ctx, prefix, after)
		} else if err == nil {
			err = r.until(ctx, sp.to, prefix, after)
		}
	}
	return r.found, err
}

func (s *Server) get(ctx context.Context, key string) (found, error) {
	kv, revision, err := s.store.Get(ctx, keyRoot+key)
	if errors.Is(err, store.ErrNotFound) {
		return found{revision: revision}, nil
	} else if err != nil {
		return found{}, err
	}
	decoded, err := decode(kv)
	return found{kvs: []*mvccpb.KeyValue{decoded}, count: 1, revision: revision}, err
}

// reader reads a span in several lists of one revision.
type reader struct {
	found
	query
	s *Server
}

func (r *reader) list(ctx context.Context, prefix, after string, limit int64) (store.ListResult, error) {
	// A request for keys only needs the values too: they contain the version.
	o := store.ListOptions{Limit: int(limit), Revision: r.found.revision, KeysOnly: r.limit == onlyCount}
	if after != "" {
		o.After = keyRoot + after
	}
	list, err := r.s.store.List(ctx, prefix, o)
	if err == nil {
		r.found.revision = list.Revision
	}
	return list, err
}

// onlyCount is a limit: only the count is needed.
const onlyCount = -1

// add counts an item and keeps it if it is within the limit.
func (r *reader) add(item store.KV) error {
	r.count++
	if r.limit == onlyCount || r.limit > 0 && int64(len(r.kvs)) >= r.limit {
		return nil
	}
	kv, err := decode(item)
	r.kvs = append(r.kvs, kv)
	return err
}

// one adds a single key.
func (r *reader) one(ctx context.Context, key string) error {
	list, err := r.list(ctx, keyRoot+key, "", 1)
	if err == nil && len(list.Items) > 0 && list.Items[0].Key == keyRoot+key {
		return r.add(list.Items[0])
	}
	return err
}

// rest adds every key with a prefix after another.
func (r *reader) rest(ctx context.Context, prefix, after string) error {
	limit := int64(0)
	if r.limit != 0 {
		limit = max(1, r.limit-int64(len(r.kvs)))
	}
	list, err := r.list(ctx, keyRoot+prefix, after, limit)
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		if err := r.add(item); err != nil {
			return err
		}
	}
	r.count += list.Remaining
	return nil
}

// until adds the keys with a prefix, after one and before another.
func (r *reader) until(ctx context.Context, to, prefix, after string) error {
	for {
		list, err := r.list(ctx, keyRoot+prefix, after, page)
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			after = item.Key[len(keyRoot):]
			if after >= to {
				return nil
			}
			if err := r.add(item); err != nil {
				return err
			}
		}
		if !list.More {
			return nil
		}
	}
}

// Range implements etcdserverpb.KVServer.
func (s *Server) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := checkRange(r); err != nil {
		return nil, err
	}
	resp, err := s.answerRange(r, func(sp span, q query) (found, error) { return s.read(ctx, sp, q) })
	if err != nil {
		return nil, answer(err)
	}
	if r.Revision > 0 { // the header always has the store's revision
		if resp.Header.Revision, err = s.store.Progress(ctx, nowhere); err != nil {
			return nil, answer(err)
		}
	}
	resp.Header = s.header(resp.Header.Revision)
	return resp, nil
}

func checkRange(r *pb.RangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	if _, ok := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]; !ok {
		return rpctypes.ErrGRPCInvalidSortOption
	}
	if _, ok := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]; !ok {
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

// answerRange answers a request with what read returns. The header has the revision of that state.
func (s *Server) answerRange(r *pb.RangeRequest, read func(span, query) (found, error)) (*pb.RangeResponse, error) {
	filtered := r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
	q := query{revision: max(0, r.Revision)}
	switch {
	case r.CountOnly:
		q.limit = onlyCount
	case r.SortOrder == pb.RangeRequest_NONE && !filtered:
		q.limit = max(0, r.Limit)
		if q.limit > 0 {
			q.limit++ // to find out whether there is more
		}
	}
	f, err := read(newSpan(r.Key, r.RangeEnd), q)
	if err != nil {
		return nil, err
	}
	kvs := f.kvs
	if r.CountOnly {
		kvs = nil
	}
	if filtered {
		kvs = slices.DeleteFunc(kvs, func(kv *mvccpb.KeyValue) bool {
			return r.MaxModRevision != 0 && kv.ModRevision > r.MaxModRevision || r.MinModRevision != 0 && kv.ModRevision < r.MinModRevision ||
				r.MaxCreateRevision != 0 && kv.CreateRevision > r.MaxCreateRevision || r.MinCreateRevision != 0 && kv.CreateRevision < r.MinCreateRevision
		})
	}
	order(kvs, r.SortTarget, r.SortOrder)
	resp := &pb.RangeResponse{Header: &pb.ResponseHeader{Revision: f.revision}, Count: f.count}
	if r.Limit > 0 && int64(len(kvs)) > r.Limit {
		kvs, resp.More = kvs[:r.Limit], true
	}
	if r.KeysOnly {
		for _, kv := range kvs {
			kv.Value = nil
		}
	}
	resp.Kvs = kvs
	return resp, nil
}

// order sorts as etcd does: a target other than the key without an order is ascending, among those that the
// limit has let through.
func order(kvs []*mvccpb.KeyValue, by pb.RangeRequest_SortTarget, in pb.RangeRequest_SortOrder) {
	if by == pb.RangeRequest_KEY && in != pb.RangeRequest_DESCEND {
		return
	}
	compare := func(a, b *mvccpb.KeyValue) int {
		switch by {
		case pb.RangeRequest_VERSION:
			return cmp.Compare(a.Version, b.Version)
		case pb.RangeRequest_CREATE:
			return cmp.Compare(a.CreateRevision, b.CreateRevision)
		case pb.RangeRequest_MOD:
			return cmp.Compare(a.ModRevision, b.ModRevision)
		case pb.RangeRequest_VALUE:
			return bytes.Compare(a.Value, b.Value)
		default:
			return bytes.Compare(a.Key, b.Key)
		}
	}
	slices.SortStableFunc(kvs, func(a, b *mvccpb.KeyValue) int {
		if in == pb.RangeRequest_DESCEND {
			return compare(b, a)
		}
		return compare(a, b)
	})
}

// Compact implements etcdserverpb.KVServer. The store compacts at once; Physical has no effect.
func (s *Server) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := s.store.Compact(ctx, r.Revision); err != nil {
		return nil, answer(err)
	}
	revision, err := s.store.Progress(ctx, nowhere)
	if err != nil {
		return nil, answer(err)
	}
	return &pb.CompactionResponse{Header: s.header(revision)}, nil
}

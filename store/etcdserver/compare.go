package etcdserver

import (
	"bytes"
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// holds reports whether a comparison holds for all keys of its span. An empty span is compared as a key that
// does not exist.
func holds(c *pb.Compare, kvs []*mvccpb.KeyValue) bool {
	if len(kvs) == 0 {
		return c.Target != pb.Compare_VALUE && holdsFor(c, &mvccpb.KeyValue{})
	}
	for _, kv := range kvs {
		if !holdsFor(c, kv) {
			return false
		}
	}
	return true
}

func holdsFor(c *pb.Compare, kv *mvccpb.KeyValue) bool {
	var is int
	switch c.Target {
	case pb.Compare_VALUE:
		is = bytes.Compare(kv.Value, c.GetValue())
	case pb.Compare_CREATE:
		is = cmp.Compare(kv.CreateRevision, c.GetCreateRevision())
	case pb.Compare_MOD:
		is = cmp.Compare(kv.ModRevision, c.GetModRevision())
	case pb.Compare_VERSION:
		is = cmp.Compare(kv.Version, c.GetVersion())
	case pb.Compare_LEASE:
		is = cmp.Compare(kv.Lease, c.GetLease())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return is == 0
	case pb.Compare_NOT_EQUAL:
		return is != 0
	case pb.Compare_GREATER:
		return is > 0
	case pb.Compare_LESS:
		return is < 0
	}
	return true
}

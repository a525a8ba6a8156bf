package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/keelson-dev/keelson/store"
)

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, key string, value []byte, opts store.WriteOptions) (int64, error) {
	op := store.CreateOp(key, value)
	op.TTL = opts.TTL
	return s.txn(ctx, "create", []store.Op{op}, opts.Guards)
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, key string, value []byte, expected int64, opts store.WriteOptions) (int64, error) {
	op := store.UpdateOp(key, value, expected)
	op.TTL = opts.TTL
	return s.txn(ctx, "update", []store.Op{op}, opts.Guards)
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string, expected int64, opts store.WriteOptions) (int64, error) {
	return s.txn(ctx, "delete", []store.Op{store.DeleteOp(key, expected)}, opts.Guards)
}

// Txn implements store.Store.
func (s *Store) Txn(ctx context.Context, ops []store.Op, guards []store.Guard) (int64, error) {
	return s.txn(ctx, "txn", ops, guards)
}

func (s *Store) txn(ctx context.Context, name string, ops []store.Op, guards []store.Guard) (int64, error) {
	if err := store.ValidateTxn(ops, guards); err != nil {
		return 0, err
	}
	bounded, cancel, err := s.begin(ctx, requestTimeout)
	if err != nil {
		return 0, err
	}
	defer cancel()
	resp, err := s.commit(bounded, ops, guards)
	// A shared lease was revoked early, for example by an operator.
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		s.leases.forget()
		resp, err = s.commit(bounded, ops, guards)
	}
	if err != nil {
		return 0, s.writeFailure(ctx, name, ops, err)
	}
	if !resp.Succeeded {
		return 0, s.refusal(resp.Responses, ops, guards)
	}
	return resp.Header.Revision, nil
}

func (s *Store) writeFailure(ctx context.Context, name string, ops []store.Op, err error) error {
	err = s.failure(ctx, name, true, err)
	var large *store.TooLargeError
	if errors.As(err, &large) {
		for _, op := range ops {
			large.Bytes += len(op.Key) + len(op.Value)
		}
	}
	return err
}

// commit sends one transaction that reads every key concerned if its conditions fail.
func (s *Store) commit(ctx context.Context, ops []store.Op, guards []store.Guard) (*clientv3.TxnResponse, error) {
	n := len(ops) + len(guards)
	conditions := make([]clientv3.Cmp, 0, n)
	reads := make([]clientv3.Op, 0, n)
	for _, g := range guards {
		conditions = append(conditions, s.condition(g.Key, g.Revision))
		reads = append(reads, clientv3.OpGet(s.full(g.Key)))
	}
	writes := make([]clientv3.Op, 0, len(ops))
	for _, op := range ops {
		expected := op.Expected
		if op.Type == store.OpCreate {
			expected = store.Absent
		}
		conditions = append(conditions, s.condition(op.Key, expected))
		reads = append(reads, clientv3.OpGet(s.full(op.Key)))
		if op.Type == store.OpDelete {
			writes = append(writes, clientv3.OpDelete(s.full(op.Key)))
			continue
		}
		var options []clientv3.OpOption
		if op.TTL > 0 {
			id, err := s.leases.get(ctx, op.TTL)
			if err != nil {
				return nil, fmt.Errorf("grant lease: %w", err)
			}
			options = append(options, clientv3.WithLease(id))
		}
		writes = append(writes, clientv3.OpPut(s.full(op.Key), string(op.Value), options...))
	}
	return s.client.Txn(ctx).If(conditions...).Then(writes...).Else(reads...).Commit()
}

func (s *Store) condition(key string, revision int64) clientv3.Cmp {
	if revision == store.AnyRevision {
		return clientv3.Compare(clientv3.CreateRevision(s.full(key)), ">", 0)
	}
	return clientv3.Compare(clientv3.ModRevision(s.full(key)), "=", revision)
}

// refusal returns the error of the first condition that failed, from what the same transaction read.
func (s *Store) refusal(reads []*etcdserverpb.ResponseOp, ops []store.Op, guards []store.Guard) error {
	current := func(i int) *store.KV {
		if kvs := reads[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
			kv := s.kv(kvs[0])
			return &kv
		}
		return nil
	}
	for i, g := range guards {
		if kv := current(i); !g.Holds(kv) {
			return &store.GuardError{Guard: g, Current: kv}
		}
	}
	for i, op := range ops {
		if err := op.Check(current(len(guards) + i)); err != nil {
			return err
		}
	}
	return &store.UnavailableError{Op: "txn", Err: errors.New("etcd refused a transaction whose conditions all hold")}
}

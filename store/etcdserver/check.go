package etcdserver

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

func checkPut(r *pb.PutRequest) error {
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.IgnoreValue && len(r.Value) > 0:
		return rpctypes.ErrGRPCValueProvided
	case r.IgnoreLease && r.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func checkDelete(r *pb.DeleteRangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	return nil
}

// maxOps is the greatest number of operations of a transaction and of all transactions within it. etcd has no
// such limit, only one for each list.
const maxOps = 10_000

// operations counts the operations of a transaction, including those of lists that will not be run.
func operations(r *pb.TxnRequest) int {
	n := len(r.Compare) + len(r.Success) + len(r.Failure)
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			if within := op.GetRequestTxn(); within != nil {
				n += operations(within)
			}
		}
	}
	return n
}

// checkTxn checks the form of a transaction with at most limit operations in a list; a transaction within it
// has the rest of the limit of the lists around it.
func checkTxn(r *pb.TxnRequest, limit int) error {
	n := max(len(r.Compare), len(r.Success), len(r.Failure))
	if n > limit {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			if err := checkOp(op, limit-n); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWrites refuses a transaction that may write a key twice.
func checkWrites(r *pb.TxnRequest) error {
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		if _, err := writtenBy(ops); err != nil {
			return err
		}
	}
	return nil
}

func checkOp(op *pb.RequestOp, limit int) error {
	switch {
	case op.GetRequestRange() != nil:
		return checkRange(op.GetRequestRange())
	case op.GetRequestPut() != nil:
		return checkPut(op.GetRequestPut())
	case op.GetRequestDeleteRange() != nil:
		return checkDelete(op.GetRequestDeleteRange())
	case op.GetRequestTxn() != nil:
		return checkTxn(op.GetRequestTxn(), limit)
	default:
		return rpctypes.ErrGRPCKeyNotFound // etcd's error for an operation without content
	}
}

// written is what a list of operations may write.
type written struct {
	puts    map[string]bool
	deletes []span
}

func (w written) conflicts(o written) bool {
	for key := range o.puts {
		if w.puts[key] {
			return true
		}
	}
	return w.overlaps(o) || o.overlaps(w)
}

// overlaps reports whether w puts a key that o deletes.
func (w written) overlaps(o written) bool {
	for _, sp := range o.deletes {
		if sp.single {
			if w.puts[sp.from] {
				return true
			}
			continue
		}
		for key := range w.puts {
			if sp.contains(key) {
				return true
			}
		}
	}
	return false
}

// writtenBy returns what a list writes, or an error if it may write a key twice. Only one of the two lists of
// a transaction within it is run, so these two may write the same keys.
func writtenBy(ops []*pb.RequestOp) (written, error) {
	all := written{puts: map[string]bool{}}
	add := func(w written) error {
		if all.conflicts(w) {
			return rpctypes.ErrGRPCDuplicateKey
		}
		all.join(w)
		return nil
	}
	for _, op := range ops {
		var w written
		switch {
		case op.GetRequestPut() != nil:
			w.puts = map[string]bool{string(op.GetRequestPut().Key): true}
		case op.GetRequestDeleteRange() != nil:
			w.deletes = []span{newSpan(op.GetRequestDeleteRange().Key, op.GetRequestDeleteRange().RangeEnd)}
		case op.GetRequestTxn() != nil:
			w.puts = map[string]bool{}
			for _, list := range [][]*pb.RequestOp{op.GetRequestTxn().Success, op.GetRequestTxn().Failure} {
				one, err := writtenBy(list)
				if err != nil {
					return written{}, err
				}
				w.join(one)
			}
		default:
			continue
		}
		if err := add(w); err != nil {
			return written{}, err
		}
	}
	return all, nil
}

func (w *written) join(o written) {
	for key := range o.puts {
		w.puts[key] = true
	}
	w.deletes = append(w.deletes, o.deletes...)
}

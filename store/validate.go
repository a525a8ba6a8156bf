package store

import (
	"fmt"
	"slices"
)

// ValidateTxn returns an error wrapping ErrInvalid if a Txn of these operations and
// guards breaks the contract. Implementations call it first.
func ValidateTxn(ops []Op, guards []Guard) error { return ValidateTxnWithin(MaxTxnOps, ops, guards) }

// ValidateTxnWithin is ValidateTxn for a store that accepts up to limit operations and guards, as its
// Capabilities state.
func ValidateTxnWithin(limit int, ops []Op, guards []Guard) error {
	if n := len(ops) + len(guards); n > limit {
		return fmt.Errorf("%w: %d operations and guards, at most %d", ErrInvalid, n, limit)
	}
	var seen map[string]struct{} // only for many keys; few are compared with each other
	if len(ops) > MaxTxnOps {
		seen = make(map[string]struct{}, len(ops))
	}
	for i, op := range ops {
		if err := validateOp(op); err != nil {
			return err
		}
		if seen == nil && slices.ContainsFunc(ops[:i], func(other Op) bool { return other.Key == op.Key }) {
			return fmt.Errorf("%w: key %q occurs in two operations", ErrInvalid, op.Key)
		}
		if seen != nil {
			if _, twice := seen[op.Key]; twice {
				return fmt.Errorf("%w: key %q occurs in two operations", ErrInvalid, op.Key)
			}
			seen[op.Key] = struct{}{}
		}
	}
	for _, g := range guards {
		if err := ValidateKey(g.Key); err != nil {
			return err
		}
		if g.Revision < AnyRevision {
			return fmt.Errorf("%w: guard revision %d", ErrInvalid, g.Revision)
		}
	}
	return nil
}

// ValidateKey returns an error wrapping ErrInvalid if key is empty or does not begin with a slash.
func ValidateKey(key string) error {
	if key == "" || key[0] != '/' {
		return fmt.Errorf("%w: key %q", ErrInvalid, key)
	}
	return nil
}

func validateOp(op Op) error {
	if err := ValidateKey(op.Key); err != nil {
		return err
	}
	switch op.Type {
	case OpCreate, OpUpdate:
		if op.TTL < 0 {
			return fmt.Errorf("%w: negative TTL %v", ErrInvalid, op.TTL)
		}
	case OpDelete:
		if op.Expected == Absent {
			return fmt.Errorf("%w: delete of %q expects the key to be absent", ErrInvalid, op.Key)
		}
	default:
		return fmt.Errorf("%w: operation type %d", ErrInvalid, op.Type)
	}
	if op.Expected < AnyRevision {
		return fmt.Errorf("%w: expected revision %d", ErrInvalid, op.Expected)
	}
	return nil
}

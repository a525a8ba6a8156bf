package store

import "fmt"

// ValidateTxn returns an error wrapping ErrInvalid if a Txn of these operations and
// guards breaks the contract. Implementations call it first.
func ValidateTxn(ops []Op, guards []Guard) error {
	if n := len(ops) + len(guards); n > MaxTxnOps {
		return fmt.Errorf("%w: %d operations and guards, at most %d", ErrInvalid, n, MaxTxnOps)
	}
	for i, op := range ops {
		if err := validateOp(op); err != nil {
			return err
		}
		for _, other := range ops[:i] {
			if other.Key == op.Key {
				return fmt.Errorf("%w: key %q occurs in two operations", ErrInvalid, op.Key)
			}
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

// ValidateKey returns an error wrapping ErrInvalid if key is not one: empty, or without its
// leading slash.
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

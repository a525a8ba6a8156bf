package store

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned for a key that does not exist. A *ConflictError of a key that does not exist
	// matches it too.
	ErrNotFound = errors.New("store: key not found")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store: closed")
	// ErrInvalid is wrapped by the errors of invalid calls: an empty key, a key twice in a Txn, too many
	// operations. Nothing was written.
	ErrInvalid = errors.New("store: invalid request")
)

// ExistsError is returned when a key to be created exists.
type ExistsError struct {
	Key string
	// Current is the state found.
	Current KV
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("store: key %q exists at revision %d", e.Key, e.Current.Revision)
}

// ConflictError is returned when a key is not at the expected revision.
type ConflictError struct {
	Key      string
	Expected int64
	// Current is the state found in the same transaction, nil if the key does not exist.
	Current *KV
}

func (e *ConflictError) Error() string {
	want := fmt.Sprintf("revision %d", e.Expected)
	switch e.Expected {
	case Absent:
		want = "no such key"
	case AnyRevision:
		want = "any revision"
	}
	if e.Current == nil {
		return fmt.Sprintf("store: key %q: expected %s, found none", e.Key, want)
	}
	return fmt.Sprintf("store: key %q: expected %s, found revision %d", e.Key, want, e.Current.Revision)
}

// Is makes the conflict of a key that does not exist match ErrNotFound.
func (e *ConflictError) Is(target error) bool { return target == ErrNotFound && e.Current == nil }

// GuardError is returned when a guard does not hold.
type GuardError struct {
	Guard Guard
	// Current is the state found in the same transaction, nil if the key does not
	// exist.
	Current *KV
}

func (e *GuardError) Error() string {
	found := "none"
	if e.Current != nil {
		found = fmt.Sprintf("revision %d", e.Current.Revision)
	}
	return fmt.Sprintf("store: guard on %q at revision %d does not hold: found %s", e.Guard.Key, e.Guard.Revision, found)
}

// ExpiredError is returned when a revision is no longer available.
type ExpiredError struct {
	// Compacted is a revision below which history has been discarded: a list at Compacted or a watch from it
	// may still succeed. Zero if not known.
	Compacted int64
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("store: revision has been compacted (oldest is %d)", e.Compacted)
}

// FutureRevisionError is returned when the store has not reached a revision.
type FutureRevisionError struct {
	Requested int64
	// Current is the store's revision, zero if not known.
	Current int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("store: revision %d is not reached yet (current is %d)", e.Requested, e.Current)
}

// TooLargeError is returned when a value or a transaction is larger than the store accepts.
type TooLargeError struct {
	Bytes int
	Limit int // zero if not known
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("store: request of %d bytes is too large (limit %d)", e.Bytes, e.Limit)
}

// UnavailableError is returned when the store could not be reached or did not answer in time.
type UnavailableError struct {
	// Op is the operation, such as "get".
	Op string
	// MaybeApplied is true for a write whose outcome is unknown.
	MaybeApplied bool
	Err          error
}

func (e *UnavailableError) Error() string {
	if e.MaybeApplied {
		return fmt.Sprintf("store: unavailable, %s may or may not have been applied: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("store: unavailable: %s: %v", e.Op, e.Err)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

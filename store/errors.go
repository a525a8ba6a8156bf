package store

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that a key does not exist. A *ConflictError of a key that is
	// gone matches it too.
	ErrNotFound = errors.New("store: key not found")
	// ErrClosed says that the store has been closed.
	ErrClosed = errors.New("store: closed")
	// ErrInvalid says that the call itself is wrong: an empty key, a key twice in a Txn,
	// too many operations. Nothing was done.
	ErrInvalid = errors.New("store: invalid request")
)

// ExistsError says that a key to be created exists.
type ExistsError struct {
	Key string
	// Current is the state found.
	Current KV
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("store: key %q exists at revision %d", e.Key, e.Current.Revision)
}

// ConflictError says that a key was not at the expected revision.
type ConflictError struct {
	Key      string
	Expected int64
	// Current is the state found in the same transaction, nil if the key is gone.
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

// Is makes the conflict of a key that is gone match ErrNotFound.
func (e *ConflictError) Is(target error) bool { return target == ErrNotFound && e.Current == nil }

// GuardError says that a guard did not hold.
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

// ExpiredError says that a revision is no longer available.
type ExpiredError struct {
	// Compacted is a revision below which history is gone: a list at Compacted or a
	// watch from it may still succeed. Zero if not known.
	Compacted int64
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("store: revision has been compacted (oldest is %d)", e.Compacted)
}

// FutureRevisionError says that the store has not reached a revision.
type FutureRevisionError struct {
	Requested int64
	// Current is the store's revision, zero if not known.
	Current int64
}

func (e *FutureRevisionError) Error() string {
	return fmt.Sprintf("store: revision %d is not reached yet (current is %d)", e.Requested, e.Current)
}

// TooLargeError says that a value or a transaction is larger than the store takes.
type TooLargeError struct {
	Bytes int
	Limit int // zero if not known
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("store: request of %d bytes is too large (limit %d)", e.Bytes, e.Limit)
}

// UnavailableError says that the store could not be reached or did not answer in time.
type UnavailableError struct {
	// Op is what was tried, such as "get".
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

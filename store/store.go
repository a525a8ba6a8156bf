package store

import (
	"context"
	"time"
)

// Revisions with a special meaning in Guard.Revision and in the expected revision of Update and Delete.
const (
	// Absent means that the key must not exist.
	Absent int64 = 0
	// AnyRevision means that the key must exist, at whatever revision.
	AnyRevision int64 = -1
)

// MaxTxnOps bounds the operations and guards together of one Txn (and one plus the guards of a single write).
// It is etcd's default limit; every store enforces it unless its Capabilities state a higher one, so that
// what works over one store works over all.
const MaxTxnOps = 128

// Store is a transactional, watchable, ordered map from keys to bytes. The package
// comment is its contract. All methods may be called concurrently.
//
// After Close every method returns ErrClosed. A method whose context ends returns
// an error that wraps the context's error.
type Store interface {
	// Get returns the key's current state and the store's revision. A key that does not
	// exist is ErrNotFound, and the revision is returned even then.
	Get(ctx context.Context, key string) (KV, int64, error)

	// List returns the keys under prefix in ascending order, as of one revision.
	// Errors: *ExpiredError, *FutureRevisionError.
	List(ctx context.Context, prefix string, opts ListOptions) (ListResult, error)

	// Create stores a key that does not exist and returns the commit's revision.
	// Errors: *ExistsError, *GuardError, *TooLargeError.
	Create(ctx context.Context, key string, value []byte, opts WriteOptions) (int64, error)

	// Update replaces the value of a key whose revision is expected (or AnyRevision;
	// with Absent it creates the key, and a key that exists is a *ConflictError). The
	// key's TTL becomes opts.TTL: zero removes an earlier one.
	// Errors: *ConflictError, *GuardError, *TooLargeError.
	Update(ctx context.Context, key string, value []byte, expected int64, opts WriteOptions) (int64, error)

	// Delete removes a key whose revision is expected (or AnyRevision; Absent is
	// ErrInvalid). It returns the revision of the deletion. opts.TTL is ignored.
	// Errors: *ConflictError, *GuardError.
	Delete(ctx context.Context, key string, expected int64, opts WriteOptions) (int64, error)

	// Txn commits all operations at one revision, or none. No key may occur in two
	// operations, and operations and guards together are at most MaxTxnOps, else
	// ErrInvalid. Without operations it only checks the guards and returns the
	// current revision.
	Txn(ctx context.Context, ops []Op, guards []Guard) (int64, error)

	// Watch delivers the events under prefix with a revision greater than from, and
	// blocks until ctx ends (its error is returned), deliver returns an error
	// (which is returned unchanged), the store is closed (ErrClosed), or events
	// are no longer available (*ExpiredError). A from beyond the current revision
	// is waited for. Connection loss is retried inside.
	Watch(ctx context.Context, prefix string, from int64, opts WatchOptions, deliver func(Batch) error) error

	// Progress returns the current revision as a linearizable read and, where Capabilities().Progress holds,
	// makes the watches open on exactly prefix (all of them if prefix is empty) soon deliver a batch with
	// that revision or a later one, empty if need be. It does not wait for them.
	Progress(ctx context.Context, prefix string) (int64, error)

	// Compact discards history: afterwards lists at and watches from revisions below revision may return
	// *ExpiredError. The current state of
	// every key stays. A revision already compacted is *ExpiredError, one not
	// yet reached *FutureRevisionError.
	Compact(ctx context.Context, revision int64) error

	// Capabilities returns the optional promises that hold now.
	Capabilities() Capabilities

	// Close ends every watch and waits for the store's own goroutines.
	Close() error
}

// Sized is a Store that can report its size.
type Sized interface {
	// Size returns the bytes that the store takes on disk or, if it is in memory, those of the keys and
	// values.
	Size(ctx context.Context) (int64, error)
}

// Capabilities are the optional promises of a Store.
type Capabilities struct {
	// Progress holds when Progress makes open watches report. Without it a reader that
	// needs a consistent state must read the store.
	Progress bool
	// Durable holds when an acknowledged write survives a crash of every process involved.
	Durable bool
	// Remote holds when the store is reached over a network: a call costs a round trip, may fail while the
	// store is intact, and a request of Progress for a report may be lost. Where it does not hold, reads cost
	// next to nothing and one call of Progress reaches every watch that is open.
	Remote bool
	// Shared holds when other processes may write to the same keys through stores of their own.
	Shared bool
	// Compacts holds when the store manages its history by itself, by compacting it or by an explicit choice
	// not to: then its users must not call Compact.
	Compacts bool
	// TxnOps is the greatest number of operations and guards of a Txn, if it is more than MaxTxnOps; zero
	// means MaxTxnOps.
	TxnOps int
}

// KV is the state of one key. Value is immutable and shared.
type KV struct {
	Key            string
	Value          []byte
	Revision       int64 // of the last write
	CreateRevision int64 // of the write that created the key
	// Stale holds if the store keeps the value in another form than it would write now, as after a rotation
	// of encryption keys: then writing the same value again is of use.
	Stale bool
}

// Guard is a condition that must hold in the same commit as a write.
type Guard struct {
	Key string
	// Revision is the exact revision of the last write of Key, or Absent, or
	// AnyRevision.
	Revision int64
}

// Holds reports whether the guard holds for the current state of its key, nil if the
// key does not exist.
func (g Guard) Holds(current *KV) bool {
	switch {
	case current == nil:
		return g.Revision == Absent
	case g.Revision == AnyRevision:
		return true
	default:
		return g.Revision == current.Revision
	}
}

// WriteOptions refine a write.
type WriteOptions struct {
	// TTL deletes the key that long after the write, rounded up by at most a minute
	// and never early. Zero means no TTL.
	TTL time.Duration
	// Guards must hold for the write to happen.
	Guards []Guard
}

// ListOptions refine a List.
type ListOptions struct {
	// Limit is the greatest number of items returned; zero or less means all.
	Limit int
	// After skips every key up to and including it. Empty starts at the first.
	After string
	// Revision is the revision to read at; zero means the current one.
	Revision int64
	// KeysOnly omits the items' values, if that makes the list cheaper; otherwise they are returned.
	KeysOnly bool
	// Since, if not zero, omits the keys last written at that revision or before. A reader that has the range
	// as of Since can bring it up to date with them and ListResult.Total, at less cost than a full list.
	Since int64
}

// ListResult is a range of keys at one revision.
type ListResult struct {
	// Items are in ascending order of keys.
	Items []KV
	// Revision is that of the state shown: ListOptions.Revision if it was given.
	Revision int64
	// More is true if Limit ended the range early; the last item's key is the After
	// of the next call (with the same Revision, for one consistent range).
	More bool
	// Remaining is the number of keys after the last item. It is zero without More, and if ListOptions.Since
	// was set.
	Remaining int64
	// Total is the number of keys in the range at Revision, including those that Since and Limit omit. It is
	// set only if ListOptions.Since was set.
	Total int64
}

// EventType is the kind of a change of a key. The types are not Added, Modified and Deleted, because those
// depend on the selector of a watch of objects: an object whose key is Put may be any of them.
type EventType uint8

// The types of events.
const (
	Put    EventType = iota + 1 // the key was created or updated
	Delete                      // the key was deleted or expired
)

// String returns the type's name.
func (t EventType) String() string {
	switch t {
	case Put:
		return "Put"
	case Delete:
		return "Delete"
	default:
		return "Unknown"
	}
}

// Event is a change of one key.
type Event struct {
	Type EventType
	// KV is the new state; of a Delete it holds the key, the revision of the
	// deletion and nothing else.
	KV KV
	// Prev is the state before the event, nil if the key was created. Rely on it only
	// if WatchOptions.Prev was set; even then it may be nil if the store has compacted that state.
	Prev *KV
}

// Created reports whether the event is the creation of its key.
func (e Event) Created() bool { return e.Type == Put && e.KV.Revision == e.KV.CreateRevision }

// Batch is a run of events of a watch, ascending by revision. Events is shared and
// must not be modified; it is empty in a batch that only reports progress.
type Batch struct {
	// Revision up to which every event under the prefix has now been delivered.
	Revision int64
	Events   []Event
}

// WatchOptions refine a Watch.
type WatchOptions struct {
	// Prev requests Event.Prev. On etcd it doubles the traffic.
	Prev bool
}

// OpType is the kind of an operation of a Txn.
type OpType uint8

// The kinds of operations.
const (
	OpCreate OpType = iota + 1
	OpUpdate
	OpDelete
)

// Op is one operation of a Txn. See CreateOp, UpdateOp and DeleteOp.
type Op struct {
	Type     OpType
	Key      string
	Value    []byte
	Expected int64 // for OpUpdate and OpDelete, as in Store.Update and Store.Delete
	TTL      time.Duration
}

// CreateOp is Store.Create as an operation of a Txn.
func CreateOp(key string, value []byte) Op { return Op{Type: OpCreate, Key: key, Value: value} }

// UpdateOp is Store.Update as an operation of a Txn.
func UpdateOp(key string, value []byte, expected int64) Op {
	return Op{Type: OpUpdate, Key: key, Value: value, Expected: expected}
}

// DeleteOp is Store.Delete as an operation of a Txn.
func DeleteOp(key string, expected int64) Op {
	return Op{Type: OpDelete, Key: key, Expected: expected}
}

// Check returns the error with which the operation fails when current is its key's
// state (nil if the key does not exist), or nil if it succeeds.
func (op Op) Check(current *KV) error {
	if op.Type == OpCreate {
		if current != nil {
			return &ExistsError{Key: op.Key, Current: *current}
		}
		return nil
	}
	if !(Guard{Key: op.Key, Revision: op.Expected}).Holds(current) {
		return &ConflictError{Key: op.Key, Expected: op.Expected, Current: current}
	}
	return nil
}

// Package store is the contract between an API server and the place where its objects are stored: ordered
// keys, opaque bytes and one total order of revisions.
//
// The package holds the contract only. store/memory, store/file and store/etcd implement it,
// store/storetest is the suite that every implementation must pass, and store/cache
// is the watch cache built on top of it.
//
// # Revisions
//
//  1. A store has one counter, the revision. It starts at some positive number and
//     every committed write (Create, Update, Delete, Txn, or the expiry of keys)
//     takes the next free revision; no two commits share one. Revisions never
//     go down and are never used twice, also across a restart of a durable store.
//  2. A Txn is one commit: all of its operations have the same revision, and no
//     reader or watcher sees a part of it.
//  3. KV.Revision is the revision of the last commit that wrote the key and
//     KV.CreateRevision that of the commit that created it. A key that is deleted
//     and created again starts with a new CreateRevision.
//
// # Reads
//
//  4. Get, List with Revision 0, and Progress are linearizable: they see every write
//     that was acknowledged, to any client, before the call began. The revision they
//     return is one at which their answer is exactly the state of the store.
//  5. List at an older revision returns exactly the state at that revision, or
//     *ExpiredError when the store no longer has it, or *FutureRevisionError when
//     the store has not reached it. It never mixes two revisions.
//
// # Writes
//
//  6. A write that returns nil is visible to every later read, to every watch, and,
//     on a durable store, survives a crash of every process involved.
//  7. A write that returns *ExistsError, *ConflictError, *GuardError, *TooLargeError or
//     ErrInvalid changed nothing. A write that returns *UnavailableError with MaybeApplied, or
//     the context's error, may or may not have been applied; no other error leaves that open.
//  8. Guards hold in the same commit as the write. They are checked first, in order,
//     then the operations in order; the first one that fails names the error.
//
// # Watches
//
//  9. A watch from revision R delivers every event under its prefix with a revision
//     greater than R, once each, in the order of revisions (within a revision, in
//     the order of the operations), or ends with *ExpiredError. There is no gap, no
//     repetition and no reordering, whatever happens to connections below.
//  10. A Batch with revision B promises that every event under the prefix up to and
//     including B has been delivered, with this batch or before. The revisions of
//     the batches of one watch never go down. A commit is never split over batches.
//  11. deliver runs on the goroutine that called Watch, one call at a time, with no
//     lock of the store held: it may call the store. A slow deliver delays no other
//     caller. What it has not yet received is kept within a bound (the event log of the
//     memory store; a buffer and the history of etcd), and when that bound
//     is passed the watch ends with *ExpiredError. A store never buffers without limit.
//
// # Values
//
//  12. A []byte handed to a store or received from it is shared and must not be
//     modified by anyone. An empty value and a nil value are the same.
//  13. Keys begin with "/", are non-empty and compared bytewise. A prefix is a plain string
//     prefix: pass "/pods/" and not "/pods" to exclude "/podsecurity/x". The
//     empty prefix is every key.
package store

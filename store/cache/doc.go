// Package cache is the watch cache: one watch per resource prefix of a store.Store feeds
// an immutable, ordered snapshot from which an API server answers lists and watches without
// asking the store again.
//
// # What it promises
//
//  1. A Snapshot is the exact state under the prefix at its revision. It never changes
//     and may be kept; objects in it are shared by everybody and must not be modified.
//  2. A Watch from a revision sees every change after it, once and in order, or ends with
//     *store.ExpiredError, or with *SlowError when its reader fell behind. After a
//     watch has failed nothing more is delivered.
//  3. Consistent returns a snapshot that includes every write acknowledged before the call.
//  4. An encoded form of a current object or a recent event is made at most once, when first
//     asked for, and shared by all readers (Object.Form, Event.Form).
//  5. An object that cannot be decoded does not stop anything: it is in the snapshot with
//     Object.Err set, and its changes are events like any other.
//
// # Slow watchers and memory
//
// Watches have no buffers. They read from one log of changes per cache, bounded by
// Options.EventLog and Options.EventLogBytes, at their own pace. A watch that has
// something to read and lags more than Options.WatcherBuffer changes behind, or whose
// next change has left the log, is cut off with *SlowError; because its reader may hang in
// deliver, WatchOptions.OnSlow tells at once. A watch that has nothing to read (a quiet
// namespace in a busy cluster) does not lag.
//
// # Consistency with the store
//
// About every Options.CheckEvery a cache compares itself with the store: which keys there are, and of which
// revisions, in the snapshot and, read in small pages with long rests between, in the store at the revision
// of the snapshot. Stores keep their promises, so this finds what should not be: an event lost below, or a
// store that was restored from an older backup. Then the cache is filled again. Until that is done
// consistent, exact and at-least reads go to the store; every open watch expires, and so does a watch from a
// revision between the last one known to be right and the new state, because its client may have missed
// something.
//
// # Goroutines
//
// Every goroutine of a cache belongs to Cache.Run and has ended when Run returns; watches run on their
// callers'. All waiting
// is on channels and package time, so a cache over store/memory works inside a
// testing/synctest bubble.
package cache

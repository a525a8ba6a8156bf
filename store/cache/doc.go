// Package cache is the watch cache: one watch per resource prefix of a store.Store feeds an immutable,
// ordered snapshot from which an API server answers lists and watches without reading the store again.
//
// # What it promises
//
//  1. A Snapshot is the exact state under the prefix at its revision. It never changes and may be kept;
//     objects in it are shared by all readers and must not be modified. The revisions that Cache.Snapshot
//     returns never go down, unless the store itself was restored from a backup.
//  2. A Watch from a revision sees every change after it, once and in order, or ends with
//     *store.ExpiredError, or with *SlowError when its reader fell behind. After a watch has failed nothing
//     more is delivered.
//  3. Consistent returns a snapshot that includes every write acknowledged before the call.
//  4. An encoded form of a current object or a recent event is made at most once, when it is first needed,
//     and shared by all readers (Object.Form, Event.Form).
//  5. An object that cannot be decoded does not stop anything: it is in the snapshot with Object.Err set, and
//     its changes are events like any other.
//
// # From a commit to a watcher
//
//	Store.Txn, publish        store/memory/commit.go   Put, Delete
//	   |
//	Store.Watch               store/memory/watch.go    store.Batch of store.Event
//	   |
//	Cache.follow, apply       feed.go                  makes objects (list.go, object.go)
//	   |
//	   +--> Snapshot          snapshot.go              the new current state: reads, Consistent, Wait
//	   +--> changeLog         changelog.go             one change (change.go), shared by all watches
//	   |
//	routes.notify             routes.go                wakes the watches that the change may concern
//	   |
//	watcher.nextEvents        watch.go                 reads the log and applies the selector
//	   |
//	deliver([]Event)          event.go                 Added, Modified, Deleted, Bookmark
//	   |
//	   +--> Resource.Watch    store/registry/read.go    to a client (store/apiserver/response_watch.go)
//	   +--> Access.Watch      store/registry/access_watch.go    to the server's own loops
//
// An event has the same type and the same names of fields from here to a client: Event, registry.Event, the
// event on the wire. Only a store.Event differs, because a store knows keys and no selectors: its Put is
// Added, Modified or, for an object that no longer matches, Deleted.
//
// # Slow watchers and memory
//
// Watches have no buffers. They read from one log of changes per cache, bounded by Options.EventLog and
// Options.EventLogBytes, at their own pace. A watch that has something to read and lags more than
// Options.WatcherBuffer changes behind, or whose next change has left the log, is cut off with *SlowError;
// because its reader may hang in deliver, WatchOptions.OnSlow is called at once. A watch that has nothing to
// read (a quiet namespace in a busy cluster) does not lag.
//
// # Consistency with the store
//
// About every Options.CheckEvery a cache compares its snapshot with the store: which keys exist, and at which
// revisions. It reads the store at the revision of the snapshot, in small pages with long pauses between
// them. Stores keep their promises, so a difference means that something is broken: an event was lost below,
// or the store was restored from a backup. The latter is also noticed when the store reports a revision
// before one that the cache has had.
//
// An inconsistent cache is filled again. Until that is done consistent, exact and at-least reads go to the
// store. Every open watch expires, and so does a new watch from a revision between the last one that was
// verified and the new state, because its client may have missed something, or from a revision that only the
// store before the restore had.
//
// # Goroutines
//
// Every goroutine of a cache belongs to Cache.Run and has ended when Run returns; watches run on their
// callers' goroutines. All waiting is on channels and package time, so a cache over store/memory works inside
// a testing/synctest bubble.
package cache

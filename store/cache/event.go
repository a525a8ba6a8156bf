package cache

import "sync/atomic"

// EventType is the kind of an Event.
type EventType uint8

// The kinds of events, as a watch of the Kubernetes API knows them.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark
)

// String returns the type as a watch event carries it, such as "ADDED".
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	default:
		return "UNKNOWN"
	}
}

// Event is a change as one watch sees it: an object that begins to match its selector is
// Added, one that stops matching is Deleted.
type Event struct {
	Type EventType
	// Object is the new state; in a Deleted event the last state that matched, with
	// the revision of the change. Nil in a Bookmark.
	Object *Object
	// Prev is the state before the event, nil in Added and Bookmark events.
	Prev *Object
	// Revision of the change; of a Bookmark, the revision up to which everything has
	// been delivered.
	Revision int64
	// InitialEnd marks the Bookmark that ends the initial events.
	InitialEnd bool

	change *change
}

// Form is Object.Form for the whole event, such as the line of a watch response: made at
// most once for all watches that see the same event with the same type, and kept only
// while the event is recent. make must not block.
//
// Bookmarks and initial events are not shared: for them make runs every time.
func (e *Event) Form(key FormKey, make func(*Event) ([]byte, error)) ([]byte, error) {
	if e.change == nil {
		return make(e)
	}
	f := e.change.forms.get(formID{FormKey: key, event: e.Type})
	if !f.made.Load() {
		f.once.Do(func() {
			f.bytes, f.err = make(e)
			f.made.Store(true)
		})
	}
	return f.bytes, f.err
}

// change is one event of the store, decoded: what all watches make their Events of.
type change struct {
	seq   int64 // its place in the log, counted from 1
	kind  EventType
	obj   *Object // of a deletion: the last state at the revision of the deletion
	prev  *Object // nil if created
	after *Snapshot
	forms forms
	left  atomic.Pointer[Object]
}

func (c *change) revision() int64 { return c.obj.Revision }

// gone returns what a watch is sent whose selector the object has left: the previous
// state with the revision of the change, one for all such watches.
func (c *change) gone() *Object {
	if c.kind == Deleted {
		return c.obj
	}
	if o := c.left.Load(); o != nil {
		return o
	}
	c.left.CompareAndSwap(nil, c.prev.at(c.revision()))
	return c.left.Load()
}

// cool lets go of encoded forms that hardly anybody will ask for again.
func (c *change) cool() {
	c.forms.drop()
	if c.prev != nil {
		c.prev.drop()
	}
	if c.kind == Deleted {
		c.obj.drop()
	}
	if left := c.left.Load(); left != nil {
		left.drop()
	}
}

// size estimates the bytes that the log keeps alive for the change.
func (c *change) size() int { return c.obj.size() + 200 }

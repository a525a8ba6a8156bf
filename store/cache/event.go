package cache

// EventType is the type of an Event: one of the types of a Kubernetes watch, for one watch and its selector.
// There is no type for errors, because a watch that fails returns the error.
type EventType uint8

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

// Event is a change as one watch sees it: an object that begins to match its selector is Added, one that no
// longer matches is Deleted.
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

// Form is Object.Form for the whole event, such as the line of a watch response: it is made at most once for
// all watches that see the same event with the same type, and kept only while the event is recent. make must
// not block.
//
// Bookmarks and initial events are not shared: for them make is called every time.
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

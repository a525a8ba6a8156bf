package informers

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// EventType is the type of an event of a handler. The names are those of handlers in client-go. They are not
// those of the watch protocol ([client.EventType]): a handler gets Updated for a MODIFIED event, but also
// Added for one whose ADDED event was merged with it, and Updated for an object that a second list shows to
// have changed.
type EventType uint8

const (
	// Added: the object is new to the handler.
	Added EventType = iota + 1
	// Updated: the object has changed, or a resync repeats it (Old and New are then the same).
	Updated
	// Deleted: the object has been deleted, or is no longer selected.
	Deleted
)

// String is "Added", "Updated" or "Deleted".
func (t EventType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return "Unknown"
}

// Event is one change of an object, as seen by a handler. It is a value and may be kept.
type Event[T metav1.Object] struct {
	// Type is Added, Updated or Deleted.
	Type EventType
	// Key, UID, Labels, Generation and ResourceVersion are those of the object after the change, or of its
	// last state if it is deleted. Labels must not be changed.
	Key             types.NamespacedName
	UID             types.UID
	Labels          map[string]string
	Generation      int64
	ResourceVersion string
	// Terminating is true if metadata.deletionTimestamp is set.
	Terminating bool
	// Initial is true for the objects that existed when the handler was added or the informer first synced.
	Initial bool
	// StateUnknown is true for a deletion whose event was missed (client-go's DeletedFinalStateUnknown): Old
	// is the last state known, which need not be the final one.
	StateUnknown bool
	// Resync is true for an Updated that only repeats the current state: by HandlerOptions.Resync, by
	// Registration.Resync, or because a deletion of this program no longer hides the object from readers.
	Resync bool

	old, new *object[T]
	// before is the state before the change, which is not old if it cannot be decoded. For Deleted it is the
	// final one.
	before *object[T]
	core   *core[T]
}

// Undecodable is a change to a state that cannot be decoded. A handler is not called with it: for the handler
// the object keeps its last state until it can be decoded again. See HandlerOptions.
type Undecodable struct {
	// Type is Added, Updated or Deleted. Deleted is reported only if no state of the object could be decoded;
	// other deletions go to the handler.
	Type EventType
	// Key, UID, Labels and ResourceVersion are those of the object.
	Key             types.NamespacedName
	UID             types.UID
	Labels          map[string]string
	ResourceVersion string
	// Initial is as in Event.
	Initial bool
	// Owners are the owner references with controller=true of the object now and before, each once.
	Owners []metav1.OwnerReference
	// Err is a *client.DecodeError.
	Err error
}

// Old is the state before the change: the New of this handler's previous event of the object, or for Deleted
// the final state. It is nil only for Added. It is shared and must not be changed.
func (e Event[T]) Old() T {
	if e.old == nil {
		var zero T
		return zero
	}
	return e.core.mustDecode(e.old)
}

// New is the state after the change. It is nil only for Deleted. It is shared and must not be changed.
func (e Event[T]) New() T {
	if e.new == nil {
		var zero T
		return zero
	}
	return e.core.mustDecode(e.new)
}

// Object is New, or Old for Deleted: the latest state. It is never nil.
func (e Event[T]) Object() T {
	if e.new != nil {
		return e.New()
	}
	return e.Old()
}

// SpecChanged reports whether metadata.generation differs between Old and New: the desired state has changed.
// It is true for Added and Deleted, and for every change of a kind without a generation, such as ConfigMap
// and Secret.
func (e Event[T]) SpecChanged() bool {
	return e.old == nil || e.new == nil || e.old.generation != e.new.generation || e.new.generation == 0
}

// OldLabels are the labels before the change, nil for Added. They must not be changed.
func (e Event[T]) OldLabels() map[string]string {
	if e.old == nil {
		return nil
	}
	return e.old.labelMap()
}

// Controller returns the owner reference with controller=true of the object after the change, or of its last
// state if it is deleted, and whether there is one. It decodes nothing, unless the informer keeps objects
// decoded.
func (e Event[T]) Controller() (metav1.OwnerReference, bool) {
	if e.new != nil {
		return e.core.controller(e.new)
	}
	return e.OldController()
}

// OldController is Controller of the state before the change, even if that cannot be decoded; there is none
// for Added.
func (e Event[T]) OldController() (metav1.OwnerReference, bool) {
	if e.before == nil {
		return metav1.OwnerReference{}, false
	}
	return e.core.controller(e.before)
}

// Handler is called with events. The package comment states in which order.
type Handler[T metav1.Object] func(Event[T])

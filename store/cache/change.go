package cache

import "sync/atomic"

// change is one event of the store, decoded. All watches derive their Events from it.
type change struct {
	seq   int64 // its place in the log, counted from 1
	kind  EventType
	obj   *Object   // of a deletion: the last state, at the revision of the deletion
	prev  *Object   // nil if created
	after *Snapshot // the state after it, in every checkpointEvery-th change
	forms forms
	left  atomic.Pointer[Object] // see departed
}

func (c *change) revision() int64 { return c.obj.Revision }

// departed returns the object of the Deleted event of a watch whose selector no longer matches: the previous
// state with the revision of the change, one for all such watches.
func (c *change) departed() *Object {
	if c.kind == Deleted {
		return c.obj
	}
	if o := c.left.Load(); o != nil {
		return o
	}
	c.left.CompareAndSwap(nil, c.prev.at(c.revision()))
	return c.left.Load()
}

// dropForms releases the encoded forms of an old change.
func (c *change) dropForms() {
	c.forms.drop()
	if c.prev != nil {
		c.prev.dropForms()
	}
	if c.kind == Deleted {
		c.obj.dropForms()
	}
	if left := c.left.Load(); left != nil {
		left.dropForms()
	}
}

// size estimates the bytes that the log retains for the change.
func (c *change) size() int { return c.obj.size() + 200 }

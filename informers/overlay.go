package informers

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// overlay holds own writes that the watch has not told yet.
type overlay[T metav1.Object] struct {
	byKey map[types.NamespacedName]*ownWrite[T]
	// order holds the entries with a version as they came: the versions are nearly in order.
	order []*ownWrite[T]
	// deleted holds the others as they came.
	deleted []*ownWrite[T]
}

// ownWrite is the state of one object after an own write.
type ownWrite[T metav1.Object] struct {
	key types.NamespacedName
	// obj is what was written; nil if it is out of sight: deleted, or no longer selected.
	obj *object[T]
	// number is the version of the write; for a deletion, whose own is not known, the latest the object had.
	number  uint64
	uid     types.UID
	deleted bool
	// all hides every incarnation: which one is told comes before the one deleted and which after is not
	// known.
	all  bool
	at   time.Time
	dead bool
	// begun is how many readings the source had begun: one begun later knows of the write.
	begun uint64
}

// forgetDeleted is how long a deletion of something the watch never tells of is remembered.
const forgetDeleted = 2 * time.Minute

// deletedUIDs remembers the last few incarnations that ended.
type deletedUIDs struct {
	uids [256]types.UID
	next int
	has  map[types.UID]struct{}
}

func (c *deletedUIDs) add(uid types.UID) {
	if uid == "" {
		return
	}
	if c.has == nil {
		c.has = map[types.UID]struct{}{}
	}
	if old := c.uids[c.next]; old != "" {
		delete(c.has, old)
	}
	// A copy: the object goes.
	uid = types.UID(strings.Clone(string(uid)))
	c.uids[c.next] = uid
	c.has[uid] = struct{}{}
	c.next = (c.next + 1) % len(c.uids)
}

// visible returns what readers see of a key whose told state is b.
func (v *overlay[T]) visible(key types.NamespacedName, b *object[T]) *object[T] {
	e := v.byKey[key]
	switch {
	case e == nil:
		return b
	case e.deleted:
		// Another incarnation is in sight only if it came after the one deleted.
		if b != nil && b.uid != e.uid && !e.all {
			if n, ok := decimal(b.version); ok && n > e.number {
				return b
			}
		}
		return nil
	}
	if b != nil {
		if n, ok := decimal(b.version); ok && n >= e.number {
			return b
		}
	}
	return e.obj
}

func (v *overlay[T]) put(e *ownWrite[T]) {
	if v.byKey == nil {
		v.byKey = map[types.NamespacedName]*ownWrite[T]{}
	}
	if old := v.byKey[e.key]; old != nil {
		old.dead = true
		// The key in the map shares memory with the old object.
		delete(v.byKey, e.key)
	}
	v.byKey[e.key] = e
	if e.deleted {
		v.deleted = append(v.deleted, e)
	} else {
		v.order = append(v.order, e)
	}
}

func (v *overlay[T]) remove(e *ownWrite[T]) {
	e.dead = true
	if v.byKey[e.key] == e {
		delete(v.byKey, e.key)
	}
}

// passed drops what is known of an incarnation the watch says is deleted.
func (v *overlay[T]) passed(key types.NamespacedName, uid types.UID) {
	if e := v.byKey[key]; e != nil && (e.uid == uid || e.uid == "") {
		v.remove(e)
	}
}

// drop removes the entries that which selects.
func (v *overlay[T]) drop(which func(*ownWrite[T]) bool, changed func(types.NamespacedName)) {
	for _, e := range v.byKey {
		if which(e) {
			v.remove(e)
			changed(e.key)
		}
	}
}

// sweep removes what source s has passed.
func (v *overlay[T]) sweep(s *source[T], changed func(types.NamespacedName)) {
	pop := func(list []*ownWrite[T], done func(*ownWrite[T]) bool) []*ownWrite[T] {
		for len(list) > 0 {
			e := list[0]
			if !e.dead {
				if !done(e) {
					return list
				}
				v.remove(e)
				changed(e.key)
			}
			list[0] = nil
			list = list[1:]
		}
		return nil
	}
	v.order = pop(v.order, func(e *ownWrite[T]) bool {
		return e.number <= s.number && (s.namespace == "" || s.namespace == e.key.Namespace)
	})
	v.deleted = pop(v.deleted, func(e *ownWrite[T]) bool { return time.Since(e.at) >= forgetDeleted })
}

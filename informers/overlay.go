package informers

import (
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// overlay holds own writes that the watch has not delivered yet.
type overlay[T metav1.Object] struct {
	byKey map[types.NamespacedName]*ownWrite[T]
	// deleted holds the deletions in order of arrival; source.written holds the other entries.
	deleted []*ownWrite[T]
}

// ownWrite is the state of one object after an own write.
type ownWrite[T metav1.Object] struct {
	key types.NamespacedName
	// obj is what was written; nil if it is not visible to readers: deleted, or no longer selected.
	obj *object[T]
	// version is that of the write; for a deletion, whose version is not known, the latest the object had.
	version string
	uid     types.UID
	deleted bool
	// hidesAll hides every incarnation: it is not known which were created before the deleted one and which
	// after.
	hidesAll bool
	at       time.Time
	removed  bool // from the overlay
	// begun is how many reads the source had begun: one begun later includes the write.
	begun uint64
}

// forgetDeleted is how long a deletion is kept that the watch does not deliver.
const forgetDeleted = 2 * time.Minute

// deletedUIDs are the last few incarnations that were deleted.
type deletedUIDs struct {
	uids [256]types.UID
	next int
	has  map[types.UID]struct{}
}

func (d *deletedUIDs) add(uid types.UID) {
	if uid == "" {
		return
	}
	if d.has == nil {
		d.has = map[types.UID]struct{}{}
	}
	if old := d.uids[d.next]; old != "" {
		delete(d.has, old)
	}
	// A copy: the uid outlives the object.
	uid = types.UID(strings.Clone(string(uid)))
	d.uids[d.next] = uid
	d.has[uid] = struct{}{}
	d.next = (d.next + 1) % len(d.uids)
}

// visible returns what readers see of a key whose base is b.
func (v *overlay[T]) visible(key types.NamespacedName, b *object[T]) *object[T] {
	e := v.byKey[key]
	switch {
	case e == nil:
		return b
	case e.deleted:
		// Another incarnation is visible only if it was created after the deleted one.
		if b != nil && b.uid != e.uid && !e.hidesAll && after(b.version, e.version) {
			return b
		}
		return nil
	case b != nil && notBefore(b.version, e.version):
		return b
	}
	return e.obj
}

// put adds the entry of an object that comes from s.
func (v *overlay[T]) put(e *ownWrite[T], s *source[T]) {
	if v.byKey == nil {
		v.byKey = map[types.NamespacedName]*ownWrite[T]{}
	}
	if old := v.byKey[e.key]; old != nil {
		old.removed = true
		// The key in the map shares memory with the old object.
		delete(v.byKey, e.key)
	}
	if e.obj == nil {
		// A copy: the entry outlives the object whose version it is.
		e.version = strings.Clone(e.version)
	}
	v.byKey[e.key] = e
	if e.deleted {
		v.deleted = append(v.deleted, e)
	} else {
		s.written = append(s.written, e)
	}
}

func (v *overlay[T]) remove(e *ownWrite[T]) {
	e.removed = true
	if v.byKey[e.key] == e {
		delete(v.byKey, e.key)
	}
}

// removeDeleted removes the entry of an incarnation that the watch reports as deleted.
func (v *overlay[T]) removeDeleted(key types.NamespacedName, uid types.UID) {
	if e := v.byKey[key]; e != nil && (e.uid == uid || e.uid == "") {
		v.remove(e)
	}
}

// drop removes the selected entries.
func (v *overlay[T]) drop(selected func(*ownWrite[T]) bool, changed func(*ownWrite[T])) {
	for _, e := range v.byKey {
		if selected(e) {
			v.remove(e)
			changed(e)
		}
	}
}

// sweep removes the entries whose versions source s has reached.
func (v *overlay[T]) sweep(s *source[T], changed func(*ownWrite[T])) {
	pop := func(list []*ownWrite[T], done func(*ownWrite[T]) bool) []*ownWrite[T] {
		for len(list) > 0 && done(list[0]) {
			if e := list[0]; !e.removed {
				v.remove(e)
				changed(e)
			}
			list[0] = nil
			list = list[1:]
		}
		if len(list) == 0 {
			return nil
		}
		return list
	}
	s.written = pop(s.written, func(e *ownWrite[T]) bool { return notBefore(s.version, e.version) })
	v.deleted = pop(v.deleted, func(e *ownWrite[T]) bool { return e.removed || time.Since(e.at) >= forgetDeleted })
}

// uncovered is called when an entry was removed from the overlay. An object that a deletion has hidden until
// now, and that is still there, is repeated to the handlers, since no event follows. The lock is held; the
// handlers must be signalled without it.
func (c *core[T]) uncovered(e *ownWrite[T]) {
	c.reindex(e.key)
	if b := c.base(e.key); b != nil && e.deleted {
		for _, h := range c.handlers {
			h.q.putResync(b)
		}
	}
}

// applyWritten changes the base to what s has written, before a collection that was read at version takes its
// place; "" is after every version. The watch has not delivered these states and no longer will, but readers
// may have got them, so handlers must too. next returns the state of a key in the collection. The lock is
// held.
func (c *core[T]) applyWritten(s *source[T], version string, next func(types.NamespacedName) *object[T]) {
	for _, e := range s.written {
		if e.obj == nil || notBefore(s.version, e.version) || version != "" && !notBefore(version, e.version) {
			continue
		}
		if o := next(e.key); o != nil && o.uid == e.obj.uid && !after(o.version, e.version) {
			// Then the handlers get it from there.
			continue
		}
		if b := c.base(e.key); b == nil || after(e.version, b.version) {
			e.obj.markRead()
			c.change(b, e.obj, false, false)
		}
	}
}

// observe shows an own write to readers.
func (i *Informer[T]) observe(w client.Write) {
	c := i.core
	if w.Verb == "deletecollection" || len(c.opts.Namespaces) > 0 && !slices.Contains(c.opts.Namespaces, w.Key.Namespace) {
		return
	}
	e := &ownWrite[T]{key: w.Key, uid: w.UID, at: time.Now(), deleted: w.Removed}
	if w.Removed {
		if w.Object != nil {
			e.version = w.Object.ResourceVersion
		}
		c.mu.Lock()
	} else {
		if w.Object == nil || len(w.Object.Body) == 0 {
			return
		}
		e.version = w.Object.ResourceVersion
		if _, comparable := compareVersions(e.version, ""); !comparable {
			return
		}
		enc, ok := c.convert(*w.Object)
		if !ok {
			return
		}
		e.obj = c.accept(enc)
		e.key = e.obj.key
		c.lockWith(e.obj)
	}
	var hs []*registration[T]
	if w.Verb == "create" && c.deliverMissed(e) {
		hs = c.handlers
	}
	ambiguous := c.overlayWrite(e)
	c.mu.Unlock()
	c.signal(hs)
	if ambiguous != nil {
		ambiguous.reflector.Relist("")
	}
}

// deliverMissed delivers an object that the program has created, and that a read did not have because it was
// deleted in the same gap: the watch delivers neither, but who has created it waits for its deletion. It
// reports whether it has. The lock is held; the handlers must be signalled without it.
func (c *core[T]) deliverMissed(e *ownWrite[T]) bool {
	s := c.sourceOf(e.key.Namespace)
	if s == nil || !s.skipped(e.version) || c.base(e.key) != nil || !c.opts.LabelSelector.MatchesFunc(e.obj.label) || !c.fieldsMatch(e.key) {
		return false
	}
	if _, delivered := c.recentlyDeleted.has[e.uid]; delivered { // the read had a later state
		return false
	}
	e.obj.markRead()
	c.notify(nil, e.obj, nil, false, false)
	c.notify(e.obj, nil, nil, false, true)
	return true
}

// overlayWrite adds an own write to the overlay. It returns the source that must be read again if only that
// can decide what is visible now. The lock is held.
func (c *core[T]) overlayWrite(e *ownWrite[T]) *source[T] {
	s := c.sourceOf(e.key.Namespace)
	if s == nil || s.begun == 0 {
		// The first read will include it.
		return nil
	}
	e.begun = s.begun
	b, before := c.base(e.key), c.overlay.byKey[e.key]
	if e.deleted {
		if _, delivered := c.recentlyDeleted.has[e.uid]; delivered {
			return nil
		}
		return c.overlayDelete(e, b, before, s)
	}
	if notBefore(s.version, e.version) || b != nil && notBefore(b.version, e.version) {
		return nil
	}
	if before != nil && (before.deleted && before.uid == e.uid || !before.deleted && notBefore(before.version, e.version)) {
		return nil
	}
	if !c.opts.LabelSelector.MatchesFunc(e.obj.label) {
		// After the write the object is no longer selected.
		e.obj = nil
	} else if !c.opts.FieldSelector.Empty() && (b == nil || b.uid != e.uid) && !c.fieldsMatch(e.key) {
		// Only the server can decide whether the selector matches.
		return nil
	}
	c.overlay.put(e, s)
	c.reindex(e.key)
	return nil
}

// overlayDelete is overlayWrite of a deletion.
func (c *core[T]) overlayDelete(e *ownWrite[T], b *object[T], before *ownWrite[T], s *source[T]) *source[T] {
	// Which incarnation was deleted, and up to which version, is known if the reply or an earlier write says
	// so.
	known := e.uid != "" && (e.version != "" || before != nil && before.uid == e.uid)
	if before != nil && after(before.version, e.version) {
		e.version = before.version
	}
	var ambiguous *source[T]
	switch {
	case e.uid == "":
		e.hidesAll, ambiguous = true, s
	case b == nil:
	case b.uid == e.uid:
		if after(b.version, e.version) {
			e.version = b.version
		}
	case known && after(b.version, e.version):
		// The base was created after the deleted one.
		return nil
	case !known:
		// The base may be an earlier incarnation or a later one.
		e.hidesAll, ambiguous = true, s
	}
	c.overlay.put(e, s)
	c.reindex(e.key)
	return ambiguous
}

// recordDeleted notes that the watch has delivered the deletion of an incarnation. With a selector it may
// only have left the selection, so that nothing follows. The lock is held.
func (c *core[T]) recordDeleted(o *object[T]) {
	if c.opts.LabelSelector.Empty() && c.opts.FieldSelector.Empty() {
		c.recentlyDeleted.add(o.uid)
		c.overlay.removeDeleted(o.key, o.uid)
	}
}

// fieldsMatch reports whether the field selector consists of names and matches key.
func (c *core[T]) fieldsMatch(key types.NamespacedName) bool {
	for _, r := range c.opts.FieldSelector.Requirements() {
		switch {
		case r.Field == "metadata.name" && r.Matches(key.Name):
		case r.Field == "metadata.namespace" && r.Matches(key.Namespace):
		default:
			return false
		}
	}
	return true
}

// sourceOf returns the source of a namespace, or nil.
func (c *core[T]) sourceOf(namespace string) *source[T] {
	for _, s := range c.sources {
		if s.covers(namespace) {
			return s
		}
	}
	return nil
}

// convert turns a written object into the form in which the informer receives it: without managed fields, and
// as JSON if T has no protobuf form.
func (c *core[T]) convert(e client.Encoded) (client.Encoded, bool) {
	if e.Form == client.Protobuf && !c.client.Protobuf() {
		info := c.client.Conn().Scheme().ForResource(c.client.Resource().GVR)
		if info == nil {
			return e, false
		}
		obj := info.New()
		if err := codec.UnmarshalProto(e.Body, obj); err != nil {
			c.fail(err)
			return e, false
		}
		if e2, err := client.EncodeObject(obj, client.JSON, !c.set.opts.KeepManagedFields); err == nil {
			return e2, true
		}
		return e, false
	}
	if c.set.opts.KeepManagedFields {
		return e, true
	}
	e2, err := e.WithoutManagedFields()
	return e2, err == nil
}

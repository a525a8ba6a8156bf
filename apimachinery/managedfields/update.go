package managedfields

import (
	"reflect"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Write describes a write and its manager.
type Write struct {
	// Manager is the field manager's name.
	Manager string
	// Subresource that is written, empty for the main resource.
	Subresource string
	// APIVersion of the objects, "group/version".
	APIVersion string
	// Reset holds the paths below which this endpoint changes nothing whatever the request contains, such as
	// status outside the status subresource. Their ownership does not change; nil for none.
	Reset *Set
	// Version describes other versions of the kind, named as in APIVersion, in which managers own fields by
	// other paths. It returns nil for those whose paths are the same; a nil Version means that all are.
	Version func(apiVersion string) *Version
}

func (w *Write) owner(op metav1.ManagedFieldsOperationType) owner {
	o := owner{manager: w.Manager, operation: op, version: w.APIVersion, subresource: w.Subresource}
	if op == metav1.ManagedFieldsOperationApply {
		o.version = ""
	}
	return o
}

// Update records a write of obj over live other than apply: the writer becomes the only owner of what it
// changed. It sets obj's managed fields and nothing else. live is nil when obj is created. An object whose
// managed fields were cleared (by a list of one empty entry) stays untracked until it is applied to.
func (t *Type) Update(live, obj metav1.Object, w Write) error {
	meta := metav1.MetaOf(obj)
	var liveFields []metav1.ManagedFieldsEntry
	if live != nil {
		liveFields = metav1.MetaOf(live).ManagedFields
	}
	given, own := w.given(meta.ManagedFields, liveFields)
	if len(given) == 0 {
		meta.ManagedFields = nil
		if live != nil {
			return nil
		}
		entries, err := t.first(obj, w.owner(metav1.ManagedFieldsOperationUpdate), w)
		meta.ManagedFields = encode(entries)
		return err
	}
	before := live
	if live == nil {
		before = blank(obj)
	}
	found, err := t.compareObjects(before, obj)
	if err != nil {
		return err
	}
	found.without(w.Reset)
	if found.none() && !own {
		meta.ManagedFields = given
		return nil
	}
	entries, ok := decode(given, own)
	if !ok {
		entries, _ = decode(liveFields, false)
	}
	meta.ManagedFields = encode(limitUpdaters(record(entries, w.changing(live, obj, found))))
	return nil
}

// first makes the entry of an object without entries.
func (t *Type) first(obj metav1.Object, by owner, w Write) ([]entry, error) {
	wire, ok, err := t.createdFields(obj, w.Reset)
	if err != nil {
		return nil, err
	}
	if ok {
		return []entry{{owner: by, version: w.APIVersion, time: now(), raw: wire}}, nil
	}
	found, err := t.compareObjects(blank(obj), obj)
	if err != nil {
		return nil, err
	}
	found.without(w.Reset)
	return []entry{{owner: by, version: w.APIVersion, time: now(), set: &found.taken}}, nil
}

// given picks the managed fields to start from: the request's, if it has any that a client may set, else
// those of the live object. own reports that they are the request's.
func (w *Write) given(request, live []metav1.ManagedFieldsEntry) (fields []metav1.ManagedFieldsEntry, own bool) {
	if w.Subresource != "" {
		return live, false
	}
	if len(request) == 1 && reflect.DeepEqual(request[0], metav1.ManagedFieldsEntry{}) {
		return nil, true
	}
	if len(request) == 0 || codec.Equal(request, live) {
		return live, false
	}
	return request, true
}

// blank is an object of obj's type with nothing set.
func blank(obj metav1.Object) metav1.Object {
	return reflect.New(reflect.TypeOf(obj).Elem()).Interface().(metav1.Object)
}

func (c *changes) without(reset *Set) {
	if reset.Empty() {
		return
	}
	c.taken, c.removed = *c.taken.Without(reset), *c.removed.Without(reset)
}

// changing is the update from live to obj, which found was found in.
func (w *Write) changing(live, obj metav1.Object, found *changes) *transition {
	return &transition{w: w, before: live, after: func() (metav1.Object, error) { return obj, nil }, found: found}
}

// record moves what an update changed to the writer. An entry has the time of its last change in paths.
func record(entries []entry, t *transition) []entry {
	by := t.w.owner(metav1.ManagedFieldsOperationUpdate)
	shrunk := false
	for i := range entries {
		e := &entries[i]
		found := t.of(e)
		if e.lose(&found.removed) && e.owner == by {
			shrunk = true
		}
		if e.owner != by {
			e.lose(&found.taken)
		}
	}
	taken := &t.found.taken
	if taken.Empty() {
		return entries
	}
	e := find(entries, by)
	known := e != nil
	if !known {
		entries = append(entries, entry{owner: by, set: &Set{}})
		e = &entries[len(entries)-1]
	}
	e.version = t.w.APIVersion
	if grown := e.gain(taken); !known || grown || shrunk {
		e.time = now()
	}
	return entries
}

// overlaps reports whether a path is in both sets.
func overlaps(s, t *Set) bool {
	a, b := s.list(), t.list()
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch c := compareElements(&a[i].el, &b[j].el); {
		case c < 0:
			i++
		case c > 0:
			j++
		default:
			if a[i].owned && b[j].owned || overlaps(a[i].sub, b[j].sub) {
				return true
			}
			i++
			j++
		}
	}
	return false
}

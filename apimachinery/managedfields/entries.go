package managedfields

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// maxUpdaters is how many managers may own fields through plain writes; the oldest beyond that are joined.
const maxUpdaters = 10

const (
	// BeforeFirstApply owns what an object without managed fields held when it was applied to first.
	BeforeFirstApply = "before-first-apply"
	// AncientChanges owns what the oldest of too many updaters owned.
	AncientChanges = "ancient-changes"
)

// owner identifies an entry. Appliers are the same whatever version they apply in.
type owner struct {
	manager     string
	operation   metav1.ManagedFieldsOperationType
	version     string
	subresource string
}

type entry struct {
	owner   owner
	version string
	time    *metav1.Time
	// raw is the wire form, set the read form. Each is made when it is needed, so at least one of the two is
	// set: most writes read few entries, and reading one costs more than the rest of a write.
	raw []byte
	set *Set
}

// fields reads the entry's set. A malformed one is empty.
func (e *entry) fields() *Set {
	if e.set == nil {
		var err error
		if e.set, err = ParseSet(e.raw); err != nil {
			e.set, e.raw = &Set{}, nil
		}
	}
	return e.set
}

// has reports whether a path of t is in the entry.
func (e *entry) has(t *Set) bool {
	if e.set != nil {
		return overlaps(e.set, t)
	}
	return rawOverlaps(e.raw, t)
}

// along returns the entry's paths that lead to paths of t; see [along].
func (e *entry) along(t *Set) *Set {
	if e.set == nil {
		if s, ok := along(e.raw, t); ok {
			return s
		}
	}
	return e.fields().along(t)
}

// beyond returns the entry's paths that are not in t.
func (e *entry) beyond(t *Set) *Set {
	if e.set == nil {
		if s, ok := beyond(e.raw, t); ok {
			return s
		}
	}
	return e.fields().Difference(t)
}

// equal compares the sets of two entries.
func (e *entry) equal(o *entry) bool {
	if len(e.raw) > 0 && bytes.Equal(e.raw, o.raw) {
		return true
	}
	if e.set == nil && o.set != nil {
		if _, grown, ok := join(e.raw, o.set); ok && grown {
			return false
		}
	}
	return e.fields().Equal(o.fields())
}

// empty reports whether the entry holds nothing.
func (e *entry) empty() bool {
	if e.set != nil {
		return e.set.Empty()
	}
	return len(e.raw) <= len("{}")
}

// lose removes the paths of t from the entry, and reports whether any was present.
func (e *entry) lose(t *Set) bool {
	if !e.has(t) {
		return false
	}
	if e.set == nil {
		if out, ok := cut(e.raw, t); ok {
			e.raw = out
			return true
		}
	}
	e.replace(e.fields().Difference(t))
	return true
}

// gain adds the paths of t to the entry, and reports whether any was new.
func (e *entry) gain(t *Set) bool {
	if e.set == nil {
		if out, grown, ok := join(e.raw, t); ok {
			if grown {
				e.raw = out
			}
			return grown
		}
	}
	union := e.fields().Union(t)
	grown := !union.Equal(e.fields())
	e.replace(union)
	return grown
}

func (e *entry) applied() bool { return e.owner.operation == metav1.ManagedFieldsOperationApply }

// replace gives the entry another set.
func (e *entry) replace(s *Set) {
	if s != e.set && !s.Equal(e.fields()) {
		e.set, e.raw = s, nil
	}
}

// decode reads managed fields. ok is false if an entry is malformed; sets are parsed only if checked.
func decode(fields []metav1.ManagedFieldsEntry, checked bool) (out []entry, ok bool) {
	out = make([]entry, 0, len(fields)+1)
	for i := range fields {
		f := &fields[i]
		if f.FieldsType != "" && f.FieldsType != "FieldsV1" {
			return nil, false
		}
		e := entry{owner: ownerOf(f), version: f.APIVersion, time: f.Time}
		if e.owner.operation != metav1.ManagedFieldsOperationApply && e.owner.operation != metav1.ManagedFieldsOperationUpdate {
			return nil, false
		}
		if f.FieldsV1 == nil || len(f.FieldsV1.Raw) == 0 {
			e.set = &Set{}
		} else {
			e.raw = f.FieldsV1.Raw
		}
		if checked && e.set == nil {
			var err error
			if e.set, err = ParseSet(e.raw); err != nil {
				return nil, false
			}
			e.raw = e.set.AppendJSON(make([]byte, 0, len(e.raw))) // a client may write it in another order
		}
		if at := slices.IndexFunc(out, func(o entry) bool { return o.owner == e.owner }); at >= 0 {
			out[at].replace(out[at].fields().Union(e.fields()))
			continue
		}
		out = append(out, e)
	}
	return out, true
}

func ownerOf(f *metav1.ManagedFieldsEntry) owner {
	o := owner{manager: f.Manager, operation: f.Operation, version: f.APIVersion, subresource: f.Subresource}
	if o.operation == metav1.ManagedFieldsOperationApply {
		o.version = ""
	}
	return o
}

// encode writes entries in their order: appliers first, then by time, then by name.
func encode(entries []entry) []metav1.ManagedFieldsEntry {
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.empty() })
	if len(entries) == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(
			cmp.Compare(a.owner.operation, b.owner.operation), cmp.Compare(seconds(a.time), seconds(b.time)),
			cmp.Compare(a.owner.manager, b.owner.manager), cmp.Compare(a.version, b.version), cmp.Compare(a.owner.subresource, b.owner.subresource),
		)
	})
	out := make([]metav1.ManagedFieldsEntry, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.raw == nil {
			e.raw = e.set.AppendJSON(make([]byte, 0, 512))
		}
		out[i] = metav1.ManagedFieldsEntry{
			Manager: e.owner.manager, Operation: e.owner.operation, APIVersion: e.version, Time: e.time,
			FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: e.raw}, Subresource: e.owner.subresource,
		}
	}
	return out
}

func seconds(t *metav1.Time) int64 {
	if t == nil {
		return 0
	}
	return t.Unix()
}

func find(entries []entry, o owner) *entry {
	for i := range entries {
		if entries[i].owner == o {
			return &entries[i]
		}
	}
	return nil
}

func now() *metav1.Time {
	return &metav1.Time{Time: time.Now().UTC().Truncate(time.Second)}
}

// limitUpdaters joins the oldest updaters of a version until at most maxUpdaters are left.
func limitUpdaters(entries []entry) []entry {
	var updaters []owner
	for i := range entries {
		if !entries[i].applied() && !entries[i].empty() {
			updaters = append(updaters, entries[i].owner)
		}
	}
	if len(updaters) <= maxUpdaters {
		return entries
	}
	slices.SortFunc(updaters, func(a, b owner) int {
		return cmp.Or(cmp.Compare(seconds(find(entries, a).time), seconds(find(entries, b).time)),
			cmp.Compare(a.manager, b.manager), cmp.Compare(a.version, b.version), cmp.Compare(a.subresource, b.subresource))
	})
	first := map[string]owner{} // by version: the one that becomes the bucket when a second one joins
	left := len(updaters)
	for _, u := range updaters {
		if left <= maxUpdaters {
			break
		}
		bucket := owner{manager: AncientChanges, operation: metav1.ManagedFieldsOperationUpdate, version: u.version}
		opener, seen := first[u.version]
		if !seen {
			first[u.version] = u
			continue
		}
		b := find(entries, bucket)
		if b == nil {
			b = find(entries, opener)
			b.owner = bucket
		}
		from := find(entries, u)
		b.replace(b.fields().Union(from.fields()))
		b.time = from.time
		if from != b {
			entries = slices.DeleteFunc(entries, func(e entry) bool { return e.owner == u })
		}
		left--
	}
	return entries
}

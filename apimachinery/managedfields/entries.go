package managedfields

import (
	"cmp"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// maxUpdaters is how many managers may own fields through plain writes; the oldest beyond are put together.
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
	set     *Set
	raw     []byte // the wire form of set while it is unchanged
}

func (e *entry) applied() bool { return e.owner.operation == metav1.ManagedFieldsOperationApply }

// replace gives the entry another set.
func (e *entry) replace(s *Set) {
	if s != e.set && !s.Equal(e.set) {
		e.set, e.raw = s, nil
	}
}

// decode reads managed fields. ok is false if an entry is malformed.
func decode(fields []metav1.ManagedFieldsEntry) (out []entry, ok bool) {
	out = make([]entry, 0, len(fields)+1)
	for i := range fields {
		f := &fields[i]
		if f.FieldsType != "" && f.FieldsType != "FieldsV1" {
			return nil, false
		}
		e := entry{owner: ownerOf(f), version: f.APIVersion, time: f.Time, set: &Set{}}
		if e.owner.operation != metav1.ManagedFieldsOperationApply && e.owner.operation != metav1.ManagedFieldsOperationUpdate {
			return nil, false
		}
		if f.FieldsV1 != nil && len(f.FieldsV1.Raw) > 0 {
			s, err := ParseSet(f.FieldsV1.Raw)
			if err != nil {
				return nil, false
			}
			e.set, e.raw = s, f.FieldsV1.Raw
		}
		if at := slices.IndexFunc(out, func(o entry) bool { return o.owner == e.owner }); at >= 0 {
			out[at].replace(out[at].set.Union(e.set))
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
	entries = slices.DeleteFunc(entries, func(e entry) bool { return e.set.Empty() })
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
		if !entries[i].applied() && !entries[i].set.Empty() {
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
		b.replace(b.set.Union(from.set))
		b.time = from.time
		if from != b {
			entries = slices.DeleteFunc(entries, func(e entry) bool { return e.owner == u })
		}
		left--
	}
	return entries
}

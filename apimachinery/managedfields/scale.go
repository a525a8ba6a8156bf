package managedfields

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// scaleVersion is the version of Scale, in which the owners of a resource's replicas appear in the scale
// subresource.
const scaleVersion = "autoscaling/v1"

var scaleReplicas = Path{Field("spec"), Field("replicas")}

// FieldPath is the path of nested fields.
func FieldPath(names ...string) Path {
	p := make(Path, len(names))
	for i, n := range names {
		p[i] = Field(n)
	}
	return p
}

// ScaleEntries returns the managed fields of an object's Scale: the owners of its replicas, which are at path
// replicas.
func ScaleEntries(parent []metav1.ManagedFieldsEntry, replicas Path) []metav1.ManagedFieldsEntry {
	entries, _ := decode(parent, false)
	var out []entry
	for _, e := range entries {
		if e.fields().Has(replicas) {
			e.version, e.set, e.raw = scaleVersion, NewSet(scaleReplicas), nil
			if !e.applied() {
				e.owner.version = scaleVersion
			}
			out = append(out, e)
		}
	}
	return encode(out)
}

// FromScale returns the managed fields of an object after a write to its Scale left the Scale's at scale.
// version is that of the object. Entries of managers added through the scale have no time, as upstream.
func FromScale(parent, scale []metav1.ManagedFieldsEntry, replicas Path, version string) []metav1.ManagedFieldsEntry {
	entries, _ := decode(parent, false)
	scaled, _ := decode(scale, false)
	inParent := func(o owner) owner {
		if o.operation == metav1.ManagedFieldsOperationUpdate {
			o.version = version
		}
		return o
	}
	var known []owner
	only := NewSet(replicas)
	for i := range entries {
		e := &entries[i]
		if !e.fields().Has(replicas) {
			continue
		}
		if slices.ContainsFunc(scaled, func(s entry) bool { return inParent(s.owner) == e.owner }) {
			known = append(known, e.owner)
		} else {
			e.replace(e.fields().Difference(only))
		}
	}
	for _, s := range scaled {
		o := inParent(s.owner)
		if slices.Contains(known, o) || !s.fields().Has(scaleReplicas) {
			continue
		}
		if e := find(entries, o); e != nil {
			e.replace(e.fields().Union(only))
			continue
		}
		entries = append(entries, entry{owner: o, version: version, set: only})
	}
	return encode(entries)
}

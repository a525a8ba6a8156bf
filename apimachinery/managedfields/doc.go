// Package managedfields records which manager owns which field of an object, and merges what is applied:
// server-side apply. Field sets, conflicts, ownership and their wire form (fieldsV1) are those of Kubernetes.
//
// A [Type] is compiled once from a Go type ([ForType]) or built from a schema; it defines which lists and
// maps are owned as a whole and by which keys the items of the others are identified. [Type.Update] accounts
// for a plain write, [Type.Apply] for an apply. Types are immutable and safe for concurrent use; sets are not
// modified after they are shared with another goroutine.
//
// Fields owned in another version of the kind are compared in the version being written if its paths are the
// same, and in their own if [Write.Version] describes it: a conversion may rename, join or split fields.
//
// Work is proportional to the change: two objects are compared in memory, only subtrees that differ are
// visited, and of the entries only the parts on the paths of a change are read and replaced in their wire
// form. Values that cannot be compared in memory are compared through their JSON form.
package managedfields

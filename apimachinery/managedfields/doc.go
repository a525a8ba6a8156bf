// Package managedfields records which manager owns which field of an object, and merges what is applied:
// server-side apply. Field sets, conflicts, ownership and their wire form (fieldsV1) are those of Kubernetes.
//
// A [Type] is compiled once from a Go type ([ForType]) or built from a schema; it knows which lists and maps
// are owned as a whole and by which keys the items of the others are told apart. [Type.Update] accounts for a
// plain write, [Type.Apply] for an apply. Types are immutable and safe for concurrent use; sets are not
// changed once another goroutine can see them.
//
// Fields owned in another version of the kind are compared in the version being written if its paths are the
// same, and in their own if [Write.Version] describes it: a conversion may rename, join or split fields.
//
// Few bytes are looked at: two objects are compared in memory, only subtrees that differ are looked into, and
// of the entries only the parts that a change leads to are read and replaced in their wire form. What is not
// plain to see in memory goes through the JSON form.
package managedfields

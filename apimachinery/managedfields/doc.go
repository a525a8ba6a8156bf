// Package managedfields records which manager owns which field of an object, and merges what is
// applied: server-side apply. Field sets, conflicts, ownership and their wire form (fieldsV1) are those of Kubernetes.
//
// A [Type] is compiled once from a Go type ([ForType]) or built from a schema; it knows which lists
// and maps are owned as a whole and by which keys the items of the others are told apart. [Type.Update] accounts for a
// plain write, [Type.Apply] for an apply. Types are immutable and safe for concurrent use; sets are
// not changed once another goroutine can see them.
//
// Entries of all versions of a kind are compared in the version being written. The paths of a kind's
// versions agree unless a conversion renames fields.
package managedfields

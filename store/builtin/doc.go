// Package builtin defines how a server stores the kinds of Kubernetes: one [registry.Definition] per kind, in
// a file per API group. The names, verbs, subresources, defaults and validation of a kind are registered with
// its Go type below apimachinery/api; everything else that is specific to it is in its row here: strategy,
// scale, field selectors, storage prefix and version, printer columns, deprecation.
//
// To add a kind, register its Go type and add a row to the function of its group; that of a new group is
// called by rows (builtin.go). The files whose names begin with columns_ compute printer columns, a variable
// for each kind, which is the Table of its row; those with service_ the allocation of addresses and node
// ports. ARCHITECTURE.md lists all files that a kind touches. A server of other kinds passes its own rows as
// apiserver.Options.Kinds.
package builtin

// Package builtin holds the kinds of Kubernetes as a server stores them: one [registry.Definition] per kind,
// in a file per API group. What a kind looks like to clients, its names, verbs, subresources, defaults and
// validation, is registered with its Go type below apimachinery/api; everything else that sets it apart is in
// its row here: strategy, field selectors, storage prefix and version, printer columns, deprecation.
//
// To add a kind, register its Go type and add a row to the function of its group. The files whose names begin
// with columns_ compute printer columns, those with service_ the allocation of addresses and node ports.
// A server of other kinds passes rows of its own as apiserver.Options.Kinds.
package builtin

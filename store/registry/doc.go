// Package registry is the layer between an API server's verbs and its store: one [Resource] per stored kind,
// which encodes its objects, maps them to keys, and applies the rules of creating, updating and deleting
// them. The package is generic: what is particular to a kind is in its [Definition], and those of the
// built-in kinds are in package builtin. The one kind named here is Lease, which guards the writes of elected
// leaders.
//
// # What is promised
//
//  1. A write is decoded, defaulted, prepared, admitted and validated before anything is stored; a request
//     that fails before changes nothing.
//  2. A stale resourceVersion, uid or precondition never wins: it is checked in the same transaction as
//     the write. Writes without a version are retried on the newest state.
//  3. Stored bytes carry no resourceVersion (it is the revision of the commit). Built-in kinds are stored in
//     the protobuf envelope at the keys an etcd of a Kubernetes cluster has, custom resources as JSON.
//  4. Spec and status are kept apart where a kind has a status subresource, generation counts changes of the
//     desired state, and an object with finalizers or a grace period is marked before it is removed.
//
// [Access] is for parts of the server itself (admission plugins, authorizers, custom resource definitions):
// the same semantics as over HTTP, but without authorization.
//
// Tests of behavior that needs requests, such as patches, are in package apiserver.
//
// Each verb has a file: create.go, update.go, delete.go, read.go. The steps that they share are in track.go
// (managed fields), admit.go (admission), meta.go (validation) and guard.go (fencing). What a kind may change
// about them is in definition.go and scale.go. The files access_* implement Access, and watched.go starts the
// watch caches.
//
// Everything here is safe for concurrent use. Loops run inside [Registry.Run].
package registry

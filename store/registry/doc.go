// Package registry is what lies between an API server's verbs and its store: one [Resource] per
// stored kind, which knows where its objects live, how they are encoded, and what has to happen
// to an object when it is created, updated or deleted.
//
// # What is promised
//
//  1. A write is decoded, defaulted, prepared, admitted and validated before anything is stored; a request
//     that fails on the way changes nothing.
//  2. A stale resourceVersion, uid or precondition never wins: it is checked in the same transaction as
//     the write. Writes without a version are retried on the newest state.
//  3. Stored bytes carry no resourceVersion (it is the revision of the commit). Built-in kinds are stored in
//     the protobuf envelope at the keys an etcd of a Kubernetes cluster has, custom resources as JSON.
//  4. Spec and status are kept apart where a kind has a status subresource, generation counts changes of the
//     desired state, and an object with finalizers or a grace period is marked before it is removed.
//
// [Access] is the way in for parts of the server itself (admission plugins, authorizers, custom
// resource definitions): the same semantics as over HTTP, but without authorization.
//
// Everything here is safe for concurrent use. Loops run inside [Registry.Run].
package registry

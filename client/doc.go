// Package client is the contract between a program and an API server: typed reads, writes and
// watches over any connection. It speaks no HTTP itself; client/rest does, and wrappers such as
// [Observe] and [Impersonate] stack on top of any [Conn].
//
//	conn, err := rest.New(cfg, rest.Options{})
//	pods := client.For[*corev1.Pod](conn)
//	pod, err := pods.Get(ctx, types.NamespacedName{Namespace: "default", Name: "web-0"})
//
// What a [Client] promises:
//
//   - Any type registered in the connection's scheme works the same: built-in types, those of
//     k8s.io/api, and plain structs of custom resources. A type that is not registered is an
//     error on first use which names the call to make.
//   - Where options may be left out, one value of them may be given. Two panic.
//   - Every refusal of the server comes back as an *apierrors.StatusError; a reply that cannot be
//     decoded comes back as a [*DecodeError] naming the resource. One bad object in a list or a watch is
//     told of with its key, and the others are given.
//   - Objects returned belong to the caller, carry their apiVersion and kind, and share no
//     memory with anything else. Objects passed in are only read.
//   - Built-in types travel as protobuf, all others as JSON. A server that refuses protobuf is
//     asked again in JSON.
//   - [Client.Watch] resumes by itself after errors and closed connections without loss and without
//     repeating an event; where that is impossible it ends with an error that says so.
//   - Nothing here starts a goroutine, a timer or a connection of its own; all methods may be called
//     from many goroutines at once.
//
// It does not cache and does not retry writes other than as documented on [Retry]; see package
// informers for caches.
package client

// Package client is the contract between a program and an API server: typed reads, writes and
// watches over any connection. It contains no HTTP client; client/rest does, and wrappers such as
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
//   - Every refusal of the server is returned as an *apierrors.StatusError; a reply that cannot be
//     decoded as a [*DecodeError] naming the resource. An object of a list or a watch that cannot be decoded
//     is reported with its key, and the others are returned.
//   - Objects returned belong to the caller, carry their apiVersion and kind, and share no
//     memory with anything else. Objects passed in are only read.
//   - Built-in types are sent and received as protobuf, all others as JSON. A request whose protobuf the
//     server refuses is repeated in JSON.
//   - [Client.Watch] resumes after errors and closed connections without loss and without
//     repeating an event; where that is impossible it ends with an error that says so.
//   - Nothing here starts a goroutine or a connection of its own; all methods may be called
//     from many goroutines at once.
//
// It does not cache and does not retry writes other than as documented on [Retry]; see package
// informers for caches. Waits are spread by [backoff.Jitter].
//
// # Options
//
// Options that select, such as [ListOptions], and those with a required field, such as [ApplyOptions], are
// ordinary parameters. Options that few calls need ([GetOptions], [CreateOptions], [UpdateOptions],
// [PatchOptions] and [DeleteOptions]) are a variadic parameter of which at most one value may be given, so
// that the common calls stay as short as pods.Get(ctx, key). More than one value panics, because merging them
// or ignoring all but the first would hide a mistake such as a lost dry run.
package client

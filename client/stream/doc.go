// Package stream talks to running containers through an API server: [Exec] and [Attach] run and join
// processes, [Forward] carries TCP connections into a pod, [Logs] reads what a container has written.
//
// Exec, Attach and Forward use WebSockets (protocol v5.channel.k8s.io, and SPDY tunnelled for Forward) and
// fall back to SPDY/3.1 where the server, or a proxy before it, refuses those. The connection given must
// implement client.Upgrader, as rest.Conn and all wrappers of package client do.
//
// When a function returns, or a Forwarder is closed, its connection is closed and its goroutines have
// returned, with one exception: a Read of Options.Stdin that is under way cannot be interrupted and lasts
// until it returns by itself.
package stream

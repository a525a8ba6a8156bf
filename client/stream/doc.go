// Package stream connects to running containers through an API server: [Exec] runs a process and [Attach]
// connects to one, [Forward] carries TCP connections into a pod, [Logs] reads what a container has written.
//
// Exec, Attach and Forward use WebSockets (protocol v5.channel.k8s.io, and SPDY tunnelled for Forward) and
// fall back to SPDY/3.1 if the server, or a proxy in front of it, refuses them. The connection given must
// implement client.Upgrader, as rest.Conn and all wrappers of package client do.
//
// When a function returns, or a Forwarder is closed, its connection is closed and its goroutines have
// returned, with one exception: a Read of Options.Stdin that is under way cannot be interrupted and continues
// until it returns by itself.
package stream

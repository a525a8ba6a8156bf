// Package devices allocates devices to ResourceClaims for a node, as the allocator of Kubernetes 1.36 does:
// the first combination of devices, in the order of their pools, slices and places, that satisfies all
// requests and constraints. It is a function of its inputs, without state of its own but caches, and is used
// by one goroutine at a time. The tests of package scheduler compare it with that allocator, and try it with
// claims, slices and pods.
package devices

// Package scheduler gives every pod without a node the best node, in two steps as clusters do: filters say
// which nodes can take the pod and why the others cannot; scores rank those that can. The decision is [Cluster.Schedule],
// a function of the cluster's state and the pod that touches nothing else, so it also answers what-if questions.
//
// [Add] puts it to work: pods wait in a queue ordered by priority, a pod that fits nowhere waits until something that
// matters changes, and a placement counts (is assumed) from the moment it is decided, so that pods decided side by
// side never overcommit a node.
package scheduler

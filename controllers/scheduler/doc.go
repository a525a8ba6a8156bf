// Package scheduler gives every pod without a node the best node, in two steps as clusters do: filters say
// which nodes can take the pod and why the others cannot; scores rank those that can. The decision is
// [Cluster.Schedule], a function of the cluster's state and the pod that touches nothing else, so it also
// answers what-if questions.
//
// [Add] puts it to work: pods wait in a queue ordered by priority, a pod that fits nowhere waits until
// something that matters changes, and a placement counts (is assumed) from the moment it is decided, so that
// pods decided side by side never overcommit a node. All scheduler names of one Add share one account. The
// room of a binding whose answer was lost stays taken until a read of the pod or the watch says what became
// of it.
//
// A pod that fits nowhere may preempt less important ones: as few and as unimportant ones as possible, those
// last that a PodDisruptionBudget protects. Its room is kept from the moment of that decision, the nomination
// is written before the first pod is marked, every victim is marked before the first is deleted, and the pod
// is tried again when the last has gone.
package scheduler

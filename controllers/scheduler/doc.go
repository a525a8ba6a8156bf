// Package scheduler assigns pods to nodes. Filters determine the feasible nodes of a pod, and the reasons why
// the others are not; scores rank the feasible ones. The decision is [Cluster.Schedule], which depends only
// on the cluster's state and the pod, so it can also be used for simulations.
//
// [Add] runs it as a controller. Pods wait in a queue ordered by priority, and a pod that fits on no node
// waits until a relevant change. A placement is assumed as soon as it is decided, so that concurrent bindings
// never overcommit a node; all scheduler names of one Add share that state. The resources of a binding whose
// response was lost stay reserved until a read of the pod or the watch shows its result.
//
// A pod that fits on no node may preempt pods of lower priority: as few and of as low priority as possible,
// and those protected by a PodDisruptionBudget last. Its resources are reserved when that is decided, the
// nomination is written before the first victim is marked, all victims are marked before the first is
// deleted, and the pod is scheduled again when the last one is deleted.
package scheduler

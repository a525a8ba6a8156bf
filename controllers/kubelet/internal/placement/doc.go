// Package placement decides which CPUs, and the memory of which NUMA nodes, containers of Guaranteed pods
// have for themselves, and which NUMA nodes all resources of a container come from. It does what the CPU,
// memory and topology managers of k8s.io/kubernetes/pkg/kubelet/cm, v1.36.3, do together.
package placement

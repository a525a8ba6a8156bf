// Package metav1 holds what every API object shares (meta.k8s.io/v1): type and object metadata, list
// metadata, times, label selectors, conditions, Status, Table, the request option kinds, and the
// [Object] contract that typed, foreign and unstructured objects all meet.
//
// The package has no I/O and keeps no state but a cache of type layouts behind [MetaOf].
package metav1

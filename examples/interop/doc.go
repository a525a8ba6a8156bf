// Package interop tests Keelson with the upstream libraries: unmodified client-go and
// controller-runtime against Keelson's API server, k8s.io/api types in Keelson's client and informers, and
// both libraries' codecs, queues and caches side by side, as differential tests and as benchmarks with
// sub-benchmarks /keelson and /upstream.
//
// It is a module of its own, so that the root module requires none of them.
package interop

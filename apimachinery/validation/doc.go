// Package validation says what is wrong with a value and where.
//
// Three layers, usable alone:
//
//   - Path names a field: spec.containers[0].name, metadata.labels[a/b].
//   - Error and ErrorList are findings about fields. The types and the texts of
//     the types are those of Kubernetes; they end up as the causes of a
//     Status.
//   - IsX checks look at one value and return nil, or what is wrong in words
//     human-readable. They are independent of fields.
//
// Nothing here does I/O or keeps state, everything may be used concurrently.
// Checks accept and refuse exactly what Kubernetes does; the words are our own
// but keep the phrases that tools look for.
package validation

// Package validation reports what is wrong with values of API objects, and where.
//
// Three layers, usable alone:
//
//   - Path names a field: spec.containers[0].name, metadata.labels[a/b].
//   - Error and ErrorList are findings about fields. The types and the texts of
//     the types are those of Kubernetes; they end up as the causes of a
//     Status.
//   - IsX checks take one value and return human-readable messages about it, nil if it is valid. They are
//     independent of fields.
//
// Nothing here does I/O or keeps state, everything may be used concurrently. Checks accept and refuse exactly
// what Kubernetes does; the messages are not identical but contain the phrases that tools match.
package validation

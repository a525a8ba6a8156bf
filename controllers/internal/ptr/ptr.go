// Package ptr reads optional fields of API objects.
package ptr

// Deref returns what p points to, or the zero value if p is nil.
func Deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

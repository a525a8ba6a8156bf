// Package defaults sets unset fields of API objects.
package defaults

// IfNil sets *p to a pointer to v if it is nil.
func IfNil[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// IfZero sets *p to v if it is the zero value.
func IfZero[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

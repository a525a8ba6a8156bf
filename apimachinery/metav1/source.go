package metav1

import "embed"

//go:embed types.go object.go list.go
var source embed.FS

// Source is the source text of the types of this package. Servers take the descriptions of fields from
// its comments; programs that do not call it do not carry it.
func Source() embed.FS { return source }

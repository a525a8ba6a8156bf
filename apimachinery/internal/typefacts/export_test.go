package typefacts

import "maps"

// Structs returns the OpenAPI names of the structs that a fact is about.
func Structs() []string {
	var out []string
	for _, name := range atomicStructs {
		out = append(out, "io.k8s."+name)
	}
	for name := range maps.Keys(unions) {
		out = append(out, "io.k8s.api."+name)
	}
	return out
}

// Fields returns the fields that a fact is about, as OpenAPI name of the struct, a dot and the field.
func Fields() []string {
	var out []string
	for field := range maps.Keys(defaults) {
		out = append(out, "io.k8s.api."+field)
	}
	for field := range maps.Keys(elementEnums) {
		out = append(out, "io.k8s.api."+field)
	}
	for name, u := range unions {
		if u.Discriminator != "" {
			out = append(out, "io.k8s.api."+name+"."+u.Discriminator)
		}
		for _, member := range u.Members {
			out = append(out, "io.k8s.api."+name+"."+member[0])
		}
	}
	return out
}

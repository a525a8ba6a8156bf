package openapi

import "github.com/keelson-dev/keelson/apimachinery/managedfields"

// Ownership returns how objects of the schema are owned by field managers.
func (s *Structural) Ownership() (*managedfields.Type, error) {
	members := s.members()
	var rest *managedfields.Type
	if s.Additional != nil {
		rest = s.Additional.owned()
	}
	return managedfields.ObjectOf(members, rest)
}

func (s *Structural) members() []managedfields.Member {
	out := make([]managedfields.Member, 0, len(s.names))
	for _, name := range s.names {
		c := s.Properties[name]
		out = append(out, managedfields.Member{Name: name, Type: c.owned(), Default: c.Default})
	}
	return out
}

func (s *Structural) owned() *managedfields.Type {
	if s.IntOrString {
		return managedfields.Atomic
	}
	switch s.Type {
	case "object":
		switch {
		case s.AtomicMap:
			return managedfields.Atomic
		case len(s.Properties) > 0 || s.Embedded:
			var rest *managedfields.Type
			if s.Additional != nil {
				rest = s.Additional.owned()
			}
			return managedfields.StructOf(s.members(), rest)
		case s.Additional != nil:
			return managedfields.MapOf(s.Additional.owned())
		}
		return managedfields.Deduced
	case "array":
		switch s.ListType {
		case "set":
			return managedfields.SetOf()
		case "map":
			if s.Items != nil {
				return managedfields.ListOf(s.Items.owned(), s.ListKeys)
			}
		}
		return managedfields.Atomic
	case "":
		return managedfields.Deduced
	}
	return managedfields.Atomic
}

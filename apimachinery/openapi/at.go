package openapi

// At returns the value of fields at a path of member names as SetDefaults would leave it, without changing
// anything; nil if there is none or if it is null. A nil schema has no defaults. The value may be part of the
// schema and must not be changed.
func (s *Structural) At(fields map[string]any, path ...string) any {
	var v any = fields
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
		if s == nil {
			continue
		}
		if s = s.child(name); s != nil && v == nil && s.HasDefault {
			if _, null := m[name]; !null || !s.Nullable {
				v = s.Default
			}
		}
	}
	return v
}

// DefaultsAt reports whether a default may decide what is at a path of member names.
func (s *Structural) DefaultsAt(path ...string) bool {
	for _, name := range path {
		if s = s.child(name); s == nil {
			return false
		}
		if s.HasDefault {
			return true
		}
	}
	return false
}

package metav1

// Unstructured is an object of any kind: metadata decoded, everything else as JSON values
// (map[string]any, []any, string, bool, int64, float64, nil). The codec fills Fields with every
// top-level member but apiVersion, kind and metadata.
type Unstructured struct {
	TypeMeta   `json:",inline"`
	ObjectMeta `json:"metadata,omitempty"`
	// Fields holds the top-level members such as spec and status.
	Fields map[string]any `json:",unknown"`
}

// Nested returns the value at path below Fields, and whether every step was there.
func (u *Unstructured) Nested(path ...string) (any, bool) {
	var v any = u.Fields
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[p]; !ok {
			return nil, false
		}
	}
	return v, true
}

// SetNested sets the value at path below Fields and makes missing maps on the way. It reports
// false, and changes nothing, if a step on the way is something other than a map.
func (u *Unstructured) SetNested(value any, path ...string) bool {
	if u.Fields == nil {
		u.Fields = map[string]any{}
	}
	m := u.Fields
	for i, p := range path[:len(path)-1] {
		next, there := m[p]
		if !there || next == nil {
			for _, q := range path[i : len(path)-1] {
				n := map[string]any{}
				m[q], m = n, n
			}
			break
		}
		child, ok := next.(map[string]any)
		if !ok {
			return false
		}
		m = child
	}
	m[path[len(path)-1]] = value
	return true
}

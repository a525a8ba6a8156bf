package managedfields

// remove returns v without the values at the paths of s.
func (t *Type) remove(v any, s *Set) any {
	switch t.shape {
	case structure, dictionary, deduced:
		m, ok := object(v)
		if !ok || len(m) == 0 {
			return v
		}
		out := make(map[string]any, len(m))
		for name, c := range m {
			el := Field(name)
			it := s.at(&el)
			switch {
			case it == nil:
				out[name] = c
			case it.owned:
			case it.sub.Empty():
				out[name] = c
			default:
				out[name] = t.child(name).remove(c, it.sub)
			}
		}
		if len(out) == 0 {
			return emptied{}
		}
		return out
	case keyedList, setList:
		list, ok := array(v)
		if !ok || len(list) == 0 {
			return v
		}
		out := make([]any, 0, len(list))
		for _, c := range list {
			if el, err := t.element(c); err == nil {
				it := s.at(&el)
				if it != nil && it.owned {
					continue
				}
				if it != nil && !it.sub.Empty() {
					c = t.elem.remove(c, it.sub)
				}
			}
			out = append(out, c)
		}
		if len(out) == 0 {
			return emptied{}
		}
		return out
	}
	return v
}

// withParents adds to s the paths of the structures' fields that longer paths go through.
func (t *Type) withParents(s *Set) *Set {
	if len(s.list()) == 0 {
		return s
	}
	out := &Set{items: make([]item, 0, len(s.items))}
	for _, it := range s.list() {
		child := t.elem
		if it.el.kind == fieldKind {
			child = t.child(it.el.text)
			if _, named := t.field(it.el.text); named && !it.sub.Empty() {
				it.owned = true
			}
		}
		if child != nil && it.sub != nil {
			it.sub = child.withParents(it.sub)
		}
		out.items = append(out.items, it)
	}
	return out
}

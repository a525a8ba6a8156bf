package managedfields

import (
	"fmt"
	"slices"
)

// PatchError says what is wrong with an applied configuration, and where.
type PatchError struct {
	Path   Path
	Reason string
}

func (e *PatchError) Error() string { return e.Path.String() + ": " + e.Reason }

// fieldSet is the set of fields that v, a value of type t, sets. A structure's own path is in it only when
// the structure is empty; the paths of map entries and list items always are.
func (t *Type) fieldSet(v any, path Path, out *Set) error {
	switch t.shape {
	case structure, dictionary, deduced:
		m, ok := object(v)
		if !ok {
			if t.shape == deduced {
				out.Insert(path)
				return nil
			}
			return &PatchError{Path: slices.Clone(path), Reason: fmt.Sprintf("must be an object, not %s", nameOf(v))}
		}
		for name, c := range m {
			if err := t.memberSet(name, c, append(path, Field(name)), out); err != nil {
				return err
			}
		}
	case keyedList, setList:
		list, ok := array(v)
		if !ok {
			return &PatchError{Path: slices.Clone(path), Reason: fmt.Sprintf("must be a list, not %s", nameOf(v))}
		}
		seen := make(map[string]bool, len(list))
		for i, it := range list {
			el, err := t.element(it)
			if err != nil {
				return &PatchError{Path: append(slices.Clone(path), Index(i)), Reason: err.Error()}
			}
			p := append(path, el)
			if seen[el.text] {
				return &PatchError{Path: slices.Clone(p), Reason: "occurs more than once"}
			}
			seen[el.text] = true
			if err := t.elem.fieldSet(it, p, out); err != nil {
				return err
			}
			out.Insert(p)
		}
	default:
		out.Insert(path)
	}
	return nil
}

func (t *Type) memberSet(name string, v any, path Path, out *Set) error {
	_, named := t.field(name)
	if t.shape == structure && !named && t.goType != nil {
		return &PatchError{Path: slices.Clone(path), Reason: "is not a field of the schema"}
	}
	if err := t.child(name).fieldSet(v, path, out); err != nil {
		return err
	}
	if m, isMap := v.(map[string]any); !named || v == nil || isMap && len(m) == 0 {
		out.Insert(path)
	}
	return nil
}

func nameOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

// merge lays the applied value r over the live value l. Neither is changed; the result may share parts with them.
func (t *Type) merge(l, r any) any {
	if isAbsent(r) {
		return l
	}
	if isAbsent(l) {
		l = nil
	}
	switch t.shape {
	case structure, dictionary, deduced:
		lm, lok := object(l)
		rm, rok := object(r)
		if !lok || !rok || len(lm)+len(rm) == 0 {
			return r
		}
		out := make(map[string]any, len(lm)+len(rm))
		for name, lv := range lm {
			out[name] = lv
		}
		for name, rv := range rm {
			lv, ok := lm[name]
			if !ok {
				lv = absent
			}
			out[name] = t.child(name).merge(lv, rv)
		}
		return out
	case keyedList, setList:
		ll, lok := array(l)
		rl, rok := array(r)
		if !lok || !rok || len(ll)+len(rl) == 0 {
			return r
		}
		return t.mergeItems(ll, rl)
	}
	return r
}

// mergeItems joins two lists. Items of both follow the applied order; live items that are not applied keep their
// place among their neighbours. Of a live item that occurs more than once the last one is merged.
func (t *Type) mergeItems(l, r []any) any {
	elements := func(list []any) ([]string, map[string]any) {
		names, at := make([]string, len(list)), make(map[string]any, len(list))
		for i, it := range list {
			el, err := t.element(it)
			if err != nil {
				el = Index(-1 - i) // cannot be told apart, so equal to nothing
			}
			names[i], at[el.text] = el.text, it
		}
		return names, at
	}
	ln, live := elements(l)
	rn, applied := elements(r)
	var shared []string // applied items that are live, in the applied order
	for _, n := range rn {
		if _, ok := live[n]; ok {
			shared = append(shared, n)
		}
	}
	out := make([]any, 0, max(len(l), len(r)))
	done := make(map[string]bool, len(r))
	take := func(name string) {
		lv, ok := live[name]
		if !ok {
			lv = absent
		}
		out = append(out, t.elem.merge(lv, applied[name]))
		done[name] = true
		if len(shared) > 0 && shared[0] == name {
			shared = shared[1:]
		}
	}
	for i, j := 0, 0; i < len(l) || j < len(r); {
		if i < len(l) && j < len(r) {
			if ln[i] == rn[j] {
				take(ln[i])
				i, j = i+1, j+1
				continue
			}
			if _, ok := applied[ln[i]]; ok && len(shared) > 0 && shared[0] != ln[i] {
				i++ // applied too, but another shared item comes first
				continue
			}
		}
		if i < len(l) {
			if _, ok := applied[ln[i]]; !ok {
				out = append(out, l[i])
				i++
				continue
			}
			if done[ln[i]] {
				i++
			}
		}
		if j < len(r) {
			take(rn[j])
			j++
		}
	}
	return out
}

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
	out := &Set{items: make([]item, 0, len(s.list()))}
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

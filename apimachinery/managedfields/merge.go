package managedfields

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// PatchError describes an error in an applied configuration and its path.
type PatchError struct {
	Path   Path
	Reason string
}

func (e *PatchError) Error() string { return e.Path.String() + ": " + e.Reason }

// fieldSet is the set of fields that v, a value of type t, sets. A structure's own path is in it only when
// the structure is empty; the paths of map entries and list items always are. own reports that the path to v
// itself is in the set. A live value may repeat list items and hold items without keys; a configuration may
// not.
func (t *Type) fieldSet(v any, live bool) (s *Set, own bool, err error) {
	switch t.shape {
	case structure, dictionary, deduced:
		m, ok := object(v)
		if !ok {
			if t.shape == deduced || live {
				return nil, true, nil
			}
			return nil, false, &PatchError{Reason: fmt.Sprintf("must be an object, not %s", nameOf(v))}
		}
		s, err = t.memberSets(m, live)
		return s, false, err
	case keyedList, setList:
		list, ok := array(v)
		if !ok {
			if live {
				return nil, true, nil
			}
			return nil, false, &PatchError{Reason: fmt.Sprintf("must be a list, not %s", nameOf(v))}
		}
		s, err = t.itemSets(list, live)
		return s, false, err
	}
	return nil, true, nil
}

// within prefixes the path of an error.
func within(err error, el Element) error {
	if bad, ok := err.(*PatchError); ok { //nolint:errorlint // never wrapped
		bad.Path = append(Path{el}, bad.Path...)
	}
	return err
}

func (t *Type) memberSets(m map[string]any, live bool) (*Set, error) {
	if len(m) == 0 {
		return nil, nil
	}
	s := &Set{items: make([]item, 0, len(m))}
	for name, v := range m {
		f, named := t.field(name)
		if t.shape == structure && !named && t.goType != nil && !live {
			return nil, &PatchError{Path: Path{Field(name)}, Reason: "field not declared in schema"}
		}
		child := t.elem
		if named {
			child = f.typ
		} else if child == nil {
			child = Deduced
		}
		sub, own, err := child.fieldSet(v, live)
		if err != nil {
			return nil, within(err, Field(name))
		}
		own = own || !named || v == nil || v == any(emptied{})
		if cm, isMap := v.(map[string]any); isMap && len(cm) == 0 {
			own = true
		}
		if own || len(sub.list()) > 0 {
			s.items = append(s.items, item{el: Field(name), owned: own, sub: sub})
		}
	}
	slices.SortFunc(s.items, func(a, b item) int { return strings.Compare(a.el.text, b.el.text) })
	return s, nil
}

func (t *Type) itemSets(list []any, live bool) (*Set, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s := &Set{items: make([]item, 0, len(list))}
	for i, v := range list {
		el, err := t.element(v)
		if err != nil {
			if live {
				continue
			}
			return nil, &PatchError{Path: Path{indexElement(i)}, Reason: err.Error()}
		}
		sub, _, err := t.elem.fieldSet(v, live)
		if err != nil {
			return nil, within(err, el)
		}
		s.items = append(s.items, item{el: el, owned: true, sub: sub})
	}
	slices.SortFunc(s.items, func(a, b item) int { return compareElements(&a.el, &b.el) })
	out := s.items[:1]
	for _, it := range s.items[1:] {
		last := &out[len(out)-1]
		if compareElements(&last.el, &it.el) != 0 {
			out = append(out, it)
			continue
		}
		if !live {
			return nil, &PatchError{Path: Path{it.el}, Reason: "occurs more than once"}
		}
		last.sub = last.sub.Union(it.sub)
	}
	s.items = out
	return s, nil
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

// merge merges the applied value r into the live value l. Neither is changed; the result shares with l what
// did not change, and is l itself if nothing did.
func (t *Type) merge(l, r any) any {
	if isAbsent(r) || same(l, r) {
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
		if len(lm) == 0 && l == nil {
			lm = map[string]any{}
		}
		return t.mergeMembers(lm, rm)
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

func (t *Type) mergeMembers(l, r map[string]any) any {
	var out map[string]any
	for name, rv := range r {
		lv, ok := l[name]
		if !ok {
			lv = absent
		}
		v := t.child(name).merge(lv, rv)
		if ok && same(v, lv) {
			continue
		}
		if out == nil {
			out = make(map[string]any, len(l)+len(r))
			for k, x := range l {
				out[k] = x
			}
		}
		out[name] = v
	}
	if out == nil {
		return l
	}
	return out
}

// same reports whether two values are known to be equal: the same map or list, or equal scalars. It does not
// compare members.
func same(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && reflect.ValueOf(x).Pointer() == reflect.ValueOf(y).Pointer()
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && len(x) > 0 && &x[0] == &y[0]
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// mergeItems joins two lists. Items of both follow the applied order; live items that are not applied keep
// their place among their neighbours. Of a live item that occurs more than once the last one is merged.
func (t *Type) mergeItems(l, r []any) any {
	if t.paired(l, r) {
		return t.mergePairs(l, r)
	}
	elements := func(list []any) ([]string, map[string]any) {
		names, at := make([]string, len(list)), make(map[string]any, len(list))
		for i, it := range list {
			el, err := t.element(it)
			if err != nil {
				el = indexElement(-1 - i) // has no keys, so equal to nothing
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
	if len(out) == len(l) && allSame(out, l) {
		return l
	}
	return out
}

// paired reports whether two lists have the same items in the same places. r has none twice.
func (t *Type) paired(l, r []any) bool {
	if len(l) != len(r) {
		return false
	}
	for i := range l {
		if same(l[i], r[i]) {
			continue
		}
		a, err := t.element(l[i])
		if err != nil {
			return false
		}
		if b, err := t.element(r[i]); err != nil || a.text != b.text {
			return false
		}
	}
	return true
}

// mergePairs is mergeItems for lists of the same items in the same places.
func (t *Type) mergePairs(l, r []any) any {
	var out []any
	for i := range l {
		v := t.elem.merge(l[i], r[i])
		if same(v, l[i]) {
			continue
		}
		if out == nil {
			out = slices.Clone(l)
		}
		out[i] = v
	}
	if out == nil {
		return l
	}
	return out
}

func allSame(a, b []any) bool {
	for i := range a {
		if !same(a[i], b[i]) {
			return false
		}
	}
	return true
}

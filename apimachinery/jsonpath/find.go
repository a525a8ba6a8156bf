package jsonpath

import (
	"maps"
	"slices"
)

// Find returns every value that the path selects, in document order, with map members in key order. The
// values are not copied.
func (p *Path) Find(root any) []any {
	return walk(p.steps, root, nil)
}

// First returns the first value that the path selects, and whether there is one.
func (p *Path) First(root any) (any, bool) {
	v := root
	for i, s := range p.steps {
		f, ok := s.(fieldStep)
		if !ok {
			found := walk(p.steps[i:], v, nil)
			if len(found) == 0 {
				return nil, false
			}
			return found[0], true
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[string(f)]; !ok {
			return nil, false
		}
	}
	return v, true
}

// step appends to out what it selects from v.
type step interface {
	selectFrom(v any, out []any) []any
}

func walk(steps []step, v any, out []any) []any {
	if len(steps) == 0 {
		return append(out, v)
	}
	for _, next := range steps[0].selectFrom(v, nil) {
		out = walk(steps[1:], next, out)
	}
	return out
}

type fieldStep string

func (s fieldStep) selectFrom(v any, out []any) []any {
	if m, ok := v.(map[string]any); ok {
		if child, ok := m[string(s)]; ok {
			return append(out, child)
		}
	}
	return out
}

type indexStep int

func (s indexStep) selectFrom(v any, out []any) []any {
	l, _ := v.([]any)
	i := int(s)
	if i < 0 {
		i += len(l)
	}
	if i >= 0 && i < len(l) {
		return append(out, l[i])
	}
	return out
}

type sliceStep struct{ from, to, by *int }

func (s sliceStep) selectFrom(v any, out []any) []any {
	l, _ := v.([]any)
	from, to, by := bound(s.from, 0, len(l)), bound(s.to, len(l), len(l)), 1
	if s.by != nil {
		by = *s.by
	}
	for i := from; i < to; i += by {
		out = append(out, l[i])
		if by > to-i {
			break
		}
	}
	return out
}

func bound(p *int, otherwise, length int) int {
	if p == nil {
		return otherwise
	}
	n := *p
	if n < 0 {
		n += length
	}
	return min(max(n, 0), length)
}

type allStep struct{}

func (allStep) selectFrom(v any, out []any) []any {
	switch v := v.(type) {
	case []any:
		return append(out, v...)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, v[k])
		}
	}
	return out
}

// deepStep selects a field, or everything when the name is empty, at any depth.
type deepStep struct{ name string }

func (s deepStep) selectFrom(v any, out []any) []any {
	if s.name == "" {
		out = append(out, v)
	} else {
		out = fieldStep(s.name).selectFrom(v, out)
	}
	for _, child := range (allStep{}).selectFrom(v, nil) {
		out = s.selectFrom(child, out)
	}
	return out
}

type unionStep []step

func (s unionStep) selectFrom(v any, out []any) []any {
	for _, part := range s {
		out = part.selectFrom(v, out)
	}
	return out
}

type operand struct {
	steps  []step
	isPath bool
	value  any
}

func (o operand) values(v any) []any {
	if o.isPath {
		return walk(o.steps, v, nil)
	}
	return []any{o.value}
}

type filterStep struct {
	left, right operand
	op          string
}

func (s filterStep) selectFrom(v any, out []any) []any {
	for _, item := range (allStep{}).selectFrom(v, nil) {
		left := s.left.values(item)
		if s.op == "" {
			if len(left) > 0 {
				out = append(out, item)
			}
			continue
		}
		right := s.right.values(item)
		if len(left) > 0 && len(right) > 0 && holds(left[0], s.op, right[0]) {
			out = append(out, item)
		}
	}
	return out
}

func holds(a any, op string, b any) bool {
	c, ordered := compare(a, b)
	switch op {
	case "==":
		return ordered && c == 0
	case "!=":
		return !ordered || c != 0
	case "<":
		return ordered && c < 0
	case "<=":
		return ordered && c <= 0
	case ">":
		return ordered && c > 0
	}
	return ordered && c >= 0
}

// compare orders strings, and integers and floats. Booleans and null compare for equality only.
func compare(a, b any) (int, bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			switch {
			case a < b:
				return -1, true
			case a > b:
				return 1, true
			}
			return 0, true
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, true
		}
	case nil:
		return 0, b == nil
	}
	x, okX := float(a)
	y, okY := float(b)
	if !okX || !okY {
		return 0, false
	}
	switch {
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

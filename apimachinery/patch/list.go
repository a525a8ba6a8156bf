package patch

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// applyElementOrders handles the fields with $setElementOrder: they are merged
// with the patch's list, if there is one, and then brought into that order. It
// returns the fields done.
func applyElementOrders(doc, patch map[string]any, schema Schema) (map[string]bool, error) {
	var done map[string]bool
	for key, value := range patch {
		field, ok := strings.CutPrefix(key, setElementOrder)
		if !ok {
			continue
		}
		order, ok := value.([]any)
		if !ok {
			return nil, malformed("%s is not a list", key)
		}
		sub, rule := fieldOf(schema, field)
		current, inDoc, err := listOf(doc, field)
		if err != nil {
			return nil, err
		}
		changes, inPatch, err := listOf(patch, field)
		if err != nil {
			return nil, err
		}
		if !inDoc && !inPatch {
			continue
		}
		if err := checkOrder(changes, order, rule.MergeKey); err != nil {
			return nil, err
		}
		merged, serverOrder := current, current
		switch {
		case !inDoc:
			cleaned, _ := withoutDirectives(changes)
			merged = cleaned.([]any)
		case inPatch && rule.Merge:
			merged, serverOrder, err = mergeForOrder(current, changes, sub, rule.MergeKey)
			if err != nil {
				return nil, err
			}
		case inPatch:
			merged = clone(changes).([]any)
		}
		if doc[field], err = arrange(merged, order, serverOrder, rule.MergeKey); err != nil {
			return nil, err
		}
		if done == nil {
			done = map[string]bool{}
		}
		done[field] = true
	}
	return done, nil
}

// mergeForOrder is mergeLists before arranging, and the order that counts as the
// server's. New elements take the places that deleted ones have left: a
// container that replaces another stays behind those in front of it.
func mergeForOrder(current, changes []any, schema Schema, mergeKey string) (merged, serverOrder []any, err error) {
	shape, err := shapeOf(current, changes)
	if err != nil || shape == shapeEmpty {
		return current, current, err
	}
	if shape == shapeScalars {
		return unique(slices.Concat(current, changes)), current, nil
	}
	places := len(current)
	m, err := mergeElements(current, changes, schema, mergeKey)
	if err != nil {
		return nil, nil, err
	}
	return m.list, m.list[:min(places, len(m.list))], nil
}

func listOf(m map[string]any, field string) (list []any, found bool, err error) {
	value, found := m[field]
	if !found {
		return nil, false, nil
	}
	list, ok := value.([]any)
	if !ok {
		return nil, false, notApplicable("%s%s: the field is not a list", setElementOrder, field)
	}
	return list, true, nil
}

// checkOrder rejects a patch list that is not in the order it specifies.
func checkOrder(changes, order []any, mergeKey string) error {
	if len(changes) == 0 || len(order) == 0 {
		return nil
	}
	next := 0
	for _, change := range changes {
		if m, ok := change.(map[string]any); ok {
			if m[directive] == directiveDelete {
				continue
			}
		}
		key, err := keyOf(change, mergeKey)
		if err != nil {
			return err
		}
		for {
			if next == len(order) {
				return malformed("the list is not in the order of %s", strings.TrimSuffix(setElementOrder, "/"))
			}
			other, err := keyOf(order[next], mergeKey)
			if err != nil {
				return err
			}
			next++
			if equal(key, other) {
				break
			}
		}
	}
	return nil
}

// keyOf is what identifies an element of a merging list: the value of the merge
// key, or the scalar itself.
func keyOf(element any, mergeKey string) (any, error) {
	m, ok := element.(map[string]any)
	if !ok {
		if mergeKey != "" || !isScalar(element) {
			return nil, notApplicable("list element is not an object with merge key %q", mergeKey)
		}
		return element, nil
	}
	if mergeKey == "" {
		return nil, notApplicable("a list of objects without a merge key cannot be merged")
	}
	key, ok := m[mergeKey]
	if !ok || !isScalar(key) {
		return nil, notApplicable("list element does not contain the merge key %q", mergeKey)
	}
	return key, nil
}

// mergeLists merges a list of the patch into a list of the document.
func mergeLists(current, changes []any, schema Schema, mergeKey string) ([]any, error) {
	shape, err := shapeOf(current, changes)
	if err != nil || shape == shapeEmpty {
		return current, err
	}
	if shape == shapeScalars {
		return arrange(unique(slices.Concat(current, changes)), changes, current, "")
	}
	m, err := mergeElements(current, changes, schema, mergeKey)
	if err != nil {
		return nil, err
	}
	return arrange(m.list, m.named, m.list[:m.kept], mergeKey)
}

// mergedElements is a list of maps merged but not yet in order: the elements of
// the document that are left, then the new ones.
type mergedElements struct {
	list  []any
	kept  int   // how many come from the document
	named []any // the elements of the patch, without directives
}

func mergeElements(current, changes []any, schema Schema, mergeKey string) (mergedElements, error) {
	var out mergedElements
	replace, deleted := false, map[any]bool{}
	for _, change := range changes {
		value, ok := change.(map[string]any)[directive]
		if !ok {
			out.named = append(out.named, change)
			continue
		}
		switch value {
		case directiveDelete:
			key, err := keyOf(change, mergeKey)
			if err != nil {
				return out, err
			}
			deleted[canonical(key)] = true
		case directiveReplace:
			replace = true
		default:
			return out, malformed("%s: unknown directive %v in a list", directive, value)
		}
	}
	switch {
	case replace:
		current = nil
	case len(deleted) > 0:
		current = slices.DeleteFunc(current, func(v any) bool {
			key, err := keyOf(v, mergeKey)
			return err == nil && deleted[canonical(key)]
		})
	}
	places := make(map[any]int, len(current))
	for i, element := range current {
		if key, err := keyOf(element, mergeKey); err == nil {
			if _, twice := places[canonical(key)]; !twice {
				places[canonical(key)] = i
			}
		}
	}
	out.list, out.kept = current, len(current)
	for _, change := range out.named {
		key, err := keyOf(change, mergeKey)
		if err != nil {
			return out, err
		}
		i, ok := places[canonical(key)]
		if !ok || replace {
			// It has no directive of its own, so it is kept.
			cleaned, _ := withoutDirectives(change)
			places[canonical(key)] = len(out.list)
			out.list = append(out.list, cleaned)
			continue
		}
		if out.list[i], err = applyMap(out.list[i].(map[string]any), change.(map[string]any), schema); err != nil {
			return out, err
		}
	}
	return out, nil
}

// arrange sorts a merged list. Elements named by order follow it; the others keep
// the order they had on the server; an element of the server's goes in front of a
// named one only if it was in front of it on the server.
func arrange(merged, order, serverOrder []any, mergeKey string) ([]any, error) {
	ranks, err := ranksOf(order, mergeKey)
	if err != nil {
		return nil, err
	}
	// Elements of the server without a merge key cannot be ordered or merged.
	serverRanks, err := ranksOf(serverOrder, mergeKey)
	if err != nil {
		return nil, err
	}
	type item struct {
		value        any
		rank, server int
	}
	var named, others []item
	for _, v := range merged {
		key, err := keyOf(v, mergeKey)
		if err != nil {
			return nil, err
		}
		it := item{value: v, rank: ranks.of(key), server: serverRanks.of(key)}
		if it.rank >= 0 {
			named = append(named, it)
		} else {
			others = append(others, it)
		}
	}
	slices.SortStableFunc(named, func(a, b item) int { return cmp.Compare(a.rank, b.rank) })
	slices.SortStableFunc(others, func(a, b item) int { return cmp.Compare(a.server, b.server) })
	out := make([]any, 0, len(merged))
	for len(named) > 0 && len(others) > 0 {
		if a, b := others[0], named[0]; a.server >= 0 && b.server >= 0 && a.server < b.server {
			out, others = append(out, a.value), others[1:]
		} else {
			out, named = append(out, b.value), named[1:]
		}
	}
	for _, rest := range [2][]item{named, others} {
		for _, it := range rest {
			out = append(out, it.value)
		}
	}
	return out, nil
}

// ranks are the places of keys in a list.
type ranks map[any]int

func ranksOf(list []any, mergeKey string) (ranks, error) {
	out := make(ranks, len(list))
	for i, element := range list {
		key, err := keyOf(element, mergeKey)
		if err != nil {
			return nil, err
		}
		if k := canonical(key); out.of(key) < 0 {
			out[k] = i
		}
	}
	return out, nil
}

func (r ranks) of(key any) int {
	if i, ok := r[canonical(key)]; ok {
		return i
	}
	return -1
}

// canonical is a scalar in a form in which equal ones are == and that can be a
// map key.
func canonical(scalar any) any {
	switch v := scalar.(type) {
	case string, bool, nil:
		return scalar
	case json.Number:
		if n, ok := number(v); ok {
			return n
		}
		return scalar
	}
	if n, ok := number(scalar); ok {
		return n
	}
	if !reflect.TypeOf(scalar).Comparable() {
		// Not JSON: no two are the same element.
		return new(any)
	}
	return scalar
}

// setOf are the scalars of a list.
func setOf(list []any) map[any]bool {
	out := make(map[any]bool, len(list))
	for _, v := range list {
		out[canonical(v)] = true
	}
	return out
}

package patch

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The directives of strategic merge patches.
const (
	directive        = "$patch"
	directiveDelete  = "delete"
	directiveReplace = "replace"
	directiveMerge   = "merge"

	retainKeys       = "$retainKeys"
	setElementOrder  = "$setElementOrder/"
	deletePrimitives = "$deleteFromPrimitiveList/"
)

// Strategic applies a strategic merge patch to an object of the Go type t, a
// struct or a pointer to one.
func Strategic(doc, patch []byte, t reflect.Type) ([]byte, error) {
	target, changes, err := decodeBoth(doc, patch)
	if err != nil {
		return nil, err
	}
	out, err := StrategicMap(target, changes, t)
	if err != nil {
		return nil, err
	}
	return encode(out)
}

// StrategicMap is Strategic on decoded objects. doc is consumed: the result is
// built from it, and after an error it must not be used. The patch is left alone
// and shares nothing with the result.
func StrategicMap(doc, patch map[string]any, t reflect.Type) (map[string]any, error) {
	schema, err := SchemaOf(t)
	if err != nil {
		return nil, err
	}
	return StrategicSchema(doc, patch, schema)
}

// StrategicSchema is StrategicMap with a schema from elsewhere.
func StrategicSchema(doc, patch map[string]any, schema Schema) (map[string]any, error) {
	return applyMap(doc, patch, schema)
}

func applyMap(doc, patch map[string]any, schema Schema) (map[string]any, error) {
	if value, ok := patch[directive]; ok {
		switch value {
		case directiveReplace:
			out := clone(patch).(map[string]any)
			delete(out, directive)
			return out, nil
		case directiveDelete:
			return map[string]any{}, nil
		case directiveMerge:
		default:
			return nil, malformed("%s: unknown directive %v", directive, value)
		}
	}
	if doc == nil {
		doc = map[string]any{}
	}
	if err := applyRetainKeys(doc, patch); err != nil {
		return nil, err
	}
	ordered, err := applyElementOrders(doc, patch, schema)
	if err != nil {
		return nil, err
	}
	for key, value := range patch {
		if isDirective(key) || ordered[key] {
			continue
		}
		if err := applyField(doc, key, value, schema); err != nil {
			return nil, err
		}
	}
	// Deletions last: what is both added and deleted is gone.
	for key, value := range patch {
		field, ok := strings.CutPrefix(key, deletePrimitives)
		if !ok {
			continue
		}
		if err := applyDeletions(doc, field, value); err != nil {
			return nil, err
		}
	}
	return doc, nil
}

func isDirective(key string) bool {
	return strings.HasPrefix(key, "$") && (key == directive || key == retainKeys ||
		strings.HasPrefix(key, setElementOrder) || strings.HasPrefix(key, deletePrimitives))
}

// applyField merges one field of the patch.
func applyField(doc map[string]any, key string, value any, schema Schema) error {
	if value == nil {
		delete(doc, key)
		return nil
	}
	sub, rule := fieldOf(schema, key)
	switch value := value.(type) {
	case map[string]any:
		if current, ok := doc[key].(map[string]any); ok {
			if rule.Replace {
				doc[key] = clone(value)
				return nil
			}
			merged, err := applyMap(current, value, sub)
			doc[key] = merged
			return err
		}
	case []any:
		if current, ok := doc[key].([]any); ok {
			if !rule.Merge {
				doc[key] = clone(value)
				return nil
			}
			merged, err := mergeLists(current, value, sub, rule.MergeKey)
			doc[key] = merged
			return err
		}
	}
	// New, or of another type: taken as it is, without nulls and directives.
	if cleaned, ok := withoutDirectives(value); ok {
		doc[key] = cleaned
	} else {
		delete(doc, key)
	}
	return nil
}

// withoutDirectives copies a value that has nothing to merge with. Maps with
// $patch are left out.
func withoutDirectives(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[directive]; ok {
			return nil, false
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			if value == nil || isDirective(key) {
				continue
			}
			if cleaned, ok := withoutDirectives(value); ok {
				out[key] = cleaned
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if cleaned, ok := withoutDirectives(value); ok {
				out = append(out, cleaned)
			}
		}
		return out, true
	}
	return v, true
}

func applyRetainKeys(doc, patch map[string]any) error {
	value, ok := patch[retainKeys]
	if !ok {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		return malformed("%s is not a list", retainKeys)
	}
	keep := make(map[string]bool, len(list))
	for _, key := range list {
		name, ok := key.(string)
		if !ok {
			return malformed("%s has an element that is no string", retainKeys)
		}
		keep[name] = true
	}
	for key, value := range patch {
		if value != nil && !isDirective(key) && !keep[key] {
			return malformed("%s does not have %q, which the patch sets", retainKeys, key)
		}
	}
	maps.DeleteFunc(doc, func(key string, _ any) bool { return !keep[key] })
	return nil
}

func applyDeletions(doc map[string]any, field string, value any) error {
	list, ok := value.([]any)
	if !ok {
		return malformed("%s%s is not a list", deletePrimitives, field)
	}
	if shape, err := shapeOf(list); err != nil || shape == shapeMaps {
		return malformed("%s%s has an element that is not a scalar", deletePrimitives, field)
	}
	current, ok := doc[field].([]any)
	if !ok {
		return nil
	}
	gone := setOf(list)
	doc[field] = slices.DeleteFunc(current, func(v any) bool { return isScalar(v) && gone[canonical(v)] })
	return nil
}

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

// checkOrder refuses a patch list that is not in the order it asks for.
func checkOrder(changes, order []any, mergeKey string) error {
	if len(changes) == 0 || len(order) == 0 {
		return nil
	}
	next := 0
	for _, change := range changes {
		if m, ok := change.(map[string]any); ok {
			if _, ok := m[directive]; ok {
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

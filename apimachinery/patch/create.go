package patch

import (
	"cmp"
	"reflect"
	"slices"
)

// CreateTwoWayStrategic returns the strategic merge patch that turns original into modified, both objects of
// the Go type t. An empty document counts as {}.
func CreateTwoWayStrategic(original, modified []byte, t reflect.Type) ([]byte, error) {
	schema, err := SchemaOf(t)
	if err != nil {
		return nil, err
	}
	docs, err := decodeDocuments(original, modified)
	if err != nil {
		return nil, err
	}
	changes, err := differ{order: true}.maps(docs[0], docs[1], schema, false)
	if err != nil {
		return nil, err
	}
	return encode(changes, usualPatch)
}

// CreateThreeWayStrategic returns the strategic merge patch that applies to current what changed from
// original, the configuration last applied, to modified, the one to apply now: fields of modified are set,
// fields that original has and modified has not are deleted, others are left alone. It is what "kubectl
// apply" sends. An empty document counts as {}.
func CreateThreeWayStrategic(original, modified, current []byte, t reflect.Type) ([]byte, error) {
	schema, err := SchemaOf(t)
	if err != nil {
		return nil, err
	}
	docs, err := decodeDocuments(original, modified, current)
	if err != nil {
		return nil, err
	}
	deletions, err := differ{order: true, noSets: true}.maps(docs[0], docs[1], schema, false)
	if err != nil {
		return nil, err
	}
	sets, err := differ{order: true, noDeletes: true}.maps(docs[2], docs[1], schema, false)
	if err != nil {
		return nil, err
	}
	out, err := combineMaps(deletions, sets, schema)
	if err != nil {
		return nil, err
	}
	return encode(out, usualPatch)
}

// CreateThreeWayMerge is CreateThreeWayStrategic as a JSON merge patch, for
// custom resources.
func CreateThreeWayMerge(original, modified, current []byte) ([]byte, error) {
	docs, err := decodeDocuments(original, modified, current)
	if err != nil {
		return nil, err
	}
	out := keepNulls(diffMerge(docs[0], docs[1]), true)
	sets := keepNulls(diffMerge(docs[2], docs[1]), false)
	return encode(overlay(out, sets), usualPatch)
}

// keepNulls keeps only the nulls of a merge patch, or all but them.
func keepNulls(patch map[string]any, nulls bool) map[string]any {
	out := map[string]any{}
	for key, value := range patch {
		if m, ok := value.(map[string]any); ok {
			if kept := keepNulls(m, nulls); len(kept) > 0 || !nulls {
				out[key] = kept
			}
		} else if (value == nil) == nulls {
			out[key] = value
		}
	}
	return out
}

func overlay(base, over map[string]any) map[string]any {
	for key, value := range over {
		a, okA := base[key].(map[string]any)
		b, okB := value.(map[string]any)
		if okA && okB {
			base[key] = overlay(a, b)
		} else {
			base[key] = value
		}
	}
	return base
}

func decodeDocuments(docs ...[]byte) ([]map[string]any, error) {
	out := make([]map[string]any, len(docs))
	for i, doc := range docs {
		if len(doc) == 0 {
			out[i] = map[string]any{}
			continue
		}
		m, err := decode(doc, ErrBadDocument)
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

// differ makes strategic merge patches, or one half of them.
type differ struct {
	order     bool // write $setElementOrder
	noSets    bool // only what is deleted
	noDeletes bool // only what is set
}

func (d differ) maps(from, to map[string]any, schema Schema, retain bool) (map[string]any, error) {
	out := map[string]any{}
	removed := false
	for key, before := range from {
		if _, ok := to[key]; ok {
			continue
		}
		removed = removed || before != nil
		if !d.noDeletes {
			out[key] = nil
		}
	}
	for key, after := range to {
		before, ok := from[key]
		if !ok {
			if !d.noSets {
				out[key] = after
			}
			continue
		}
		if err := d.field(out, key, before, after, schema); err != nil {
			return nil, err
		}
	}
	if retain && (len(out) > 0 || removed) {
		var keys []string
		for key, value := range to {
			if value != nil {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if len(keys) > 0 {
			out[retainKeys] = anys(keys)
		}
	}
	return out, nil
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func (d differ) field(out map[string]any, key string, before, after any, schema Schema) error {
	if equal(before, after) {
		return nil
	}
	sub, rule := fieldOf(schema, key)
	switch before := before.(type) {
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok || rule.Replace {
			break
		}
		changes, err := d.maps(before, after, sub, rule.RetainKeys)
		if err == nil && len(changes) > 0 {
			out[key] = changes
		}
		return err
	case []any:
		after, ok := after.([]any)
		if !ok || !rule.Merge {
			break
		}
		return d.lists(out, key, before, after, sub, rule)
	}
	if !d.noSets {
		out[key] = after
	}
	return nil
}

func (d differ) lists(out map[string]any, key string, before, after []any, schema Schema, rule FieldRule) error {
	if len(before) == 0 {
		if !d.noSets {
			out[key] = after
		}
		return nil
	}
	shape, err := shapeOf(before, after)
	if err != nil {
		return err
	}
	var changed bool
	var order []any
	if shape == shapeScalars {
		changed = d.scalars(out, key, before, after)
		order = after
	} else {
		if changed, order, err = d.elements(out, key, before, after, schema, rule); err != nil {
			return err
		}
	}
	if d.order && len(order) > 0 && (changed || !d.noSets) {
		out[setElementOrder+key] = order
	}
	return nil
}

func (d differ) scalars(out map[string]any, key string, before, after []any) (changed bool) {
	missing := func(list, from []any) []any {
		have := setOf(from)
		return unique(slices.DeleteFunc(slices.Clone(list), func(v any) bool { return have[canonical(v)] }))
	}
	added, deleted := missing(after, before), missing(before, after)
	if !d.noSets && len(added) > 0 {
		out[key], changed = added, true
	}
	if !d.noDeletes && len(deleted) > 0 {
		out[deletePrimitives+key], changed = deleted, true
	}
	return changed
}

// elements compares lists of maps by merge key. Of elements with the same key
// only the first counts: a patch cannot distinguish them.
func (d differ) elements(out map[string]any, key string, before, after []any, schema Schema, rule FieldRule) (changed bool, order []any, err error) {
	beforeRanks, err := ranksOf(before, rule.MergeKey)
	if err != nil {
		return false, nil, err
	}
	afterRanks, err := ranksOf(after, rule.MergeKey)
	if err != nil {
		return false, nil, err
	}
	var changes []any
	for i, v := range after {
		element := v.(map[string]any)
		id := element[rule.MergeKey]
		order = append(order, map[string]any{rule.MergeKey: id})
		if afterRanks.of(id) != i {
			continue
		}
		at := beforeRanks.of(id)
		if at < 0 {
			if !d.noSets {
				changes = append(changes, element)
			}
			continue
		}
		diff, err := d.maps(before[at].(map[string]any), element, schema, rule.RetainKeys)
		if err != nil {
			return false, nil, err
		}
		if len(diff) > 0 {
			diff[rule.MergeKey] = id
			changes = append(changes, diff)
		}
	}
	if !d.noDeletes {
		for i, v := range before {
			id := v.(map[string]any)[rule.MergeKey]
			if beforeRanks.of(id) == i && afterRanks.of(id) < 0 {
				changes = append(changes, map[string]any{rule.MergeKey: id, directive: directiveDelete})
			}
		}
	}
	if len(changes) > 0 {
		out[key] = changes
	}
	return len(changes) > 0, order, nil
}

// combineMaps joins the two halves of a three-way patch: what is deleted and what
// is set.
func combineMaps(deletions, sets map[string]any, schema Schema) (map[string]any, error) {
	for key, set := range sets {
		deleted, ok := deletions[key]
		if !ok || isDirective(key) {
			deletions[key] = set
			continue
		}
		sub, rule := fieldOf(schema, key)
		if a, ok := deleted.(map[string]any); ok {
			if b, ok := set.(map[string]any); ok && !rule.Replace {
				joined, err := combineMaps(a, b, sub)
				if err != nil {
					return nil, err
				}
				deletions[key] = joined
				continue
			}
		}
		if a, ok := deleted.([]any); ok {
			if b, ok := set.([]any); ok && rule.Merge {
				joined, err := combineElements(a, b, sub, rule.MergeKey)
				if err != nil {
					return nil, err
				}
				deletions[key] = joined
				continue
			}
		}
		deletions[key] = set
	}
	// Elements of both halves must be in the order that the half specifies.
	for key, value := range deletions {
		if order, ok := deletions[setElementOrder+key].([]any); ok {
			_, rule := fieldOf(schema, key)
			if list, ok := value.([]any); ok {
				if err := sortByOrder(list, order, rule.MergeKey); err != nil {
					return nil, err
				}
			}
		}
	}
	return deletions, nil
}

func combineElements(deletions, sets []any, schema Schema, mergeKey string) ([]any, error) {
	if shape, err := shapeOf(deletions, sets); err != nil || shape != shapeMaps {
		return unique(slices.Concat(deletions, sets)), err
	}
	places, err := ranksOf(deletions, mergeKey)
	if err != nil {
		return nil, err
	}
	for _, set := range sets {
		id, err := keyOf(set, mergeKey)
		if err != nil {
			return nil, err
		}
		i := places.of(id)
		if i < 0 {
			deletions = append(deletions, set)
			continue
		}
		if deletions[i], err = combineMaps(deletions[i].(map[string]any), set.(map[string]any), schema); err != nil {
			return nil, err
		}
	}
	return deletions, nil
}

// sortByOrder sorts the elements of a patch; deletions come last.
func sortByOrder(list, order []any, mergeKey string) error {
	ranks, err := ranksOf(order, mergeKey)
	if err != nil {
		return err
	}
	rank := func(v any) int {
		if m, ok := v.(map[string]any); ok {
			if _, deleted := m[directive]; deleted {
				return len(order)
			}
		}
		id, err := keyOf(v, mergeKey)
		if err != nil {
			return len(order)
		}
		return ranks.of(id)
	}
	slices.SortStableFunc(list, func(a, b any) int { return cmp.Compare(rank(a), rank(b)) })
	return nil
}

package managedfields

import (
	"bytes"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Apply merges an applied configuration, the JSON value of a partial object, into live. The manager then owns
// exactly the fields the configuration sets: others that it owned alone before are removed. Without force a
// field of another manager that would change is a *ConflictError and nothing is merged. A malformed
// configuration is a *PatchError.
//
// live is the object as stored; to create one, an empty object of its type, not nil. live is not changed.
// When the apply changes nothing, live itself is returned and changed is false. The result carries the new
// managed fields; the caller applies defaults and validates.
func (t *Type) Apply(live metav1.Object, config map[string]any, w Write, force bool) (merged metav1.Object, changed bool, err error) {
	if meta, ok := config["metadata"].(map[string]any); ok && meta["managedFields"] != nil {
		return nil, false, &PatchError{Path: Path{Field("metadata"), Field("managedFields")}, Reason: "must not be set when applying"}
	}
	entries, err := t.startApply(live, w)
	if err != nil {
		return nil, false, err
	}
	note, noted := w.noteFor(live, config)
	noted = noted && note != live.GetAnnotations()[LastAppliedAnnotation]
	config = prepare(config)
	set, _, err := t.fieldSet(config, false)
	if err != nil {
		return nil, false, err
	}
	set = set.Difference(untrackedSet).Without(w.Reset)
	by := w.owner(metav1.ManagedFieldsOperationApply)
	entries, former, gone, err := t.takeSet(entries, live, set, &w)
	if err != nil {
		return nil, false, err
	}
	before, after, found, err := t.mergeConfig(live, config, entries, gone, &w)
	if err != nil {
		return nil, false, err
	}
	made := &transition{w: &w, before: live, found: found, after: func() (metav1.Object, error) { return t.fromRoot(live, before, after) }}
	if err := t.takeOver(entries, made, force); err != nil {
		return nil, false, err
	}
	unowned := gone.Empty() && equalEntries(entries, former)
	if unowned && !noted && equalValues(before, after) {
		return live, false, nil
	}
	if merged, err = t.fromRoot(live, before, after); err != nil {
		return nil, false, err
	}
	meta := metav1.MetaOf(merged)
	// The values may be equal in another form, such as 0.5 and 500m.
	same := unowned && sameApart(merged, live, meta)
	if noted = noted && meta.Annotations[LastAppliedAnnotation] != ""; noted {
		meta.Annotations[LastAppliedAnnotation] = note
	}
	switch {
	case !same:
		find(entries, by).time = now()
	case !noted:
		return live, false, nil
	}
	meta.ManagedFields = encode(limitUpdaters(entries))
	return merged, true, nil
}

// mergeConfig merges config into live and prunes fields no longer applied. It returns the parts of the JSON
// forms of the object before and after that may differ, and the changes.
func (t *Type) mergeConfig(live metav1.Object, config map[string]any, entries []entry, gone *Set, w *Write) (before, after map[string]any, found *changes, err error) {
	before, err = t.part(live, config, gone)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, name := range []string{"apiVersion", "kind"} {
		if v, ok := config[name]; ok {
			before[name] = v // which typed objects need not carry
		}
	}
	after, _ = t.merge(before, config).(map[string]any)
	if !gone.Empty() {
		if after, err = t.prune(live, before, after, entries, gone, w); err != nil {
			return nil, nil, nil, err
		}
		if t.goType == nil {
			clean(after) // values that became empty are removed from a custom object, and from its owners
		}
	}
	c := &comparer{path: make(Path, 0, 16), goTyped: t.goType != nil}
	c.walk(t, before, any(after))
	c.without(w.Reset)
	if !gone.Empty() {
		clean(after)
	}
	return before, after, &c.changes, nil
}

// sameApart compares two objects, managed fields aside. meta is a's.
func sameApart(a, b metav1.Object, meta *metav1.ObjectMeta) bool {
	own := meta.ManagedFields
	meta.ManagedFields = metav1.MetaOf(b).ManagedFields
	defer func() { meta.ManagedFields = own }()
	return codec.Equal(a, b)
}

// takeSet gives the applier's entry the fields it applies now. former are the entries before, gone the fields
// that the applier applied the last time and no longer applies.
func (t *Type) takeSet(entries []entry, live metav1.Object, set *Set, w *Write) (now, former []entry, gone *Set, err error) {
	by := w.owner(metav1.ManagedFieldsOperationApply)
	e := find(entries, by)
	if e == nil {
		return append(slices.Clip(entries), entry{owner: by, version: w.APIVersion, set: set}), entries, nil, nil
	}
	if v := w.version(e); v != nil {
		last, err := v.translate(t, live, e.fields())
		if err != nil {
			return nil, nil, nil, err
		}
		gone = last.Difference(set)
	}
	former = slices.Clone(entries)
	e.version = w.APIVersion
	wire := set.AppendJSON(make([]byte, 0, len(e.raw)+64))
	if e.set == nil && bytes.Equal(e.raw, wire) {
		return entries, former, gone, nil
	}
	if gone == nil {
		gone = e.beyond(set)
	}
	e.set, e.raw = set, wire
	return entries, former, gone, nil
}

// prepare drops what a configuration cannot set.
func prepare(config map[string]any) map[string]any {
	meta, ok := config["metadata"].(map[string]any)
	if !ok || !slices.ContainsFunc(untracked, func(name string) bool { v, ok := meta[name]; return ok && v == nil }) {
		return config
	}
	out, kept := maps.Clone(config), maps.Clone(meta)
	for _, name := range untracked {
		if kept[name] == nil {
			delete(kept, name) // such as creationTimestamp: null, which tools write
		}
	}
	out["metadata"] = kept
	return out
}

// startApply reads the live object's entries. What an untracked object holds belongs to [BeforeFirstApply].
func (t *Type) startApply(live metav1.Object, w Write) ([]entry, error) {
	entries, _ := decode(metav1.MetaOf(live).ManagedFields, false)
	if len(entries) == 0 {
		first := Write{Manager: BeforeFirstApply, Subresource: w.Subresource, APIVersion: w.APIVersion}
		return t.first(live, first.owner(metav1.ManagedFieldsOperationUpdate), first)
	}
	return entries, nil
}

// settle gives the changes of an apply to the applier, or returns the conflicts.
func settle(entries []entry, made *transition, force bool) error {
	by := made.w.owner(metav1.ManagedFieldsOperationApply)
	conflicts := &ConflictError{}
	for i := range entries {
		e := &entries[i]
		if e.owner == by || force {
			continue
		}
		if taken := &made.of(e).taken; e.has(taken) {
			conflicts.add(e, e.fields().Intersection(taken))
		}
	}
	if len(conflicts.Conflicts) > 0 {
		conflicts.sort()
		return conflicts
	}
	for i := range entries {
		if e := &entries[i]; e.owner != by {
			found := made.of(e)
			e.lose(&found.taken)
			e.lose(&found.removed)
		}
	}
	return nil
}

// keptSet has the metadata without owner that no apply removes.
var keptSet = untrackedSet.Union(NewSet(FieldPath("metadata", "deletionTimestamp"), FieldPath("metadata", "deletionGracePeriodSeconds")))

// prune removes from merged what the applier owned before and no longer applies (gone), unless another
// manager owns it. A structure is removed when nothing in it is owned, an item or entry when it is not owned.
// Where part of it is owned in another version, all of it is kept.
func (t *Type) prune(live metav1.Object, before, merged map[string]any, entries []entry, gone *Set, w *Write) (map[string]any, error) {
	gone = t.withParents(gone).Difference(t.withParents(keptSet))
	for i := range entries {
		if gone.Empty() {
			return merged, nil
		}
		if w.version(&entries[i]) == nil {
			gone = gone.Difference(t.withParents(entries[i].along(gone)))
		}
	}
	out, _ := t.remove(merged, gone).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for i := range entries {
		v := w.version(&entries[i])
		if v == nil {
			continue
		}
		clean(out)
		whole, err := t.fromRoot(live, before, merged)
		if err != nil {
			return nil, err
		}
		pruned, err := t.fromRoot(live, before, out)
		if err != nil {
			return nil, err
		}
		if found, err := v.compare(whole, pruned); err != nil || entries[i].has(&found.removed) || entries[i].has(&found.taken) {
			return merged, err
		}
	}
	return out, nil
}

// equalEntries compares owners, versions and sets, times aside.
func equalEntries(a, b []entry) bool {
	count := func(entries []entry) (n int) {
		for i := range entries {
			if !entries[i].empty() {
				n++
			}
		}
		return n
	}
	if count(a) != count(b) {
		return false
	}
	for i := range a {
		if a[i].empty() {
			continue
		}
		e := find(b, a[i].owner)
		if e == nil || e.version != a[i].version {
			return false
		}
		if !e.equal(&a[i]) {
			return false
		}
	}
	return true
}

package managedfields

import (
	"encoding/json"
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// LastAppliedAnnotation holds the configuration that "kubectl apply" (on the client's side) applied last.
const LastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// kubectl is the manager of "kubectl apply --server-side". Only this manager takes over the fields in the
// annotation, and keeps the annotation up to date; to avoid that, name another manager.
const kubectl = "kubectl"

// takeOver is settle, except that kubectl wins the conflicts over fields which are still as it applied them
// on the client's side.
func (t *Type) takeOver(entries []entry, made *transition, force bool) error {
	err := settle(entries, made, force)
	conflicts, ok := err.(*ConflictError) //nolint:errorlint // settle does not wrap
	if !ok || made.w.Manager != kubectl {
		return err
	}
	mine := t.stillApplied(made.before, made.w.APIVersion)
	rest := &ConflictError{}
	for _, c := range conflicts.Conflicts {
		if !mine.Has(c.Path) {
			rest.Conflicts = append(rest.Conflicts, c)
		}
	}
	if len(rest.Conflicts) > 0 {
		return rest
	}
	return settle(entries, made, true)
}

// stillApplied returns the fields that the annotation sets and that live has with the same values; nil if it
// has none of this version.
func (t *Type) stillApplied(live metav1.Object, version string) *Set {
	text := live.GetAnnotations()[LastAppliedAnnotation]
	var applied map[string]any
	if text == "" || codec.Unmarshal([]byte(text), &applied) != nil || applied["apiVersion"] != version {
		return nil
	}
	set, _, err := t.fieldSet(applied, false)
	if err != nil {
		return nil
	}
	now, err := root(live)
	if err != nil {
		return nil
	}
	c := &comparer{path: make(Path, 0, 16), goTyped: t.goType != nil}
	c.walk(t, applied, now)
	return set.Difference(&c.taken).Difference(&c.removed)
}

// noteFor returns the annotation of live after config was applied. ok is false if the manager
// is not kubectl or there is no annotation.
func (w *Write) noteFor(live metav1.Object, config map[string]any) (note string, ok bool) {
	if w.Manager != kubectl || live.GetAnnotations()[LastAppliedAnnotation] == "" {
		return "", false
	}
	if meta, _ := config["metadata"].(map[string]any); meta != nil {
		if notes, _ := meta["annotations"].(map[string]any); notes != nil {
			notes, meta, config = maps.Clone(notes), maps.Clone(meta), maps.Clone(config)
			delete(notes, LastAppliedAnnotation)
			meta["annotations"], config["metadata"] = notes, meta
		}
	}
	text, err := json.Marshal(config)
	return string(text) + "\n", err == nil
}

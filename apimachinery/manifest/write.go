package manifest

import (
	"fmt"
	"io"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Write writes objects as YAML documents, each after a line of "---". What a manifest does not have is left
// out: a creation time that is null, and a status that says nothing. Objects must carry their kind.
func Write(w io.Writer, objs ...metav1.Object) error {
	for _, obj := range objs {
		tree, err := ToMap(obj)
		if err != nil {
			return err
		}
		if tree["kind"] == nil || tree["apiVersion"] == nil {
			return fmt.Errorf("manifest: %T %s has no apiVersion or no kind", obj, metav1.KeyOf(obj))
		}
		if meta, ok := tree["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
			delete(meta, "creationTimestamp")
		}
		if saysNothing(tree["status"]) {
			delete(tree, "status")
		}
		raw, err := codec.Marshal(tree)
		if err != nil {
			return err
		}
		text, err := codec.JSONToYAML(raw)
		if err != nil {
			return err
		}
		if _, err := w.Write(append([]byte("---\n"), text...)); err != nil {
			return err
		}
	}
	return nil
}

// saysNothing reports whether a value holds nulls, zeros and empty values only.
func saysNothing(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if !saysNothing(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return v == nil || v == "" || v == int64(0) || v == float64(0) || v == false
}

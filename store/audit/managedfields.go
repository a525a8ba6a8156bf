package audit

import (
	"bytes"
	"encoding/json"
)

// fields are the fields of a JSON object.
type fields = map[string]json.RawMessage

// withoutManagedFields returns an object, list or table without the managedFields of its objects. What is
// none of these is returned as it is.
func withoutManagedFields(object []byte) []byte {
	if !bytes.Contains(object, []byte(`"managedFields"`)) {
		return object
	}
	var top fields
	if json.Unmarshal(object, &top) != nil {
		return object
	}
	strip(top)
	each(top, "items", func(item fields) bool { return strip(item) })
	each(top, "rows", func(row fields) bool {
		var shown fields
		if json.Unmarshal(row["object"], &shown) != nil || !strip(shown) {
			return false
		}
		return set(row, "object", shown)
	})
	out, err := json.Marshal(top)
	if err != nil {
		return object
	}
	return out
}

// strip deletes the managed fields of an object, and reports whether it had any.
func strip(object fields) bool {
	var meta fields
	if json.Unmarshal(object["metadata"], &meta) != nil {
		return false
	}
	if _, has := meta["managedFields"]; !has {
		return false
	}
	delete(meta, "managedFields")
	return set(object, "metadata", meta)
}

// each calls f for the elements of a list of objects, and stores the list again if f changed one.
func each(top fields, name string, f func(fields) bool) {
	var list []json.RawMessage
	if json.Unmarshal(top[name], &list) != nil {
		return
	}
	changed := false
	for i := range list {
		var element fields
		if json.Unmarshal(list[i], &element) != nil || !f(element) {
			continue
		}
		if b, err := json.Marshal(element); err == nil {
			list[i], changed = b, true
		}
	}
	if changed {
		set(top, name, list)
	}
}

func set(object fields, name string, v any) bool {
	b, err := json.Marshal(v)
	if err == nil {
		object[name] = b
	}
	return err == nil
}

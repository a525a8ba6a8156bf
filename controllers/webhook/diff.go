package webhook

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// operation is one step of a JSON patch.
type operation struct {
	Op    string // add, remove or replace
	Path  string
	Value any // of add and replace
}

// patchFor returns the JSON patch that applies the changes from before to after to raw, or nil if there are
// none. before is raw decoded into a Go type and encoded again: without fields that the type does not have,
// and with zero values that raw may lack.
func patchFor(raw, before, after []byte) ([]byte, error) {
	// Most requests are of objects that already have their defaults.
	if bytes.Equal(before, after) {
		return nil, nil
	}
	var r, b, a any
	for _, d := range []struct {
		data []byte
		into *any
	}{{raw, &r}, {before, &b}, {after, &a}} {
		if err := codec.Unmarshal(d.data, d.into); err != nil {
			return nil, err
		}
	}
	steps := diff(nil, "", r, merge(r, b, a))
	if len(steps) == 0 {
		return nil, nil
	}
	out := []byte{'['}
	for i, s := range steps {
		if i > 0 {
			out = append(out, ',')
		}
		step := map[string]any{"op": s.Op, "path": s.Path}
		if s.Op != "remove" {
			step["value"] = s.Value
		}
		var err error
		if out, err = codec.AppendJSON(out, step); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}

// merge returns raw with the changes from before to after. Lists of unchanged length are merged by position.
// Other lists are replaced, but elements that did not change keep the fields that are only in raw.
func merge(raw, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return raw
	}
	switch after := after.(type) {
	case map[string]any:
		r, rok := raw.(map[string]any)
		b, bok := before.(map[string]any)
		if !rok || !bok {
			return after
		}
		out := make(map[string]any, len(r))
		for k, v := range r {
			if _, known := b[k]; !known {
				out[k] = v
			} else if _, stays := after[k]; stays {
				out[k] = merge(v, b[k], after[k])
			}
		}
		for k, v := range after {
			_, had := r[k]
			was, known := b[k]
			// An unchanged zero value that only the type encodes is left out.
			if !known || !had && !reflect.DeepEqual(was, v) {
				out[k] = v
			}
		}
		return out
	case []any:
		r, rok := raw.([]any)
		b, bok := before.([]any)
		if !rok || !bok || len(r) != len(b) {
			return after
		}
		out := slices.Clone(after)
		for i, v := range after {
			if len(after) == len(b) {
				out[i] = merge(r[i], b[i], v)
			} else if j := slices.IndexFunc(b, func(old any) bool { return reflect.DeepEqual(old, v) }); j >= 0 {
				out[i] = r[j]
			}
		}
		return out
	}
	return after
}

// diff appends the operations that turn from into to.
func diff(steps []operation, path string, from, to any) []operation {
	if reflect.DeepEqual(from, to) {
		return steps
	}
	f, fok := from.(map[string]any)
	t, tok := to.(map[string]any)
	if fok && tok {
		for _, k := range sortedKeys(f, t) {
			below := path + "/" + escape.Replace(k)
			had, inFrom := f[k]
			has, inTo := t[k]
			switch {
			case !inTo:
				steps = append(steps, operation{Op: "remove", Path: below})
			case !inFrom:
				steps = append(steps, operation{Op: "add", Path: below, Value: has})
			default:
				steps = diff(steps, below, had, has)
			}
		}
		return steps
	}
	fl, fok := from.([]any)
	tl, tok := to.([]any)
	if fok && tok && len(fl) == len(tl) {
		for i := range fl {
			steps = diff(steps, path+"/"+strconv.Itoa(i), fl[i], tl[i])
		}
		return steps
	}
	return append(steps, operation{Op: "replace", Path: path, Value: to})
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// sortedKeys returns the sorted union of the keys of a and b.
func sortedKeys(a, b map[string]any) []string {
	keys := make([]string, 0, len(a)+len(b))
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

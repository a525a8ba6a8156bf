package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// foreign is the part of another server's documents that is about one version.
type foreign struct {
	source []byte         // the document as it came
	v2     map[string]any // paths and definitions of the version; nil without a document
	v3     string         // address of the v3 document; empty if there is none
}

// SetForeign adds a version that another server serves, or replaces it: the paths below /apis/GROUP/VERSION/
// of its v2 document, which is JSON or empty, with the definitions they refer to, and the address of its v3
// document, which is empty if it has none. Definitions that differ from those of the same name here get
// another name. If the document cannot be read the version is without one.
func (d *Documents) SetForeign(gv schema.GroupVersion, v2 []byte, v3 string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	old, ok := d.foreign[gv]
	if ok && old.v3 == v3 && bytes.Equal(old.source, v2) {
		return nil
	}
	f := foreign{source: v2, v3: v3}
	var err error
	if len(v2) > 0 {
		f.v2, err = readForeign(gv, v2)
	}
	d.foreign[gv] = f
	d.v2JSON, d.v2Proto, d.v3Listed = nil, nil, nil
	return err
}

// RemoveForeign removes a version added by SetForeign.
func (d *Documents) RemoveForeign(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.foreign, gv)
	d.v2JSON, d.v2Proto, d.v3Listed = nil, nil, nil
}

// readForeign returns the part of a v2 document that is about a version.
func readForeign(gv schema.GroupVersion, data []byte) (map[string]any, error) {
	var doc struct {
		Swagger     string         `json:"swagger"`
		Paths       map[string]any `json:"paths"`
		Definitions map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if doc.Swagger != "2.0" {
		return nil, errors.New("openapi: the document is not of version 2.0")
	}
	paths, definitions := map[string]any{}, map[string]any{}
	base := "/" + root(gv)
	for path, item := range doc.Paths {
		if _, ok := item.(map[string]any); ok && (path == base || strings.HasPrefix(path, base+"/")) {
			paths[path] = normalized(item)
		}
	}
	for wanted := references(paths, nil); len(wanted) > 0; {
		var next []string
		for _, name := range wanted {
			definition, ok := doc.Definitions[name].(map[string]any)
			if _, have := definitions[name]; ok && !have {
				definitions[name] = normalized(definition)
				next = references(definitions[name], next)
			}
		}
		wanted = next
	}
	return map[string]any{"paths": paths, "definitions": definitions}, nil
}

// integers are the members of a schema that the protobuf form has as integers; other numbers are floats.
var integers = []string{"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"}

// normalized returns a value whose integers are int64, as in trees made here.
func normalized(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = normalized(value)
			if f, ok := value.(float64); ok && slices.Contains(integers, k) {
				out[k] = int64(f)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normalized(v[i])
		}
		return out
	}
	return v
}

// references appends the names of the definitions to which a tree refers.
func references(v any, to []string) []string {
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if text, ok := value.(string); ok && k == "$ref" {
				to = append(to, strings.TrimPrefix(text, refV2))
				continue
			}
			to = references(value, to)
		}
	case []any:
		for _, value := range v {
			to = references(value, to)
		}
	}
	return to
}

// merge adds paths and definitions of another server to a v2 tree. What the tree has stays.
func merge(tree, other map[string]any) {
	paths, _ := tree["paths"].(map[string]any)
	definitions, _ := tree["definitions"].(map[string]any)
	if other == nil || paths == nil || definitions == nil {
		return
	}
	more, _ := other["definitions"].(map[string]any)
	names := renamed(definitions, more)
	for name, definition := range more {
		if _, differs := names[name]; differs || definitions[name] == nil {
			to := name
			if differs {
				to = names[name]
			}
			definitions[to] = withNames(definition, names)
		}
	}
	morePaths, _ := other["paths"].(map[string]any)
	for path, item := range morePaths {
		if paths[path] == nil {
			paths[path] = withNames(item, names)
		}
	}
}

// renamed returns new names for the definitions of more that differ from those of have, also by what they
// refer to.
func renamed(have, more map[string]any) map[string]string {
	names := map[string]string{}
	for again := true; again; {
		again = false
		for _, name := range slices.Sorted(maps.Keys(more)) {
			if names[name] != "" || have[name] == nil {
				continue
			}
			differs := slices.ContainsFunc(references(more[name], nil), func(to string) bool { return names[to] != "" })
			if differs || !equalTrees(have[name], more[name]) {
				names[name], again = unusedName(name, have, more), true
			}
		}
	}
	return names
}

// unusedName returns a name that neither has, as upstream makes it: with a number at the end.
func unusedName(name string, have, more map[string]any) string {
	for i := 2; ; i++ {
		if to := fmt.Sprintf("%s_v%d", name, i); have[to] == nil && more[to] == nil {
			return to
		}
	}
}

// equalTrees compares trees as JSON, whose values may be of several Go types.
func equalTrees(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && bytes.Equal(x, y)
}

// withNames returns a copy of a tree that refers to renamed definitions.
func withNames(v any, names map[string]string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = withNames(value, names)
			if text, ok := value.(string); ok && k == "$ref" {
				if to := names[strings.TrimPrefix(text, refV2)]; to != "" {
					out[k] = refV2 + to
				}
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withNames(v[i], names)
		}
		return out
	}
	return v
}

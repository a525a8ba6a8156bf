// Package diff compares two objects and prints the result to be read: one line for each field that differs,
// with its path, instead of two documents beside each other.
//
//	changes, err := diff.Objects(before, after, diff.Options{})
//	fmt.Print(diff.Text(changes))
//
//	- spec.replicas: 2
//	+ spec.replicas: 3
//	- spec.template.spec.containers[name=web].image: nginx:1
//	+ spec.template.spec.containers[name=web].image: nginx:2
//
// Items of a list are matched by the keys that server-side apply matches them by, so an item that was
// inserted is not a change of those behind it, and another order of the same items is one change. The data of
// Secrets is masked: that a value differs is printed, and not the value.
package diff

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Options configure a comparison. The zero value is usable.
type Options struct {
	// Scheme has the Go types of the kinds, whose tags name the keys of lists. It is needed for objects
	// without a Go type of their own, such as Unstructured; without it, and for kinds it does not have, the
	// items of a list are matched by the first of name, key, type, id, uid, ip and host that all of them have
	// and that identifies them.
	Scheme *scheme.Scheme
	// All includes what the server sets with every write: managedFields, resourceVersion, generation, uid and
	// creationTimestamp.
	All bool
	// ShowSecrets does not mask the data of Secrets.
	ShowSecrets bool
}

// Change is a field that differs.
type Change struct {
	// Path of the field, such as spec.ports[port=80,protocol=TCP].name or metadata.labels[example.com/team].
	// Where items that both lists have are in another order, it is that of the list followed by " order".
	Path string
	// Old and New are its values as in JSON: nil, bool, int64, float64, string, []any or map[string]any. A
	// field that is missing is nil. Of an order they are the keys of the items.
	Old, New any
}

// Objects returns the fields that differ, in the order of their names and of the items of lists. One of the
// objects may be nil: then the fields at the top of the other are the changes. The objects are only read.
func Objects(before, after metav1.Object, opts Options) ([]Change, error) {
	old, err := treeOf(before)
	if err != nil {
		return nil, err
	}
	now, err := treeOf(after)
	if err != nil {
		return nil, err
	}
	if old == nil && now == nil {
		return nil, errors.New("diff: both objects are nil")
	}
	one := before
	if now != nil {
		one = after
	}
	c := &comparison{}
	gvk := manifest.KindOf(opts.Scheme, one)
	if gvk.Kind == "" {
		gvk = schema.FromAPIVersionAndKind("", reflect.TypeOf(one).Elem().Name())
	}
	if gvk.Kind == "Secret" && gvk.Group == "" && !opts.ShowSecrets {
		mask(old, now)
	}
	for _, tree := range []map[string]any{old, now} {
		if !opts.All {
			withoutServerFields(tree)
		}
		if tree != nil && old != nil && now != nil && (old["kind"] == nil || now["kind"] == nil) {
			delete(tree, "kind")
			delete(tree, "apiVersion")
		}
	}
	c.maps("", typeOf(one, gvk, opts.Scheme), old, now)
	return c.changes, nil
}

// treeOf returns an object as a tree of its own; nil for none.
func treeOf(obj metav1.Object) (map[string]any, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, nil
	}
	return manifest.ToMap(obj)
}

// typeOf returns the Go struct type of a kind, or nil if it is not known.
func typeOf(obj metav1.Object, gvk schema.GroupVersionKind, s *scheme.Scheme) reflect.Type {
	switch obj.(type) {
	case *metav1.Unstructured, *metav1.PartialObjectMetadata:
	default:
		return structOf(reflect.TypeOf(obj))
	}
	if s == nil {
		return nil
	}
	info := s.ForKind(gvk)
	if info == nil {
		return nil
	}
	return structOf(reflect.TypeOf(info.New()))
}

func withoutServerFields(tree map[string]any) {
	meta, _ := tree["metadata"].(map[string]any)
	for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
		delete(meta, field)
	}
}

// comparison collects changes.
type comparison struct{ changes []Change }

func (c *comparison) add(path string, old, now any) {
	c.changes = append(c.changes, Change{path, old, now})
}

// values compares two values of a field; keys are those of its list.
func (c *comparison) values(path string, t reflect.Type, keys []string, old, now any) {
	switch old := old.(type) {
	case map[string]any:
		if now, ok := now.(map[string]any); ok {
			c.maps(path, t, old, now)
			return
		}
	case []any:
		if now, ok := now.([]any); ok {
			c.lists(path, t, keys, old, now)
			return
		}
	}
	if !reflect.DeepEqual(old, now) {
		c.add(path, old, now)
	}
}

func (c *comparison) maps(path string, t reflect.Type, old, now map[string]any) {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, now)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		f := fieldOf(t, key)
		c.values(join(path, key), f.typ, f.keys, old[key], now[key])
	}
}

// join appends a key to a path, in brackets if it could be taken for several.
func join(path, key string) string {
	switch {
	case key == "" || strings.ContainsAny(key, ".[]=, "):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func (c *comparison) lists(path string, t reflect.Type, keys []string, old, now []any) {
	var item reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		item = structOf(t.Elem())
	}
	was, is, ok := byKeys(keys, old, now)
	if !ok {
		c.sequences(path, item, old, now)
		return
	}
	before, after := byLabel(was), byLabel(is)
	for _, e := range is {
		if value, had := before[e.label]; had {
			c.values(path+e.label, item, nil, value, e.value)
		} else {
			c.add(path+e.label, nil, e.value)
		}
	}
	for _, e := range was {
		if _, has := after[e.label]; !has {
			c.add(path+e.label, e.value, nil)
		}
	}
	oldOrder, newOrder := order(was, after), order(is, before)
	if !reflect.DeepEqual(oldOrder, newOrder) {
		c.add(path+" order", oldOrder, newOrder)
	}
}

// sequences compares lists without keys: what they begin and end with in common is no change. Of the rest,
// items at the same place are compared if there are as many.
func (c *comparison) sequences(path string, item reflect.Type, old, now []any) {
	head := 0
	for head < min(len(old), len(now)) && reflect.DeepEqual(old[head], now[head]) {
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && reflect.DeepEqual(old[len(old)-1-tail], now[len(now)-1-tail]) {
		tail++
	}
	oldRest, nowRest := old[head:len(old)-tail], now[head:len(now)-tail]
	at := func(i int) string { return path + "[" + strconv.Itoa(head+i) + "]" }
	if len(oldRest) == len(nowRest) {
		for i := range oldRest {
			c.values(at(i), item, nil, oldRest[i], nowRest[i])
		}
		return
	}
	for i, v := range oldRest {
		c.add(at(i), v, nil)
	}
	for i, v := range nowRest {
		c.add(at(i), nil, v)
	}
}

// keyed is an item of a list and its key, as it is in paths.
type keyed struct {
	label string
	value any
}

func byLabel(list []keyed) map[string]any {
	out := make(map[string]any, len(list))
	for _, k := range list {
		out[k.label] = k.value
	}
	return out
}

// order returns the labels, without brackets, of those items that other has too.
func order(list []keyed, other map[string]any) []any {
	out := []any{}
	for _, k := range list {
		if _, both := other[k.label]; both {
			out = append(out, k.label[1:len(k.label)-1])
		}
	}
	return out
}

// guesses are the fields that identify the items of a list whose keys are not known.
var guesses = []string{"name", "key", "type", "id", "uid", "ip", "host"}

// byKeys labels the items of two lists by their keys. ok is false if they have none.
func byKeys(keys []string, old, now []any) (was, is []keyed, ok bool) {
	try := func(keys []string) bool {
		was, ok = labelAll(keys, old)
		if ok {
			is, ok = labelAll(keys, now)
		}
		return ok
	}
	if len(keys) > 0 {
		return was, is, try(keys)
	}
	for _, guess := range guesses {
		if try([]string{guess}) {
			return was, is, true
		}
	}
	return nil, nil, false
}

// labelAll labels items. Each must be an object that has one of the keys, and no two the same.
func labelAll(keys []string, items []any) ([]keyed, bool) {
	out := make([]keyed, 0, len(items))
	seen := map[string]bool{}
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		var parts []string
		for _, key := range keys {
			switch v := fields[key].(type) {
			case nil, map[string]any, []any:
			default:
				parts = append(parts, key+"="+scalar(v))
			}
		}
		label := "[" + strings.Join(parts, ",") + "]"
		if len(parts) == 0 || seen[label] {
			return nil, false
		}
		seen[label] = true
		out = append(out, keyed{label, item})
	}
	return out, true
}

// field is what a Go type says about a field.
type field struct {
	typ  reflect.Type
	keys []string
}

// fieldOf returns the field of a struct type by its name in JSON, or the values of a map type.
func fieldOf(t reflect.Type, name string) field {
	if t == nil {
		return field{}
	}
	if t.Kind() == reflect.Map {
		return field{typ: structOf(t.Elem())}
	}
	if t.Kind() != reflect.Struct {
		return field{}
	}
	for f := range fieldsOf(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if cmp.Or(tag, f.Name) == name && (tag != "" || !f.Anonymous) {
			var keys []string
			if list := f.Tag.Get("listMapKey"); list != "" {
				keys = strings.Split(list, ",")
			}
			return field{typ: structOf(f.Type), keys: keys}
		}
		if tag == "" && f.Anonymous {
			if in := fieldOf(structOf(f.Type), name); in.typ != nil {
				return in
			}
		}
	}
	return field{}
}

func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// structOf removes pointers.
func structOf(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

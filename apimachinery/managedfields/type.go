package managedfields

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/internal/typefacts"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Type defines how values are owned: as a whole, by field, by map key or by list item.
type Type struct {
	shape  shape
	fields []field // of a structure, in the order of the Go type or sorted by name
	byName map[string]int
	elem   *Type    // of a map's values, a list's items, and a structure's other members
	keys   []string // that identify list items, sorted; empty for a set of scalars
	order  []int    // of a structure compiled from Go: its fields by name
	// goType is the struct type of a structure compiled from Go; nil for one built from a schema.
	goType reflect.Type
}

type shape uint8

const (
	leaf      shape = iota // owned as a whole
	structure              // owned by field; fields are not owned themselves
	dictionary
	keyedList
	setList
	deduced // maps by field, everything else as a whole
)

type field struct {
	name string
	typ  *Type
	// zero is the value that stands for a missing one when it is a list key.
	zero any
	// The rest is of structures compiled from Go.
	goType              reflect.Type
	offset              uintptr
	omitEmpty, omitZero bool
	descend             descend
	access              access
	// exact is set for a field that is owned as a whole and whose equal values have equal JSON texts.
	exact bool
}

// descend is how the typed comparison enters a field.
type descend uint8

const (
	asValue descend = iota
	inStruct
	throughPointer
)

var (
	// Atomic is the type of values owned as a whole.
	Atomic = &Type{shape: leaf}
	// Deduced is the type of values without a schema: maps by field, lists and scalars as a whole.
	Deduced = &Type{shape: deduced}
)

// MapOf is the type of maps owned by key, with values of type elem.
func MapOf(elem *Type) *Type { return &Type{shape: dictionary, elem: elem} }

// SetOf is the type of lists of distinct scalars, owned by value.
func SetOf() *Type { return &Type{shape: setList, elem: Atomic} }

// ListOf is the type of lists whose items are identified by the named fields, scalars. A key that an item
// lacks has the [Member.Default] of its field.
func ListOf(item *Type, keys []string) *Type {
	return &Type{shape: keyedList, elem: item, keys: slices.Sorted(slices.Values(keys))}
}

// Member is a field of a structure made by [StructOf].
type Member struct {
	Name string
	Type *Type
	// Default stands for the field when it is missing and is a list key; nil for none.
	Default any
}

// StructOf is the type of objects owned by field. rest is the type of members that are not named; nil means
// [Deduced].
func StructOf(members []Member, rest *Type) *Type {
	t := &Type{shape: structure, elem: rest, byName: make(map[string]int, len(members))}
	for _, m := range members {
		t.byName[m.Name] = len(t.fields)
		t.fields = append(t.fields, field{name: m.Name, typ: m.Type, zero: m.Default})
	}
	return t
}

// ObjectOf is the type of custom objects (*metav1.Unstructured) whose top-level members beside apiVersion,
// kind and metadata are given; rest is the type of further members, nil means [Deduced].
func ObjectOf(members []Member, rest *Type) (*Type, error) {
	meta, err := ForType(reflect.TypeFor[metav1.ObjectMeta]())
	if err != nil {
		return nil, err
	}
	all := []Member{{Name: "apiVersion", Type: Atomic}, {Name: "kind", Type: Atomic}, {Name: "metadata", Type: meta}}
	for _, m := range members {
		if m.Name != "apiVersion" && m.Name != "kind" && m.Name != "metadata" {
			all = append(all, m)
		}
	}
	return StructOf(all, rest), nil
}

// field returns the named member of a structure.
func (t *Type) field(name string) (*field, bool) {
	i, ok := t.byName[name]
	if !ok {
		return nil, false
	}
	return &t.fields[i], true
}

// child is the type of a member of a structure or map.
func (t *Type) child(name string) *Type {
	if f, ok := t.field(name); ok {
		return f.typ
	}
	if t.elem != nil {
		return t.elem
	}
	return Deduced
}

var types struct {
	sync.Mutex
	byType map[reflect.Type]*Type
}

// ForType compiles the type of a Go struct from its tags, or returns the one compiled before. Pointers are
// followed.
func ForType(t reflect.Type) (*Type, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	types.Lock()
	defer types.Unlock()
	if known := types.byType[t]; known != nil {
		return known, nil
	}
	plan, err := codec.PlanOf(t)
	if err != nil {
		return nil, err
	}
	c := compiler{made: map[reflect.Type]*Type{}, known: types.byType}
	made := c.structure(plan)
	if types.byType == nil {
		types.byType = map[reflect.Type]*Type{}
	}
	for k, v := range c.made {
		types.byType[k] = v
	}
	return made, nil
}

type compiler struct {
	made, known map[reflect.Type]*Type
}

// structure compiles a struct with its fields, whether or not it is atomic as part of others.
func (c *compiler) structure(p *codec.Plan) *Type {
	if t := c.known[p.Type]; t != nil {
		return t
	}
	if t := c.made[p.Type]; t != nil {
		return t
	}
	t := &Type{shape: structure, goType: p.Type, byName: map[string]int{}}
	c.made[p.Type] = t // before the fields, which may lead back here
	for _, f := range p.Fields() {
		plan := f.Plan()
		out := field{
			name: f.Name, typ: c.fieldType(plan, &f), zero: zeroKey(plan, &f),
			goType: f.Type, offset: uintptr(f.Offset), omitEmpty: f.OmitEmpty, omitZero: f.OmitZero,
		}
		if f.Offset < 0 {
			t.goType = nil // members behind an embedded pointer have no fixed place: compare the JSON form
		}
		if out.typ.shape == structure && out.typ.goType != nil {
			switch {
			case f.Type.Kind() == reflect.Struct && !f.OmitZero:
				out.descend = inStruct
			case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
				out.descend = throughPointer
			}
		}
		out.access = accessOf(plan, f.Type, out.typ)
		out.exact = out.typ.shape == leaf && exact(plan, map[*codec.Plan]bool{})
		t.byName[f.Name] = len(t.fields)
		t.order = append(t.order, len(t.fields))
		t.fields = append(t.fields, out)
	}
	slices.SortFunc(t.order, func(a, b int) int { return strings.Compare(t.fields[a].name, t.fields[b].name) })
	return t
}

// zeroKey is the value used for a missing list key: the tag's default, or the zero of a field that is always
// written.
func zeroKey(p *codec.Plan, f *codec.Field) any {
	if text, ok := f.Tag.Lookup("default"); ok {
		if p.Kind != codec.String {
			var v any
			if json.Unmarshal([]byte(text), &v) == nil {
				if n, ok := v.(float64); ok && p.Kind == codec.Integer {
					return int64(n)
				}
				return v
			}
		}
		return text
	}
	if f.OmitEmpty || f.Pointer {
		return nil
	}
	switch p.Kind {
	case codec.String:
		return ""
	case codec.Integer:
		return int64(0)
	case codec.Boolean:
		return false
	}
	return nil
}

// fieldType is the type of a field by its Go type and tags.
func (c *compiler) fieldType(p *codec.Plan, f *codec.Field) *Type {
	switch p.Kind {
	case codec.Struct:
		atomic := typefacts.AtomicStruct(typefacts.Name(p.Type))
		if f.MapType == "atomic" || atomic && f.MapType != "granular" {
			return Atomic
		}
		return c.structure(p)
	case codec.Map:
		if f.MapType == "atomic" {
			return Atomic
		}
		return MapOf(c.elemType(p.Elem()))
	case codec.List:
		return c.listType(p, f)
	}
	return Atomic
}

func (c *compiler) listType(p *codec.Plan, f *codec.Field) *Type {
	item := p.Elem()
	keys := f.ListMapKeys
	kind := f.ListType
	if kind == "" && strings.Contains(f.PatchStrategy, "merge") {
		// Types without a list type fall back on how they are patched.
		if kind = "set"; f.PatchMergeKey != "" {
			kind, keys = "map", []string{f.PatchMergeKey}
		}
	}
	switch {
	case kind == "map" && len(keys) > 0 && item.Kind == codec.Struct:
		if typefacts.AtomicStruct(typefacts.Name(item.Type)) {
			// The items are identified by keys, but each is owned as a whole.
			return ListOf(&Type{shape: leaf, fields: c.structure(item).fields, byName: c.structure(item).byName}, keys)
		}
		return ListOf(c.structure(item), keys)
	case kind == "set":
		return SetOf()
	}
	return Atomic
}

// elemType is the type of a map's value or a list's item, which has no tags of its own.
func (c *compiler) elemType(p *codec.Plan) *Type {
	switch p.Kind {
	case codec.Struct:
		if typefacts.AtomicStruct(typefacts.Name(p.Type)) {
			return Atomic
		}
		return c.structure(p)
	case codec.Map:
		return MapOf(c.elemType(p.Elem()))
	}
	return Atomic
}

package crd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/jsonpath"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/openapi"
	"github.com/keelson-dev/keelson/store/registry"
)

// field is a selectable field of one version.
type field struct {
	version string
	name    string // for clients of the version: spec.color
	kept    string // for the cache, which keeps the fields of all versions
	path    []string
	schema  *openapi.Structural // of the version; nil for none
}

// fields are the selectable fields of all served versions, in the order of their names.
type fields []field

// selectable collects the selectable fields of the served versions, whose schemas are given in the order of
// the definition.
//
// Each version has its own fields, whose values are those of objects with the defaults of that version. The
// name under which a value is kept contains all that it depends on: when that changes, so does the name, and
// the objects are read again.
func selectable(d *definition, schemas []*openapi.Structural) (fields, error) {
	var out fields
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		if !v.Served {
			continue
		}
		for _, f := range v.SelectableFields {
			parsed, err := jsonpath.Parse(f.JSONPath)
			if err != nil {
				return nil, err
			}
			path, ok := parsed.Fields()
			if !ok {
				return nil, fmt.Errorf("%s: the selectable field %s is not a path of names", v.Name, f.JSONPath)
			}
			name := strings.TrimPrefix(f.JSONPath, ".")
			kept := v.Name + " " + name
			if schemas[i] != nil && schemas[i].DefaultsAt(path...) {
				kept += "@" + strconv.FormatInt(d.Generation, 10)
			}
			out = append(out, field{version: v.Name, name: name, kept: kept, path: path, schema: schemas[i]})
		}
	}
	slices.SortFunc(out, func(a, b field) int { return cmp.Compare(a.kept, b.kept) })
	return out, nil
}

// ofStored makes a resource select by the fields of its version among those that the cache keeps of objects
// as they are stored.
func (all fields) ofStored(f *registry.Fields, version string) {
	if len(all) == 0 {
		return
	}
	f.Selectors = map[string]string{}
	for i := range all {
		f.Names = append(f.Names, all[i].kept)
		if all[i].version == version {
			f.Selectors[all[i].name] = all[i].kept
		}
	}
	f.Of = func(obj metav1.Object, add func(name, value string)) {
		for i := range all {
			add(all[i].kept, all[i].of(obj))
		}
	}
}

// ofServed makes a resource select by the fields of its version, read from converted objects.
func (all fields) ofServed(f *registry.Fields, version string) {
	own := slices.DeleteFunc(slices.Clone(all), func(f field) bool { return f.version != version })
	for i := range own {
		f.Names = append(f.Names, own[i].name)
	}
	f.Of = func(obj metav1.Object, add func(name, value string)) {
		for i := range own {
			add(own[i].name, own[i].of(obj))
		}
	}
}

// of returns the value of the field in an object, empty if it has none.
func (f *field) of(obj metav1.Object) string {
	u, ok := obj.(*metav1.Unstructured)
	if !ok {
		return ""
	}
	switch v := f.schema.At(u.Fields, f.path...).(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	default:
		return fmt.Sprint(v)
	}
}

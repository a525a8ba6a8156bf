package openapi

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// Validate checks obj against crd's schema for its version, as a server does on creation: the object is first
// pruned and defaulted, which modifies it. It needs no server. An object that is not of crd's group, kind and
// versions is an error and is not modified. Of the metadata only what the schema describes is checked; see
// [metav1.ValidateMeta] for names, labels and the rest.
func Validate(crd *apiextensionsv1.CustomResourceDefinition, obj *metav1.Unstructured) (validation.ErrorList, error) {
	group, version, _ := cutVersion(obj.APIVersion)
	if group != crd.Spec.Group || obj.Kind != crd.Spec.Names.Kind {
		return nil, fmt.Errorf("openapi: %s defines kind %q of group %q, the object is of kind %q in %q",
			crd.Name, crd.Spec.Names.Kind, crd.Spec.Group, obj.Kind, obj.APIVersion)
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name != version {
			continue
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			return nil, nil
		}
		s, err := CompileSchema(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		s.Prune(obj)
		s.SetDefaults(obj)
		return s.Validate(obj), nil
	}
	return nil, fmt.Errorf("openapi: %s has no version %q", crd.Name, version)
}

func cutVersion(apiVersion string) (group, version string, ok bool) {
	for i := len(apiVersion) - 1; i >= 0; i-- {
		if apiVersion[i] == '/' {
			return apiVersion[:i], apiVersion[i+1:], true
		}
	}
	return "", apiVersion, false
}

// Validate checks a new object.
func (s *Structural) Validate(obj *metav1.Unstructured) validation.ErrorList {
	return s.validate(obj, nil, (*validator).root)
}

// ValidateUpdate checks a changed object. Errors in unchanged parts of the object are ignored (ratcheting),
// so that a schema can be tightened while objects exist. Rules that compare with the old object are applied.
func (s *Structural) ValidateUpdate(obj, old *metav1.Unstructured) validation.ErrorList {
	return s.validate(obj, old, (*validator).root)
}

// ValidateStatus checks an object of which only the status has changed, as a write of its status does: the
// status against its schema, as [Structural.ValidateUpdate] does, and the whole object by rules.
func (s *Structural) ValidateStatus(obj, old *metav1.Unstructured) validation.ErrorList {
	return s.validate(obj, old, (*validator).status)
}

// validate first only looks for errors, and computes their paths only if it finds some: most objects are
// valid.
func (s *Structural) validate(obj, old *metav1.Unstructured, check func(v *validator, s *Structural, obj, old *metav1.Unstructured)) validation.ErrorList {
	v := validator{blind: true}
	if check(&v, s, obj, old); len(v.errs) == 0 {
		return nil
	}
	// An object that had duplicates before may have them anywhere.
	v = validator{anyItems: old != nil && slices.ContainsFunc(v.errs, isDuplicate) && s.hasDuplicates(old)}
	check(&v, s, obj, old)
	return v.errs
}

func isDuplicate(e *validation.Error) bool { return e.Type == validation.TypeDuplicate }

// hasDuplicates reports whether a set or map list of obj has an item twice.
func (s *Structural) hasDuplicates(obj *metav1.Unstructured) bool {
	v := validator{blind: true}
	v.value(s, nil, asMap(obj.Fields), oldValue{})
	return slices.ContainsFunc(v.errs, isDuplicate)
}

// somewhere is the path of all values for a blind validator.
var somewhere = validation.NewPath("?")

// child and item return the paths of parts of a value at p.
func (v *validator) child(p *validation.Path, name string) *validation.Path {
	if v.blind {
		return somewhere
	}
	return p.Child(name)
}

func (v *validator) item(p *validation.Path, i int) *validation.Path {
	if v.blind {
		return somewhere
	}
	return p.Index(i)
}

// maxErrors bounds the errors of one object.
const maxErrors = 200

type validator struct {
	errs validation.ErrorList
	// anyItems allows duplicates in sets and map lists, which defaults may have.
	anyItems bool
	// blind finds errors without their paths.
	blind bool
}

func (v *validator) add(e *validation.Error) {
	if len(v.errs) < maxErrors {
		v.errs = append(v.errs, e)
	}
}

// oldValue is the previous state of a value; ok is false on create and if there is no corresponding old
// value.
type oldValue struct {
	value any
	ok    bool
}

func (v *validator) root(s *Structural, obj, old *metav1.Unstructured) {
	before := oldValue{}
	if old != nil {
		before = oldValue{asMap(old.Fields), true}
	}
	v.value(s, nil, asMap(obj.Fields), before)
	v.identity(s, obj, old)
	v.embeddedIn(s, nil, asMap(obj.Fields))
	v.rules(s, obj, old)
}

// status is root for an object of which only the status has changed.
func (v *validator) status(s *Structural, obj, old *metav1.Unstructured) {
	if x, ok := obj.Fields["status"]; ok && s.Properties["status"] != nil {
		was, had := old.Fields["status"]
		v.value(s.Properties["status"], validation.NewPath("status"), x, oldValue{was, had})
	}
	v.rules(s, obj, old)
}

var identityNames = []string{"apiVersion", "kind", "metadata"}

// identity checks the members that every object has as far as a schema may restrict them: kind, apiVersion,
// and the names in metadata.
func (v *validator) identity(s *Structural, obj, old *metav1.Unstructured) {
	if !s.restrictsIdentity {
		return
	}
	now, was := identityOf(obj), identityOf(old)
	for _, name := range identityNames {
		if c := s.Properties[name]; c != nil {
			v.value(c, validation.NewPath(name), now[name], oldValue{was[name], old != nil})
		}
	}
}

func identityOf(u *metav1.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	names := map[string]any{}
	if u.Name != "" {
		names["name"] = u.Name
	}
	if u.GenerateName != "" {
		names["generateName"] = u.GenerateName
	}
	return map[string]any{"apiVersion": u.APIVersion, "kind": u.Kind, "metadata": names}
}

func asMap(m map[string]any) any {
	if m == nil {
		m = map[string]any{}
	}
	return m
}

// value checks x, which is at p and was old.
func (v *validator) value(s *Structural, p *validation.Path, x any, old oldValue) {
	if old.ok && sameJSON(x, old.value) {
		return
	}
	if x == nil {
		if !s.Nullable && (s.Type != "" || s.IntOrString) {
			v.add(s.wrongType(p, x))
		}
		return
	}
	if !s.hasType(x) {
		v.add(s.wrongType(p, x))
		if s.Type == "integer" && jsonType(x) == "number" {
			v.add(validation.Invalid(nil, "", "Checked value must be of type integer (default format) in "+p.String()))
		}
		return
	}
	v.limits(s, p, x, p == nil)
	switch x := x.(type) {
	case map[string]any:
		v.members(s, p, x, old)
	case []any:
		v.items(s, p, x, old)
	}
}

func isScalar(x any) bool {
	switch x.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// shown returns the form of a value for error messages, which is short.
func shown(x any) any {
	if isScalar(x) {
		return x
	}
	return jsonType(x)
}

func (s *Structural) typeName() string {
	if s.IntOrString {
		return "integer,string"
	}
	return s.Type
}

func (s *Structural) wrongType(p *validation.Path, x any) *validation.Error {
	return validation.InvalidType(p, jsonType(x), inBody(p, "must be of type %s: %q", s.typeName(), jsonType(x)))
}

func (s *Structural) hasType(x any) bool {
	got := jsonType(x)
	if s.IntOrString {
		return got == "integer" || got == "string"
	}
	return s.Type == "" || s.Type == got || s.Type == "number" && got == "integer"
}

// jsonType names the type of a decoded JSON value; a number without fraction is an integer.
func jsonType(x any) string {
	switch x := x.(type) {
	case map[string]any:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		if x == math.Trunc(x) && !math.IsInf(x, 0) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func (v *validator) members(s *Structural, p *validation.Path, m map[string]any, old oldValue) {
	before, _ := old.value.(map[string]any)
	was := func(name string) oldValue {
		if !old.ok {
			return oldValue{}
		}
		o, ok := before[name]
		return oldValue{o, ok}
	}
	for _, name := range s.names {
		x, ok := m[name]
		if !ok || (p == nil || s.Embedded) && isMeta(name) {
			continue
		}
		v.value(s.Properties[name], v.child(p, name), x, was(name))
	}
	if s.Additional == nil {
		return
	}
	additional := func(names iter.Seq[string]) {
		for name := range names {
			if _, described := s.Properties[name]; !described && !(p == nil && isMeta(name)) {
				v.value(s.Additional, v.child(p, name), m[name], was(name))
			}
		}
	}
	found := len(v.errs)
	if additional(maps.Keys(m)); len(v.errs) > found { // once more, for errors in order
		v.errs = v.errs[:found]
		additional(slices.Values(slices.Sorted(maps.Keys(m))))
	}
}

func (v *validator) items(s *Structural, p *validation.Path, list []any, old oldValue) {
	var byKey map[any]any
	if before, ok := old.value.([]any); ok && old.ok && s.ListType == "map" {
		byKey = make(map[any]any, len(before))
		for _, it := range before {
			if key, ok := s.itemKey(it); ok {
				byKey[key] = it
			}
		}
	}
	if s.Items == nil && s.ListType != "set" && s.ListType != "map" {
		return
	}
	seen := map[any]int{}
	for i, it := range list {
		at := v.item(p, i)
		was := oldValue{}
		if key, ok := s.itemKey(it); ok {
			if seen[key]++; seen[key] == 2 && !v.anyItems {
				v.add(validation.Duplicate(at, s.identity(it)))
			}
			was.value, was.ok = byKey[key]
		}
		if s.Items != nil {
			v.value(s.Items, at, it, was)
		}
	}
}

// identity returns the part of an item by which it is a duplicate, for messages.
func (s *Structural) identity(it any) any {
	m, ok := it.(map[string]any)
	if s.ListType != "map" || !ok {
		return it
	}
	keys := make(map[string]any, len(s.ListKeys))
	for _, name := range s.ListKeys {
		keys[name] = s.keyValue(m, name)
	}
	return keys
}

// keyValue returns the value of a key of an item of a map list.
func (s *Structural) keyValue(item map[string]any, name string) any {
	x, there := item[name]
	if !there && s.Items != nil {
		if c := s.Items.Properties[name]; c != nil && c.HasDefault {
			return c.Default
		}
	}
	return x
}

// itemKey identifies the items of sets and map lists; ok is false for other lists and for items without keys.
// Keys of equal items are equal.
func (s *Structural) itemKey(it any) (key any, ok bool) {
	switch s.ListType {
	case "set":
		return keyOf(it), true
	case "map":
		m, isMap := it.(map[string]any)
		if !isMap {
			return nil, false
		}
		if len(s.ListKeys) == 1 {
			return keyOf(s.keyValue(m, s.ListKeys[0])), true
		}
		keys := make([]any, len(s.ListKeys))
		for i, name := range s.ListKeys {
			keys[i] = s.keyValue(m, name)
		}
		return keyOf(keys), true
	}
	return nil, false
}

// composite is the canonical text of a list or an object.
type composite string

// keyOf returns a comparable value, the same for two JSON values if and only if they are equal.
func keyOf(v any) any {
	switch n := v.(type) {
	case map[string]any, []any:
		return composite(canonical(v))
	case float64:
		if n == float64(int64(n)) {
			return int64(n)
		}
	}
	return v
}

package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/store/cache"
)

// Selectable returns the names of the field selectors of the resource.
func (r *Resource) Selectable() []string {
	names := []string{"metadata.name"}
	if !r.def.Fields.NoNamespace {
		names = append(names, "metadata.namespace")
	}
	if other := r.def.Fields.Selectors; other != nil {
		return append(names, slices.Sorted(maps.Keys(other))...)
	}
	return append(names, slices.Sorted(slices.Values(r.def.Fields.Names))...)
}

// FieldName returns the name for [Resource.FieldOf] of a field selector; ok is false for an unknown one.
func (r *Resource) FieldName(selector string) (name string, ok bool) {
	f := &r.def.Fields
	switch {
	case selector == "metadata.name", selector == "metadata.namespace" && !f.NoNamespace:
		return selector, true
	case f.Selectors != nil:
		name, ok = f.Selectors[selector]
		return name, ok
	}
	return selector, slices.Contains(f.Names, selector)
}

// UnknownField returns the error for a field selector that FieldName does not know, in upstream's words.
func (r *Resource) UnknownField(selector string) error {
	switch f := &r.def.Fields; {
	case f.Unknown != nil:
		return errors.New(f.Unknown(selector))
	case r.def.Custom || len(f.Names) > 0:
		return fmt.Errorf("field label not supported: %s", selector)
	}
	return ErrOnlyMetadataFields(selector)
}

// ErrOnlyMetadataFields returns the error for a field selector of a resource that has none of its own.
func ErrOnlyMetadataFields(selector string) error {
	return fmt.Errorf(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, selector)
}

// FieldOf returns the value of a field that [Resource.FieldName] names. ok is false if the value is that of
// the converted object and the conversion fails; see [Resource.ConvertsFields].
func (r *Resource) FieldOf(ctx context.Context, o *cache.Object, name string) (value string, ok bool) {
	switch name {
	case "metadata.name":
		return o.Name, true
	case "metadata.namespace":
		return o.Namespace, true
	}
	if o.Err != nil || !r.ConvertsFields() {
		return o.Attrs.Fields[name], true
	}
	values, err := r.convertedFields(ctx, o)
	if i := slices.Index(r.def.Fields.Names, name); err == nil && i < len(values) && i >= 0 {
		return values[i], true
	}
	return "", false
}

// ConvertsFields reports that fields beyond the metadata are read from converted objects, so that FieldOf may
// call a conversion webhook and it is worth calling [Resource.Convert] before.
func (r *Resource) ConvertsFields() bool {
	return r.def.FromStoredAll != nil && len(r.def.Fields.Names) > 0
}

// keptFields returns the names of the fields that the cache keeps of each object.
func (r *Resource) keptFields() []string {
	if r.ConvertsFields() {
		return nil
	}
	return r.def.Fields.Names
}

// convertedFields returns the values of Fields.Names in the converted object, which are kept beside the
// conversion.
func (r *Resource) convertedFields(ctx context.Context, o *cache.Object) (values []string, err error) {
	key := cache.FormKey{Version: r.form, MediaType: "json", Kind: "fields"}
	text, err := r.formOf(ctx, o, key, func(ctx context.Context, o *cache.Object) ([]byte, error) {
		obj, err := r.Decode(ctx, o)
		if err != nil {
			return nil, err
		}
		values := make([]string, len(r.def.Fields.Names))
		r.def.Fields.Of(obj, func(name, value string) {
			if i := slices.Index(r.def.Fields.Names, name); i >= 0 {
				values[i] = value
			}
		})
		return codec.Marshal(values)
	})
	if err != nil {
		return nil, err
	}
	return values, codec.Unmarshal(text, &values)
}

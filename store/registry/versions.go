package registry

import (
	"context"
	"errors"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/store/admission"
)

// versions implements admission.Versions for a resource.
type versions struct{ res *Resource }

// Served implements admission.Versions.
func (v versions) Served() []admission.Served {
	var out []admission.Served
	for _, res := range v.res.registry.Resources() {
		if res.prefix == v.res.prefix {
			out = append(out, admission.Served{Resource: res.info.GVR, Kind: res.info.GVK})
		}
	}
	return out
}

// find returns the resource that serves a kind from the same storage.
func (v versions) find(kind schema.GroupVersionKind) (*Resource, error) {
	if kind == v.res.info.GVK {
		return v.res, nil
	}
	for _, res := range v.res.registry.table.Load().resources {
		if res.prefix == v.res.prefix && res.info.GVK == kind {
			return res, nil
		}
	}
	return nil, fmt.Errorf("%s is not a form of %s", kind, v.res.gr)
}

// Convert implements admission.Versions.
func (v versions) Convert(ctx context.Context, obj metav1.Object, from, to schema.GroupVersionKind) (metav1.Object, error) {
	if from == to {
		return obj, nil
	}
	source, err := v.find(from)
	if err != nil {
		return nil, err
	}
	target, err := v.find(to)
	if err != nil {
		return nil, err
	}
	obj = codec.DeepCopy(obj)
	if convert := source.def.ToStored; convert != nil {
		if obj, err = convert(ctx, obj); err != nil {
			return nil, err
		}
	}
	if convert := target.def.FromStored; convert != nil {
		if obj, err = convert(ctx, obj); err != nil {
			return nil, err
		}
	}
	setTypeMeta(obj, to)
	return obj, nil
}

// Decode implements admission.Versions.
func (v versions) Decode(data []byte, kind schema.GroupVersionKind) (metav1.Object, error) {
	res, err := v.find(kind)
	if err != nil {
		return nil, err
	}
	obj := res.info.New()
	if err := codec.Unmarshal(data, obj); err != nil {
		return nil, err
	}
	if res.def.Prune != nil {
		res.def.Prune(obj)
	}
	if u, ok := obj.(*metav1.Unstructured); ok && (u.APIVersion != kind.GroupVersion().String() || u.Kind != kind.Kind) {
		return nil, errors.New("apiVersion and kind may not change")
	}
	setTypeMeta(obj, kind)
	res.complete(obj)
	return obj, nil
}

// Merge implements admission.Versions. It does not change managedFields.
func (v versions) Merge(ctx context.Context, obj metav1.Object, config map[string]any, kind schema.GroupVersionKind) (metav1.Object, error) {
	res, err := v.find(kind)
	if err != nil {
		return nil, err
	}
	owners, err := res.owners()
	if err != nil {
		return nil, err
	}
	live := codec.DeepCopy(obj)
	fields := metav1.MetaOf(live).ManagedFields
	metav1.MetaOf(live).ManagedFields = nil
	out, changed, err := owners.Apply(live, config, res.fieldWrite(ctx, Write{FieldManager: serverManager}), true)
	switch {
	case err != nil:
		return nil, err
	case !changed:
		out = live
	}
	metav1.MetaOf(out).ManagedFields = fields
	setTypeMeta(out, kind)
	if res.def.Prune != nil {
		res.def.Prune(out)
	}
	res.complete(out)
	return out, nil
}

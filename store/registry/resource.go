package registry

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
)

// Resource serves one kind at one version from a store. Resources of several versions of one kind share
// their storage.
type Resource struct {
	def      *Definition
	info     *scheme.Info
	stored   *scheme.Info
	gr       schema.GroupResource
	registry *Registry
	watched  *watched
	form     string // the version in the keys of encoded forms
	*derived
}

// newResource returns the resource of a definition. It starts nothing.
func newResource(r *Registry, d *Definition) Resource {
	return Resource{def: d, info: d.Info, stored: cmp.Or(d.Stored, d.Info), gr: d.Info.GVR.GroupResource(), registry: r, derived: derive(d)}
}

// setForm sets the version in the keys of encoded forms. Forms that depend on the definition must not outlive
// it.
func (r *Resource) setForm(generation int64) {
	r.form = r.apiVersion
	if r.changesOnRead() {
		r.form += "@" + strconv.FormatInt(generation, 10)
	}
}

// FormVersion returns the version in the keys of encoded forms of the resource's objects.
func (r *Resource) FormVersion() string { return r.form }

// Protobuf reports whether objects have a protobuf form.
func (r *Resource) Protobuf() bool { return r.protobuf }

// Definition returns the definition of the resource, which must not be changed.
func (r *Resource) Definition() *Definition { return r.def }

// Stored returns the resource by which objects are stored: that of several that share them.
func (r *Resource) Stored() schema.GroupResource { return r.stored.GVR.GroupResource() }

// Info returns the kind at the served version.
func (r *Resource) Info() *scheme.Info { return r.info }

// GroupResource returns the resource as errors name it.
func (r *Resource) GroupResource() schema.GroupResource { return r.gr }

// key returns the store's key of an object.
func (r *Resource) key(k types.NamespacedName) string { return keyOf(r.prefix, k) }

// listPrefix returns the key prefix of the objects of a namespace; empty means all namespaces.
func (r *Resource) listPrefix(namespace string) string {
	if namespace == "" || !r.info.Namespaced {
		return r.prefix
	}
	return r.prefix + namespace + "/"
}

// encode returns the stored form of obj, whose resourceVersion must be empty.
func (r *Resource) encode(ctx context.Context, obj metav1.Object) ([]byte, error) {
	if r.def.ToStored != nil {
		var err error
		// The conversion may reuse parts of obj, which the caller returns.
		if obj, err = r.def.ToStored(ctx, codec.DeepCopy(obj)); err != nil {
			return nil, err
		}
	}
	if r.def.JSON || r.def.Custom {
		setTypeMeta(obj, r.stored.GVK)
		if r.def.Custom && r.registry.options.CBOR {
			return cbor.Marshal(obj)
		}
		return codec.Marshal(obj)
	}
	setTypeMeta(obj, schema.GroupVersionKind{})
	return codec.MarshalEnvelope(r.storedVersion, r.stored.GVK.Kind, obj)
}

// decode returns the object of a stored value at the served version, with its resourceVersion.
func (r *Resource) decode(ctx context.Context, value []byte, revision int64) (metav1.Object, error) {
	obj, err := r.decodeStored(value)
	if err != nil {
		return nil, err
	}
	if r.def.FromStored != nil {
		if obj, err = r.def.FromStored(ctx, obj); err != nil {
			return nil, err
		}
	}
	return r.finish(obj, revision), nil
}

// finish completes an object that has been converted to the served version.
func (r *Resource) finish(obj metav1.Object, revision int64) metav1.Object {
	if r.def.OnRead != nil {
		r.def.OnRead(obj)
	}
	if r.def.Custom && obj.GetGeneration() == 0 {
		obj.SetGeneration(1) // stored by a version that did not set it
	}
	setTypeMeta(obj, r.info.GVK)
	if revision > 0 {
		obj.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
	return obj
}

func (r *Resource) decodeStored(value []byte) (metav1.Object, error) {
	if err := store.ReadError(value); err != nil {
		return nil, err
	}
	obj := r.stored.New()
	var err error
	switch {
	case codec.IsEnvelope(value):
		_, _, err = codec.UnmarshalEnvelope(value, obj)
	case cbor.IsCBOR(value):
		_, err = cbor.Unmarshal(value, obj, codec.DecodeOptions{})
	default:
		if r.def.Upgrade != nil {
			value, err = r.def.Upgrade(value)
		}
		if err == nil {
			err = codec.Unmarshal(value, obj)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stored %s: %w", r.gr, err)
	}
	return obj, nil
}

// stale reports that a decodable value has another version or encoding than the resource writes now.
func (r *Resource) stale(value []byte) bool {
	asJSON, binary := r.def.JSON || r.def.Custom, r.def.Custom && r.registry.options.CBOR
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	var err error
	switch {
	case codec.IsEnvelope(value):
		if asJSON {
			return true
		}
		head.APIVersion, _, _, err = codec.DecodeEnvelope(value)
	case !asJSON || binary != cbor.IsCBOR(value):
		return true
	case binary:
		_, err = cbor.Unmarshal(value, &head, codec.DecodeOptions{})
	default:
		err = codec.Unmarshal(value, &head)
	}
	if asJSON {
		return err == nil && head.APIVersion != r.stored.GVK.GroupVersion().String()
	}
	return err == nil && head.APIVersion != r.storedVersion
}

// invalid returns the 422 error. It names the stored kind: events of both groups are refused as core events,
// as upstream.
func (r *Resource) invalid(name string, errs validation.ErrorList) error {
	return apierrors.NewInvalid(r.stored.GVK.GroupKind(), name, errs)
}

package managedfields

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Upgrade hands the fields that managers have set by plain writes, such as "kubectl apply" on the client's
// side, to one manager that applies on the server from now on: fields that it no longer applies are then
// removed. It returns the managed fields after that; the given ones are not changed. from are the former
// managers, to the applier, subresource the part they write ("" for the object itself). If none of them has
// an entry, the fields are returned unchanged. A malformed entry is a *SyntaxError.
func Upgrade(fields []metav1.ManagedFieldsEntry, from []string, to, subresource string) ([]metav1.ManagedFieldsEntry, error) {
	out := slices.Clone(fields)
	for _, name := range from {
		var err error
		if out, err = upgradeOne(out, name, to, subresource); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func upgradeOne(fields []metav1.ManagedFieldsEntry, from, to, subresource string) ([]metav1.ManagedFieldsEntry, error) {
	former := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == from && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == subresource
	}
	at := slices.IndexFunc(fields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == to && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == subresource
	})
	if at < 0 {
		if at = slices.IndexFunc(fields, former); at < 0 {
			return fields, nil
		}
		fields[at].Manager, fields[at].Operation = to, metav1.ManagedFieldsOperationApply
	}
	// Paths of another version could mean other fields, so they are not moved.
	same := slices.IndexFunc(fields, func(e metav1.ManagedFieldsEntry) bool { return former(e) && e.APIVersion == fields[at].APIVersion })
	a, err := setOf(&fields[at])
	if err != nil {
		return nil, err
	}
	if same >= 0 {
		b, err := setOf(&fields[same])
		if err != nil {
			return nil, err
		}
		fields[at].FieldsV1 = &metav1.FieldsV1{Raw: a.Union(b).AppendJSON(nil)}
	}
	return slices.DeleteFunc(fields, former), nil
}

func setOf(e *metav1.ManagedFieldsEntry) (*Set, error) {
	if e.FieldsV1 == nil || len(e.FieldsV1.Raw) == 0 {
		return &Set{}, nil
	}
	return ParseSet(e.FieldsV1.Raw)
}

// UpgradePatch is [Upgrade] of an object as a JSON patch to send to the server, or nil if there is nothing to
// upgrade. The patch fails with a conflict if the object has changed since.
func UpgradePatch(obj metav1.Object, from []string, to, subresource string) ([]byte, error) {
	old := metav1.MetaOf(obj).ManagedFields
	fields, err := Upgrade(old, from, to, subresource)
	if err != nil || codec.Equal(fields, old) {
		return nil, err
	}
	return codec.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": fields},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": obj.GetResourceVersion()},
	})
}

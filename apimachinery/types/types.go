// Package types holds the small named types every API object shares: object
// keys, unique ids, node names and patch media types. All are comparable values.
package types

import "strings"

// NamespacedName is the key of an object within its resource. Namespace is
// empty for cluster-scoped objects. It is comparable and meant as a map key.
type NamespacedName struct {
	Namespace string
	Name      string
}

// String is "namespace/name"; the slash is there even without a namespace, so
// that two different keys never have the same text.
func (n NamespacedName) String() string { return n.Namespace + "/" + n.Name }

// Compare orders by namespace, then by name, which is the order of keys in
// storage and of items in a list.
func (n NamespacedName) Compare(other NamespacedName) int {
	if c := strings.Compare(n.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(n.Name, other.Name)
}

// UID identifies one incarnation of an object: a deleted and re-created object
// of the same name has another one. It is opaque; do not parse it.
type UID string

// NodeName is the name of a Node object. It need not be the machine's host name.
type NodeName string

// PatchType is the media type of a patch body.
type PatchType string

// The patch formats of the API.
const (
	// JSONPatchType is a list of operations (RFC 6902).
	JSONPatchType PatchType = "application/json-patch+json"
	// MergePatchType is a partial object; null deletes, lists are replaced (RFC 7386).
	MergePatchType PatchType = "application/merge-patch+json"
	// StrategicMergePatchType is a partial object whose lists merge as the type's
	// patchStrategy says. Built-in types only.
	StrategicMergePatchType PatchType = "application/strategic-merge-patch+json"
	// ApplyYAMLPatchType is a server-side apply configuration, YAML or JSON.
	ApplyYAMLPatchType PatchType = "application/apply-patch+yaml"
	// ApplyCBORPatchType is a server-side apply configuration in CBOR.
	ApplyCBORPatchType PatchType = "application/apply-patch+cbor"
)

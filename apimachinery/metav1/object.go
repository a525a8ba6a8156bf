package metav1

import (
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Object is any API object: a pointer to a struct that embeds ObjectMeta. Its methods use built-in Go
// types only, so types of k8s.io/api and of any kubebuilder project satisfy it without importing
// this package. What they declare with named types (uid, times, owner references, managed fields)
// is reached through [MetaOf].
type Object interface {
	GetName() string
	SetName(string)
	GetNamespace() string
	SetNamespace(string)
	GetGenerateName() string
	SetGenerateName(string)
	GetResourceVersion() string
	SetResourceVersion(string)
	GetGeneration() int64
	SetGeneration(int64)
	GetLabels() map[string]string
	SetLabels(map[string]string)
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
	GetFinalizers() []string
	SetFinalizers([]string)
}

// TypeMeta identifies an object's kind and API version on the wire.
type TypeMeta struct {
	// Kind of the object, in CamelCase. It is determined by the endpoint and cannot be changed.
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// API version of the object, GROUP/VERSION, or the version alone for the core group.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
}

// GroupVersionKind parses APIVersion and Kind. A malformed APIVersion yields an empty group-version.
func (t *TypeMeta) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(t.APIVersion, t.Kind)
}

// SetGroupVersionKind sets APIVersion and Kind.
func (t *TypeMeta) SetGroupVersionKind(gvk schema.GroupVersionKind) {
	t.Kind = gvk.Kind
	if gv := gvk.GroupVersion(); !isText(gv, t.APIVersion) {
		t.APIVersion = gv.String()
	}
}

// isText reports whether text is that of gv, without making it.
func isText(gv schema.GroupVersion, text string) bool {
	n := len(gv.Group)
	if n == 0 {
		return text == gv.Version
	}
	return len(text) == n+1+len(gv.Version) && text[:n] == gv.Group && text[n] == '/' && text[n+1:] == gv.Version
}

// ObjectMeta is the metadata of every stored object.
type ObjectMeta struct {
	// MetaOf relies on the memory layout, which equals that of the types of k8s.io/apimachinery: keep the
	// order.

	// Name of the object, unique among objects of one resource in one namespace. Cannot be changed.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Prefix from which the server generates a unique name if name is empty.
	GenerateName string `json:"generateName,omitempty" protobuf:"bytes,2,opt,name=generateName"`
	// Namespace of the object; empty for cluster-scoped objects. Cannot be changed.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`
	// Deprecated; no longer populated.
	SelfLink string `json:"selfLink,omitempty" protobuf:"bytes,4,opt,name=selfLink"`
	// Unique identifier of the object, assigned by the server and never reused.
	UID types.UID `json:"uid,omitempty" protobuf:"bytes,5,opt,name=uid"`
	// Opaque version of the object. An update that specifies it fails with a conflict if the object has been
	// modified since.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,6,opt,name=resourceVersion"`
	// Sequence number of the desired state, incremented by the server when it changes.
	Generation int64 `json:"generation,omitempty" protobuf:"varint,7,opt,name=generation"`
	// CreationTimestamp is a timestamp of when the object was created, as recorded by the server.
	CreationTimestamp Time `json:"creationTimestamp,omitempty,omitzero" protobuf:"bytes,8,opt,name=creationTimestamp"`
	// When the object is to be deleted, set by the server when a graceful deletion is requested. The object
	// is removed once this time has passed and finalizers is empty.
	DeletionTimestamp *Time `json:"deletionTimestamp,omitempty" protobuf:"bytes,9,opt,name=deletionTimestamp"`
	// Seconds the object is given to terminate gracefully; set together with deletionTimestamp.
	DeletionGracePeriodSeconds *int64 `json:"deletionGracePeriodSeconds,omitempty" protobuf:"varint,10,opt,name=deletionGracePeriodSeconds"`
	// Key-value pairs that organize objects and that selectors match.
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,11,rep,name=labels"`
	// Arbitrary key-value pairs for tools; not queryable. At most 256 KiB in total.
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,12,rep,name=annotations"`
	// Owners of the object. The object is garbage collected when all of them are deleted.
	OwnerReferences []OwnerReference `json:"ownerReferences,omitempty" patchStrategy:"merge" patchMergeKey:"uid" listType:"map" listMapKey:"uid" protobuf:"bytes,13,rep,name=ownerReferences"`
	// Identifiers of the components that must act before the object is removed from storage. Each removes its
	// entry when done.
	Finalizers []string `json:"finalizers,omitempty" patchStrategy:"merge" listType:"set" protobuf:"bytes,14,rep,name=finalizers"`
	// Fields of the object by the manager that owns them, maintained by the server for server-side apply.
	ManagedFields []ManagedFieldsEntry `json:"managedFields,omitempty" listType:"atomic" protobuf:"bytes,17,rep,name=managedFields"`
}

func (m *ObjectMeta) GetName() string                    { return m.Name }
func (m *ObjectMeta) SetName(name string)                { m.Name = name }
func (m *ObjectMeta) GetNamespace() string               { return m.Namespace }
func (m *ObjectMeta) SetNamespace(namespace string)      { m.Namespace = namespace }
func (m *ObjectMeta) GetGenerateName() string            { return m.GenerateName }
func (m *ObjectMeta) SetGenerateName(prefix string)      { m.GenerateName = prefix }
func (m *ObjectMeta) GetResourceVersion() string         { return m.ResourceVersion }
func (m *ObjectMeta) SetResourceVersion(version string)  { m.ResourceVersion = version }
func (m *ObjectMeta) GetGeneration() int64               { return m.Generation }
func (m *ObjectMeta) SetGeneration(generation int64)     { m.Generation = generation }
func (m *ObjectMeta) GetLabels() map[string]string       { return m.Labels }
func (m *ObjectMeta) SetLabels(labels map[string]string) { m.Labels = labels }
func (m *ObjectMeta) GetAnnotations() map[string]string  { return m.Annotations }
func (m *ObjectMeta) SetAnnotations(a map[string]string) { m.Annotations = a }
func (m *ObjectMeta) GetFinalizers() []string            { return m.Finalizers }
func (m *ObjectMeta) SetFinalizers(finalizers []string)  { m.Finalizers = finalizers }

// Key is the object's namespace and name.
func (m *ObjectMeta) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
}

// KeyOf returns the namespace and name of any object.
func KeyOf(obj Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ControllerOf returns the owner reference with controller=true, or nil. The pointer is into obj.
func ControllerOf(obj Object) *OwnerReference {
	m := MetaOf(obj)
	for i := range m.OwnerReferences {
		if r := &m.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			return r
		}
	}
	return nil
}

// IsControlledBy reports whether the controlling owner of obj is the object with uid.
func IsControlledBy(obj Object, uid types.UID) bool {
	r := ControllerOf(obj)
	return r != nil && r.UID == uid
}

// NewControllerRef makes the reference that marks owner as the controller of another object.
func NewControllerRef(owner Object, gvk schema.GroupVersionKind) OwnerReference {
	return OwnerReference{
		APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
		Name: owner.GetName(), UID: MetaOf(owner).UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
}

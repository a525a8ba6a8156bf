package admission

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Access is what plugins may read and write. The server answers it from its own caches and registry,
// without authorization and without admission, so a plugin cannot call itself.
type Access interface {
	// Get returns the object as of a consistent read; it is shared and must not be changed. apierrors NotFound if it is missing.
	Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// List returns the objects of a namespace ("" for all), shared and not to be changed.
	List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]metav1.Object, error)
	// Latest returns the object as the store has it now, however far behind a cache may be; otherwise like Get.
	Latest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// ChangeStatus stores what change makes of the object's status. It is called again, with the newer object, when somebody else
	// was faster; its error ends the attempt and is returned.
	ChangeStatus(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(current metav1.Object) error) error
}

// Factory makes a plugin that uses access.
type Factory struct {
	// Name is the plugin's name.
	Name string
	// Default says whether the plugin is on unless disabled.
	Default bool
	// New makes the plugin.
	New func(access Access) Plugin
}

// Factories lists the built-in plugins in the order they run in.
func Factories() []Factory {
	return []Factory{
		{"AlwaysPullImages", false, newAlwaysPullImages},
		{"NamespaceLifecycle", true, newNamespaceLifecycle},
		{"LimitRanger", true, newLimitRanger},
		{"ServiceAccount", true, newServiceAccount},
		{"TaintNodesByCondition", true, newTaintNodes},
		{"Priority", true, newPriority},
		{"DefaultTolerationSeconds", true, newDefaultTolerations},
		{"StorageObjectInUseProtection", true, newStorageProtection},
		{"RuntimeClass", true, newRuntimeClass},
		{"DefaultStorageClass", true, newDefaultStorageClass},
		{"DefaultIngressClass", true, newDefaultIngressClass},
		{"ResourceQuota", true, newResourceQuota},
	}
}

// named carries what every plugin has.
type named struct {
	name string
	ops  []Operation
}

func (n named) Name() string { return n.name }

func (n named) Handles(op Operation) bool {
	for _, o := range n.ops {
		if o == op {
			return true
		}
	}
	return false
}

func resource(group, version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: name}
}

func core(name string) schema.GroupVersionResource { return resource("", "v1", name) }

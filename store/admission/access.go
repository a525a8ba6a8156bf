package admission

import (
	"context"
	"net/http"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/webhook"
)

// Access reads and writes API objects for plugins, from the server's own caches and registry and without
// authorization. Writes are admitted as requests of the server's own user; a plugin must skip its own writes,
// or it calls itself forever.
type Access interface {
	// Get returns the object as of a consistent read; it is shared and must not be changed. apierrors
	// NotFound if it is missing.
	Get(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// List returns the objects of a namespace ("" for all), shared and not to be changed.
	List(ctx context.Context, gvr schema.GroupVersionResource, namespace string, selector labels.Selector) ([]metav1.Object, error)
	// Contents returns the objects of a resource as one state, with every write that this server has made.
	Contents(ctx context.Context, gvr schema.GroupVersionResource) (Contents, error)
	// ResourceOf returns the resource whose objects are of a kind.
	ResourceOf(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool)
	// Latest returns the object as the store has it now, however far behind a cache may be; otherwise like
	// Get.
	Latest(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName) (metav1.Object, error)
	// Create stores a new object, which must not be used afterwards; apierrors AlreadyExists if there is one.
	Create(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object) error
	// ChangeStatus updates the object's status by change, which is called again, with the newer object, if
	// another write came first. An error of change is returned.
	ChangeStatus(ctx context.Context, gvr schema.GroupVersionResource, key types.NamespacedName, change func(current metav1.Object) error) error
}

// Contents is a state of all objects of a resource.
type Contents struct {
	// State is comparable and differs between different contents.
	State any
	// Objects returns private copies of the objects, ordered by namespace and name; those that cannot be
	// decoded are left out.
	Objects func() []metav1.Object
}

// Factory makes a plugin that uses access.
type Factory struct {
	// Name is the plugin's name.
	Name string
	// Default is true for plugins that are enabled by default.
	Default bool
	// New returns the plugin, or an error about its options. If it is an io.Closer it must be closed when it
	// is no longer used.
	New func(access Access, o Options) (Plugin, error)
}

// Options configure plugins. The zero value works.
type Options struct {
	// WebhookDial opens the connections to webhooks; nil means the network, see webhook.Options.
	WebhookDial webhook.DialFunc
	// Loopback sends the requests of webhooks to the API server itself, see webhook.Options; nil means that
	// it is as any other service.
	Loopback http.RoundTripper
	// Authorize is the authorizer of expressions; nil makes their checks fail.
	Authorize AuthorizeFunc
	// Configuration is that of the plugins which have one.
	Configuration Configuration
	// GroupPriority lets Priority resolve the classes of PodGroups, see builtin.Options.GroupPriority.
	GroupPriority bool
	// Draw returns random numbers for names, as registry.Options.Draw; nil means any.
	Draw func(purpose string) uint64
	// Metrics are the hooks of webhooks and policies; Step and Plugin are not used here.
	Metrics Metrics
}

// withoutOptions adapts a constructor without options.
func withoutOptions(make func(Access) Plugin) func(Access, Options) (Plugin, error) {
	return func(access Access, _ Options) (Plugin, error) { return make(access), nil }
}

// withOptions adapts a constructor that any options suit.
func withOptions(make func(Access, Options) Plugin) func(Access, Options) (Plugin, error) {
	return func(access Access, o Options) (Plugin, error) { return make(access, o), nil }
}

// Factories lists the built-in plugins in the order they run in.
func Factories() []Factory {
	return []Factory{
		{"AlwaysAdmit", false, withoutOptions(newAlwaysAdmit)},
		{"NamespaceAutoProvision", false, withoutOptions(newNamespaceProvision)},
		{"NamespaceLifecycle", true, withoutOptions(newNamespaceLifecycle)},
		{"NamespaceExists", false, withoutOptions(newNamespaceExists)},
		{"LimitPodHardAntiAffinityTopology", false, withoutOptions(newLimitAntiAffinity)},
		{"LimitRanger", true, withoutOptions(newLimitRanger)},
		{"ServiceAccount", true, withOptions(newServiceAccount)},
		{"NodeRestriction", false, withOptions(newNodeRestriction)},
		{"TaintNodesByCondition", true, withoutOptions(newTaintNodes)},
		{"AlwaysPullImages", false, withoutOptions(newAlwaysPullImages)},
		{"ImagePolicyWebhook", false, newImagePolicy},
		{"PodSecurity", true, newPodSecurity},
		{"PodNodeSelector", false, newNodeSelectors},
		{"Priority", true, withOptions(newPriority)},
		{"DefaultTolerationSeconds", true, withoutOptions(newDefaultTolerations)},
		{"PodTolerationRestriction", false, newTolerationRestriction},
		{"EventRateLimit", false, newEventLimits},
		{"ExtendedResourceToleration", false, withoutOptions(newExtendedTolerations)},
		{"DefaultStorageClass", true, withoutOptions(newDefaultStorageClass)},
		{"StorageObjectInUseProtection", true, withoutOptions(newStorageProtection)},
		{"PodGroupProtection", true, withoutOptions(newPodGroupProtection)},
		{"OwnerReferencesPermissionEnforcement", false, withOptions(newOwnerPermissions)},
		{"PersistentVolumeClaimResize", true, withoutOptions(newClaimResize)},
		{"RuntimeClass", true, withoutOptions(newRuntimeClass)},
		{"CertificateApproval", true, withOptions(newCertificateApproval)},
		{"CertificateSigning", true, withOptions(newCertificateSigning)},
		{"ClusterTrustBundleAttest", true, withOptions(newTrustBundleAttest)},
		{"CertificateSubjectRestriction", true, withoutOptions(newCertificateSubjectRestriction)},
		{"DefaultIngressClass", true, withoutOptions(newDefaultIngressClass)},
		{"DenyServiceExternalIPs", false, withoutOptions(newDenyExternalIPs)},
		{"PodTopologyLabels", true, withoutOptions(newPodTopologyLabels)},
		{"PodGroupWorkloadExists", true, withoutOptions(newPodGroupWorkload)},
		{"NodeDeclaredFeatureValidator", true, withoutOptions(newNodeFeatures)},
		{"JobValidation", true, withoutOptions(newJobValidation)},
		{"PodResizeValidator", true, withoutOptions(newPodResize)},
		{"MutatingAdmissionPolicy", true, withOptions(newMutatingPolicies)},
		{"MutatingAdmissionWebhook", true, newMutatingWebhooks},
		{"ValidatingAdmissionPolicy", true, withOptions(newValidatingPolicies)},
		{"ValidatingAdmissionWebhook", true, newValidatingWebhooks},
		{"ResourceQuota", true, withOptions(newResourceQuota)},
		{"AlwaysDeny", false, withoutOptions(newAlwaysDeny)},
	}
}

// named implements the methods that all plugins have in common.
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

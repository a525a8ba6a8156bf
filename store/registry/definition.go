package registry

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/columns"
)

// Definition describes a kind to serve: everything but what its [scheme.Info] says. A Definition with nothing
// but Info serves the kind from protobuf at /RESOURCE/, without field selectors beyond the metadata's; see
// [Define] for kinds outside Kubernetes.
type Definition struct {
	// Info is the kind at the served version. Its subresource status, if it has one, makes the registry write
	// spec and status separately.
	Info *scheme.Info
	// Stored is the kind at the stored version; nil means Info.
	Stored *scheme.Info
	// StoredVersion is the apiVersion in the stored protobuf envelope; empty means that of Stored.
	StoredVersion string
	// ToStored and FromStored convert between the two; they may change and return their argument. Both nil
	// means that no conversion is needed. ctx ends with the request that needs the conversion.
	ToStored, FromStored func(ctx context.Context, obj metav1.Object) (metav1.Object, error)
	// FromStoredAll, if set, is FromStored for many objects, whose order it keeps: a conversion that is worth
	// batching. It may block and fail, and its results are kept with the cached objects.
	FromStoredAll func(ctx context.Context, objs []metav1.Object) ([]metav1.Object, error)
	// OnRead is applied to every object decoded from the store, after FromStored; nil means none. Custom
	// resources default and prune here.
	OnRead func(obj metav1.Object)
	// Prune removes fields that do not belong from an object a client sent and returns their paths, such as
	// spec.zap, for field validation; nil means that decoding into the Go type has done so.
	Prune func(obj metav1.Object) []string
	// Prefix is the key prefix, with a slash at its end; empty means /RESOURCE/ of the stored kind. The
	// prefix of all keys in a shared etcd, /registry by default, is added by the backend.
	Prefix string
	// JSON stores objects as JSON instead of the protobuf envelope.
	JSON bool
	// Upgrade, if set, returns a stored JSON value at the stored version: another server may have stored it
	// at an earlier one. It must not change its argument.
	Upgrade func(value []byte) ([]byte, error)
	// Strategy is how objects are created, updated and deleted.
	Strategy Strategy
	// Fields are the field selectors beyond those of the metadata.
	Fields Fields
	// Subresources are those that show the whole object, by name: how a write through each differs from one
	// to the main resource. The subresource status needs no entry.
	Subresources map[string]Subresource
	// Scale says where objects keep their replicas; nil for kinds without the subresource. [ScalePaths] makes
	// that of a custom resource.
	Scale *Scale
	// Custom is true for custom resources: stored as JSON, or CBOR, with apiVersion and kind, listed with
	// them too.
	Custom bool
	// Terminating is true for custom resources whose definition is being deleted: their objects can still be
	// changed, but none created.
	Terminating bool
	// Managed is how fields are owned; nil means by the tags of the Go type, or nothing known for custom
	// resources.
	Managed *managedfields.Type
	// Table has the printer columns; the zero value means those of columns.Default.
	Table columns.Table
	// Deprecated is the warning with every response about the resource; empty for none.
	Deprecated string

	derived *derived // see Prepare
}

// Define returns the definition of a kind outside Kubernetes that is not a custom resource. It has the
// general rules of custom resources, whose objects differ in being of a Go type, and stored in protobuf if
// that type has a protobuf form: keys begin with the group, generation counts changes of anything but
// metadata and status, and a PUT must have a resourceVersion.
func Define(info *scheme.Info) Definition {
	_, err := codec.SizeProto(info.New())
	return Definition{
		Info: info, Prefix: CustomPrefix(info.GVR.GroupResource()), JSON: err != nil,
		Strategy: Strategy{Generation: OnSpec, VersionRequired: true},
	}
}

// Strategy is what a kind does differently from others when objects are written. The zero value suits most
// kinds. Functions get private objects of the resource's Go type and may be called concurrently.
type Strategy struct {
	// Generation says which changes raise metadata.generation.
	Generation GenerationRule
	// CreateOnUpdate lets a PUT create the object, as an apply may for every kind.
	CreateOnUpdate bool
	// VersionRequired refuses a PUT without metadata.resourceVersion.
	VersionRequired bool
	// Orphans makes Orphan the propagation policy of a delete that names none.
	Orphans bool
	// BareFinalizers accepts finalizers without a domain.
	BareFinalizers bool
	// KeepStatus stores the status in the body of a create, although the kind has a status subresource.
	KeepStatus bool
	// StatusOnly keeps all of the metadata but managedFields when the status is written.
	StatusOnly bool
	// ReturnsDeleted makes a delete return the object instead of a Status.
	ReturnsDeleted bool
	// Complete fills fields of every object to be written, right after its defaults.
	Complete func(obj metav1.Object)
	// PrepareCreate clears or fills fields of an object to be created, before it is validated.
	PrepareCreate func(ctx context.Context, obj metav1.Object)
	// PrepareUpdate does so for an update through the main resource. old must not be changed.
	PrepareUpdate func(ctx context.Context, obj, old metav1.Object)
	// PrepareStatus does so for an update through the status subresource.
	PrepareStatus func(ctx context.Context, obj, old metav1.Object)
	// Grace reports whether obj is deleted gracefully and sets opts.GracePeriodSeconds if so.
	Grace func(obj metav1.Object, opts *metav1.DeleteOptions) bool
	// Held reports that obj, although marked for deletion and without finalizers, must stay.
	Held func(obj metav1.Object) bool
	// MarkDeleted changes more of an object that is being marked for deletion than its metadata.
	MarkDeleted func(obj metav1.Object)
	// TTL returns how long an object is kept, zero for forever.
	TTL func(obj metav1.Object) time.Duration
	// Reserve returns writes of other keys that must commit together with the write of obj: creation (old
	// nil), update, or deletion (obj nil). It may fill fields of obj, such as an address. It is called again,
	// on the same obj, after one of its operations lost a race.
	Reserve func(ctx context.Context, obj, old metav1.Object) (Reservation, error)
}

// GenerationRule says when metadata.generation rises.
type GenerationRule uint8

const (
	// Unmanaged keeps the client's value.
	Unmanaged GenerationRule = iota
	// OnSpec counts changes of anything but metadata and status.
	OnSpec
	// OnSpecAndMetadata is OnSpec, and counts changes of annotations too.
	OnSpecAndMetadata
)

// Reservation is the set of operations that commit together with a write.
type Reservation struct {
	Ops []store.Op
	// Undo, if set, is called when the write failed, and Done when it was committed; neither for a dry run.
	Undo, Done func()
}

// Fields are field selectors beyond metadata.name and metadata.namespace.
type Fields struct {
	// Names are the selectors, under the names by which the cache keeps their values. A resource whose Names
	// differ from before has its objects read again.
	Names []string
	// Of calls add with the value of each of Names in an object as it is stored. Where FromStoredAll is set
	// it gets objects of the served version, and only when a client selects by these fields: cached objects
	// are not converted.
	Of func(obj metav1.Object, add func(name, value string))
	// Paths are the members of the stored object that Of reads, as for codec.PartOf; only these are decoded.
	// Nil means that they are Names.
	Paths []string
	// Selectors are the selectors of the served version, each with its name in Names. Nil means that they are
	// Names.
	Selectors map[string]string
	// NoNamespace is true where metadata.namespace is not a field selector.
	NoNamespace bool
	// Unknown is the text of the error about another selector; nil means the general one.
	Unknown func(selector string) string
}

// Subresource is how a write through a subresource that shows the whole object differs from one to the main
// resource.
type Subresource struct {
	// Edit restricts the change to a part of the object; nil means no restriction. It is called with the new
	// and the current state before validation.
	Edit func(obj, old metav1.Object)
	// Validate replaces the kind's validation of updates.
	Validate func(obj, old metav1.Object) validation.ErrorList
	// KeepsGeneration leaves metadata.generation as it is, whatever changes.
	KeepsGeneration bool
	// Reset are the fields that such a write cannot change, so no manager comes to own them by it.
	Reset *managedfields.Set
}

// CustomPrefix returns the key prefix of a custom resource: the group comes first.
func CustomPrefix(gr schema.GroupResource) string {
	return "/" + gr.Group + "/" + gr.Resource + "/"
}

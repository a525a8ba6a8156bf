package registry

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/managedfields"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/columns"
)

// Strategy is what a kind does differently from others, in code. The zero value suits most kinds.
// Functions get private objects of the resource's Go type and may be called concurrently.
type Strategy struct {
	// Complete fills fields of every object to be written, right after its defaults.
	Complete func(obj metav1.Object)
	// PrepareCreate clears or fills fields of an object to be created, before it is validated.
	PrepareCreate func(ctx context.Context, obj metav1.Object)
	// KeepStatus stores the status a create brings along, although the kind has a status subresource.
	KeepStatus bool
	// PrepareUpdate does so for an update through the main resource. old must not be changed.
	PrepareUpdate func(ctx context.Context, obj, old metav1.Object)
	// PrepareStatus does so for an update through the status subresource.
	PrepareStatus func(ctx context.Context, obj, old metav1.Object)
	// Warnings are sent to the client beside those of the kind's rules; old is nil on create.
	Warnings func(obj, old metav1.Object) []string
	// Grace says whether obj is deleted gracefully and sets o.GracePeriodSeconds if so.
	Grace func(obj metav1.Object, o *metav1.DeleteOptions) bool
	// Held reports that obj, although marked for deletion and without finalizers, must stay.
	Held func(obj metav1.Object) bool
	// MarkDeleted changes more of an object that is being marked for deletion than its metadata.
	MarkDeleted func(obj metav1.Object)
	// StatusOnly leaves all of the metadata but managedFields as it is when the status is written.
	StatusOnly bool
	// ReturnsDeleted makes a delete answer with the object instead of a Status.
	ReturnsDeleted bool
	// Fields reports the field selectors of the kind beyond metadata.name and metadata.namespace, as they are
	// in an object as it is stored. Where FromStoredAll is set it gets objects of the served version, when
	// somebody selects by these fields: nobody is asked to convert what is only kept.
	Fields func(obj metav1.Object, add func(name, value string))
	// FieldNames are the names Fields may report. A resource that reports under other names than before has
	// its objects read again.
	FieldNames []string
	// Selectors are the field selectors that clients have, each with the name under which Fields reports it.
	// Nil means that they are FieldNames.
	Selectors map[string]string
	// FieldPaths are the members of the stored object that Fields looks at, as for codec.PartOf, so that no
	// others need be decoded for it. Nil means that it may look at all.
	FieldPaths []string
	// NoNamespaceField is true where metadata.namespace is no field selector.
	NoNamespaceField bool
	// TTL is how long an object lives, zero for ever.
	TTL func(obj metav1.Object) time.Duration
	// Reserve returns writes of other keys that must commit together with the write of obj: creation (old
	// nil), update, or deletion (obj nil). It may fill fields of obj, such as an address. It is called again,
	// on the same obj, after one of its operations lost a race.
	Reserve func(ctx context.Context, obj, old metav1.Object) (Reservation, error)
}

// Reservation is what a write takes along.
type Reservation struct {
	Ops []store.Op
	// Undo, if set, is called when the write did not happen.
	Undo func()
}

// Definition describes a resource to serve.
type Definition struct {
	// Info is the kind at the served version.
	Info *scheme.Info
	// Stored is the kind at the stored version; nil means Info.
	Stored *scheme.Info
	// ToStored and FromStored convert between the two; they may change and return their argument. Both nil
	// means that no conversion is needed.
	ToStored, FromStored func(obj metav1.Object) (metav1.Object, error)
	// FromStoredAll, if set, is FromStored for many objects, whose order it keeps: a conversion that is worth
	// batching. It may block and fail, and what it makes is kept with the cached objects.
	FromStoredAll func(objs []metav1.Object) ([]metav1.Object, error)
	// OnRead is applied to every object decoded from the store, after FromStored; nil means none. Custom
	// resources default and prune here.
	OnRead func(obj metav1.Object)
	// Prune takes fields that do not belong out of an object a client sent and returns their paths, such as
	// spec.zap, for field validation; nil means that decoding into the Go type has done so.
	Prune func(obj metav1.Object) []string
	// Prefix is the key prefix; empty means that of a built-in resource.
	Prefix string
	// Facts and Strategy of the kind.
	Facts    Facts
	Strategy Strategy
	// StatusSubresource is true where spec and status are written apart.
	StatusSubresource bool
	// Scale says where a custom resource keeps its replicas; nil for kinds without the subresource and for
	// built-in ones.
	Scale *ScalePaths
	// Custom is true for custom resources: stored as JSON, or CBOR, with apiVersion and kind, listed with
	// them too.
	Custom bool
	// Terminating is true for custom resources whose definition is being deleted: their objects can still be
	// changed, but none created.
	Terminating bool
	// Managed is how fields are owned; nil means by the tags of the Go type, or nothing known for custom
	// resources.
	Managed *managedfields.Type
	// Table is how objects are shown to people; the zero value means the columns of a built-in kind or the
	// default ones.
	Table columns.Table
	// Deprecated is the warning every request for the resource gets; empty for none.
	Deprecated string
}

// Resource serves one kind at one version from a store. Resources of several versions of one kind share
// their storage.
type Resource struct {
	def      Definition
	info     *scheme.Info
	stored   *scheme.Info
	gr       schema.GroupResource
	prefix   string
	shape    shape
	registry *Registry
	watched  *watched
	selected func() *codec.Part // of stored objects: what selectors need; nil where that is the whole
	spare    sync.Pool          // stored objects to read it into

	storedVersion string // apiVersion in the stored envelope
	apiVersion    string // as served
	form          string // the version in the keys of encoded forms
	jsonHead      []byte // {"kind":"Pod","apiVersion":"v1",
}

// newResource completes d. It does not start anything.
func newResource(r *Registry, d Definition) *Resource {
	res := &Resource{def: d, info: d.Info, stored: d.Stored, gr: d.Info.GVR.GroupResource(), prefix: d.Prefix, registry: r}
	if res.stored == nil {
		res.stored = d.Info
	}
	if res.prefix == "" {
		res.prefix = Prefix(res.stored.GVR.GroupResource())
	}
	res.shape = shapeOf(d.Info.Type)
	res.selected = sync.OnceValue(res.selectedPart)
	res.storedVersion = res.stored.GVK.GroupVersion().String()
	if v, ok := storedVersions[res.gr]; ok && !d.Custom {
		res.storedVersion = v
	}
	res.apiVersion = d.Info.GVK.GroupVersion().String()
	res.jsonHead = fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, d.Info.GVK.Kind, res.apiVersion)
	return res
}

// setForm names the forms this resource makes of objects. Those of a definition with a schema of its own must
// not outlive it.
func (r *Resource) setForm(generation int64) {
	r.form = r.apiVersion
	if r.def.OnRead != nil || r.def.FromStored != nil {
		r.form += "@" + strconv.FormatInt(generation, 10)
	}
}

// FormVersion is the version to name encoded forms of the resource's objects by.
func (r *Resource) FormVersion() string { return r.form }

// Definition returns what the resource was made from.
func (r *Resource) Definition() *Definition { return &r.def }

// Info is the kind at the served version.
func (r *Resource) Info() *scheme.Info { return r.info }

// GroupResource names the resource in errors.
func (r *Resource) GroupResource() schema.GroupResource { return r.gr }

// key is where an object is kept.
func (r *Resource) key(k types.NamespacedName) string { return keyOf(r.prefix, k) }

// listPrefix is where the objects of a namespace are kept; empty means all namespaces.
func (r *Resource) listPrefix(namespace string) string {
	if namespace == "" || !r.info.Namespaced {
		return r.prefix
	}
	return r.prefix + namespace + "/"
}

// encode returns the stored form of obj, whose resourceVersion must be empty.
func (r *Resource) encode(obj metav1.Object) ([]byte, error) {
	if r.def.ToStored != nil {
		var err error
		// The conversion may move parts of obj; the caller still answers with it.
		if obj, err = r.def.ToStored(codec.DeepCopy(obj)); err != nil {
			return nil, err
		}
	}
	if r.def.Facts.JSON || r.def.Custom {
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
func (r *Resource) decode(value []byte, revision int64) (metav1.Object, error) {
	obj, err := r.decodeStored(value)
	if err != nil {
		return nil, err
	}
	if r.def.FromStored != nil {
		if obj, err = r.def.FromStored(obj); err != nil {
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
		obj.SetGeneration(1) // stored before custom resources had one
	}
	setTypeMeta(obj, r.info.GVK)
	if revision > 0 {
		obj.SetResourceVersion(strconv.FormatInt(revision, 10))
	}
	return obj
}

func (r *Resource) decodeStored(value []byte) (metav1.Object, error) {
	obj := r.stored.New()
	var err error
	switch {
	case codec.IsEnvelope(value):
		_, _, err = codec.UnmarshalEnvelope(value, obj)
	case cbor.IsCBOR(value):
		_, err = cbor.Unmarshal(value, obj, codec.DecodeOptions{})
	default:
		err = codec.Unmarshal(value, obj)
	}
	if err != nil {
		return nil, fmt.Errorf("stored %s: %w", r.gr, err)
	}
	return obj, nil
}

// stale reports that a readable value is of another version, or encoded in another way, than what is written
// now.
func (r *Resource) stale(value []byte) bool {
	asJSON, binary := r.def.Facts.JSON || r.def.Custom, r.def.Custom && r.registry.options.CBOR
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

// invalid is the 422 answer.
func (r *Resource) invalid(name string, errs validation.ErrorList) error {
	kind := r.info.GVK.GroupKind()
	if r.gr.Group == eventsv1.GroupVersion.Group {
		kind.Group = "" // events of both groups are refused under the older name
	}
	return apierrors.NewInvalid(kind, name, errs)
}

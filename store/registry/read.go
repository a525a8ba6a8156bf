package registry

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/cache"
)

// Freshness says which state a read must see.
type Freshness struct {
	// Any is satisfied by whatever the cache holds.
	Any bool
	// AtLeast is the lowest acceptable revision; zero with Any false means consistent: every write
	// acknowledged before the read is seen.
	AtLeast int64
	// Exact is the revision to read at; zero for none.
	Exact int64
}

// Snapshot returns a state of the resource that is as fresh as f requires.
func (r *Resource) Snapshot(ctx context.Context, f Freshness) (*cache.Snapshot, error) {
	c, fresh, err := r.startReader(ctx)
	if err != nil {
		return nil, r.readError(err, "")
	}
	var snap *cache.Snapshot
	switch {
	case f.Exact > 0:
		snap, err = r.snapshotAt(ctx, c, f.Exact)
	case f.Any:
		return c.Snapshot(), nil
	case f.AtLeast > 0:
		snap, err = r.atLeast(ctx, c, f.AtLeast)
	case fresh:
		snap, err = c.Wait(ctx, c.StartRevision())
	default:
		snap, err = c.Consistent(ctx)
	}
	if err != nil {
		return nil, r.readError(err, "")
	}
	return snap, nil
}

// snapshotAt waits for a revision that the cache may not have reached yet. Without progress reports of the
// store an idle cache would never reach it, so then the store is read.
func (r *Resource) snapshotAt(ctx context.Context, c *cache.Cache, revision int64) (*cache.Snapshot, error) {
	if r.registry.store.Capabilities().Progress {
		if _, err := r.atLeast(ctx, c, revision); err != nil {
			return nil, err
		}
	}
	return c.At(ctx, revision)
}

// maxRevisionWait bounds the time that a read waits for a revision that the store may still reach.
const maxRevisionWait = 3 * time.Second

func (r *Resource) atLeast(ctx context.Context, c *cache.Cache, revision int64) (*cache.Snapshot, error) {
	if snap := c.Snapshot(); snap.Revision() >= revision && !c.Inconsistent() {
		return snap, nil
	}
	waiting, cancel := context.WithTimeout(ctx, maxRevisionWait)
	defer cancel()
	snap, err := c.AtLeast(waiting, revision)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return nil, apierrors.NewResourceVersionTooLarge(uint64(revision), uint64(c.Snapshot().Revision()), 1)
	}
	return snap, err
}

func (r *Resource) readError(err error, name string) error {
	if e, ok := errors.AsType[*store.FutureRevisionError](err); ok {
		return apierrors.NewResourceVersionTooLarge(uint64(e.Requested), uint64(e.Current), 1)
	}
	if errors.Is(err, cache.ErrStopped) {
		if r.registry.isStopped(r.watched) { // the definition has changed under the request
			return apierrors.NewTooManyRequests("storage is (re)initializing: the definition of "+r.gr.String()+" has changed", 1)
		}
		return apierrors.NewServiceUnavailable("the server is shutting down")
	}
	return r.storeError(err, name, "get")
}

// Get returns one object: from the store if f is the zero value, else from the cache.
func (r *Resource) Get(ctx context.Context, key types.NamespacedName, f Freshness) (*cache.Object, error) {
	if f == (Freshness{}) {
		// For one key a read of the store is the cheapest consistent read.
		kv, _, err := r.registry.store.Get(ctx, r.key(key))
		if err != nil {
			return nil, r.readError(err, key.Name)
		}
		return r.objectOf(kv, key), nil
	}
	snap, err := r.Snapshot(ctx, f)
	if err != nil {
		return nil, err
	}
	o, ok := snap.Get(r.key(key))
	if !ok {
		return nil, apierrors.NewNotFound(r.gr, key.Name)
	}
	return o, nil
}

// objectOf returns the object of a stored value: if possible the cached one, which may have encoded forms.
func (r *Resource) objectOf(kv store.KV, key types.NamespacedName) *cache.Object {
	if c := r.watched.ready(); c == nil {
		r.countUncachedRead()
	} else if o, ok := c.Snapshot().Get(kv.Key); ok && o.Revision == kv.Revision {
		return o
	}
	o := &cache.Object{Key: kv.Key, Namespace: key.Namespace, Name: key.Name, Revision: kv.Revision, CreateRevision: kv.CreateRevision, Value: kv.Value}
	if codec.IsEnvelope(kv.Value) {
		o.Attrs, o.Err = r.attributes(kv) // as the cache does: the bytes may be sent as they are
	}
	return o
}

// Cached is the number of objects in the watch cache, zero while it does not run.
func (r *Resource) Cached() int {
	c := r.watched.ready()
	if c == nil {
		return 0
	}
	return c.Snapshot().Len()
}

// Decode returns a private copy of a cached object.
func (r *Resource) Decode(ctx context.Context, o *cache.Object) (metav1.Object, error) {
	if r.def.FromStoredAll != nil {
		return r.decodeConverted(ctx, o)
	}
	obj, err := r.decode(ctx, o.Value, o.Revision)
	if err != nil {
		return nil, r.undecoded(o.Name, err)
	}
	return obj, nil
}

// JSON returns the object's JSON without apiVersion and kind, made once and shared: {"metadata":...}. Custom
// resources have both in it.
func (r *Resource) JSON(ctx context.Context, o *cache.Object) ([]byte, error) {
	if body, ok := o.Made(r.jsonForm()); ok {
		return body, nil
	}
	return r.formOf(ctx, o, r.jsonForm(), r.encodeJSON)
}

// formOf returns a form of an object, which is made once and kept, as is the error if it cannot be made. So
// the object is converted before, and the form does not end with the request that happens to be first.
func (r *Resource) formOf(ctx context.Context, o *cache.Object, key cache.FormKey, encode func(context.Context, *cache.Object) ([]byte, error)) ([]byte, error) {
	if err := r.Convert(ctx, o); err != nil {
		return nil, err
	}
	return o.Form(key, func(o *cache.Object) ([]byte, error) { return encode(context.WithoutCancel(ctx), o) })
}

// cachedJSON returns the JSON of an object of that revision if the cache has it encoded.
func (r *Resource) cachedJSON(key string, revision int64) ([]byte, bool) {
	c := r.watched.ready()
	if c == nil {
		return nil, false
	}
	o, ok := c.Snapshot().Get(key)
	if !ok || o.Revision != revision {
		return nil, false
	}
	return o.Made(r.jsonForm())
}

func (r *Resource) jsonForm() cache.FormKey { return cache.FormKey{Version: r.form, MediaType: "json"} }

func (r *Resource) encodeJSON(ctx context.Context, o *cache.Object) ([]byte, error) {
	if b, ok := r.directJSON(o); ok {
		return b, nil
	}
	obj, err := r.Decode(ctx, o)
	if err != nil {
		return nil, err
	}
	if !r.def.Custom {
		setTypeMeta(obj, noKind)
	}
	return codec.Marshal(obj)
}

// directJSON transcodes objects that are stored in protobuf and served as they are stored; ok is false for
// others.
func (r *Resource) directJSON(o *cache.Object) ([]byte, bool) {
	if r.def.Custom || r.def.OnRead != nil || r.def.FromStored != nil || r.def.FromStoredAll != nil || o.Revision == 0 || !codec.IsEnvelope(o.Value) {
		return nil, false
	}
	_, _, body, err := codec.DecodeEnvelope(o.Value)
	if err != nil {
		return nil, false
	}
	var version [32]byte
	b, err := codec.ProtoToJSON(r.stored.Type, body, appendVersionSegment(version[:0], o.Revision))
	return b, err == nil
}

// JSONHead returns the beginning of an object's JSON, with kind and apiVersion, which replaces the opening
// brace of what JSON returns. It is empty for custom resources.
func (r *Resource) JSONHead() []byte {
	if r.def.Custom {
		return nil
	}
	return r.jsonHead
}

// Proto returns the object's protobuf message in two pieces: the stored bytes, and a segment with the
// resourceVersion, which may be nil.
func (r *Resource) Proto(ctx context.Context, o *cache.Object) ([]byte, []byte, error) {
	if o.Err != nil {
		return nil, nil, apierrors.NewStoreReadError(r.gr, o.Name, o.Err)
	}
	if r.def.FromStored == nil && r.def.OnRead == nil {
		_, _, raw, err := codec.DecodeEnvelope(o.Value)
		if err == nil {
			return raw, appendVersionSegment(make([]byte, 0, 24), o.Revision), nil
		}
	}
	b, err := r.formOf(ctx, o, cache.FormKey{Version: r.form, MediaType: "protobuf"}, func(ctx context.Context, o *cache.Object) ([]byte, error) {
		obj, err := r.Decode(ctx, o)
		if err != nil {
			return nil, err
		}
		return codec.MarshalProto(obj)
	})
	return b, nil, err
}

// Metadata returns the JSON of the object's PartialObjectMetadata without apiVersion and kind.
func (r *Resource) Metadata(ctx context.Context, o *cache.Object) ([]byte, error) {
	return r.formOf(ctx, o, cache.FormKey{Version: r.form, MediaType: "json", Kind: "metadata"}, func(ctx context.Context, o *cache.Object) ([]byte, error) {
		obj, err := r.Decode(ctx, o)
		if err != nil {
			return nil, err
		}
		return codec.Marshal(&metav1.PartialObjectMetadata{ObjectMeta: *metav1.MetaOf(obj)})
	})
}

// Watch delivers changes as cache.Cache.Watch does, from the objects of namespace (empty for all) or, if name
// is given, of that one.
func (r *Resource) Watch(ctx context.Context, key types.NamespacedName, o cache.WatchOptions, deliver func([]cache.Event) error) error {
	c, err := r.reader(ctx)
	if err != nil {
		return r.readError(err, "")
	}
	o.Prefix = r.listPrefix(key.Namespace)
	if key.Name != "" && (key.Namespace != "" || !r.info.Namespaced) {
		o.Prefix = r.key(key)
	}
	return c.Watch(ctx, o, deliver)
}

// ListPrefix is the key prefix of the objects of a namespace; empty means all.
func (r *Resource) ListPrefix(namespace string) string { return r.listPrefix(namespace) }

// Prefix is the key prefix of all objects.
func (r *Resource) Prefix() string { return r.prefix }

// version returns a revision as a resourceVersion.
func version(revision int64) string { return strconv.FormatInt(revision, 10) }

// Key is the store's key of an object.
func (r *Resource) Key(key types.NamespacedName) string { return r.key(key) }

// SetKind writes apiVersion and kind into an object of any Go type.
func SetKind(obj metav1.Object, gvk schema.GroupVersionKind) { setTypeMeta(obj, gvk) }

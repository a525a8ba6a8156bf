package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
	"github.com/keelson-dev/keelson/store/cache"
)

// Change returns the new state for the current one. It is called again after a write lost a race.
type Change func(current Current) (metav1.Object, error)

// Current is the state an update begins with.
type Current struct {
	// Object must not be changed; nil if the object does not exist.
	Object metav1.Object
	res    *Resource
	state  *state
}

// CurrentOf returns the state of an object of the cache, for [UpdateOptions.From]. obj is the object as
// Decode returned it, and must not be changed afterwards.
func (r *Resource) CurrentOf(o *cache.Object, obj metav1.Object) Current {
	return Current{Object: obj, res: r, state: &state{obj: obj, raw: o.Value, revision: o.Revision}}
}

// Copy returns a private copy of the object.
func (c Current) Copy(ctx context.Context) (metav1.Object, error) {
	obj, err := c.res.decode(ctx, c.state.raw, c.state.revision)
	if err != nil {
		return nil, c.res.undecoded(c.Object.GetName(), err)
	}
	return obj, nil
}

// JSON returns the object's JSON, with apiVersion and kind.
func (c Current) JSON() ([]byte, error) {
	if body, ok := c.res.cachedJSON(c.res.key(metav1.KeyOf(c.Object)), c.state.revision); ok {
		head := c.res.JSONHead()
		if len(head) > 0 {
			body = body[1:]
		}
		return slices.Concat(head, body), nil
	}
	// The result of the update replaces this state immediately, so its JSON is not kept with the cached
	// object.
	return codec.Marshal(c.Object)
}

// UpdateOptions refine an update.
type UpdateOptions struct {
	Write
	// Create allows the update to create a missing object; nil means a 404. It is called before, and its
	// error is returned: the right to update or patch does not include that to create.
	Create func(context.Context) error
	// Patch relaxes the requirements of a PUT: the version may be missing, and a wrong uid is a 422.
	Patch bool
	// From is the state that the first attempt begins with, made by [Resource.CurrentOf], which saves reading
	// and decoding the object. If it is not the newest, the update begins again with the newest state. The
	// zero value reads the object.
	From Current
}

// state is an object as it is in the store.
type state struct {
	obj      metav1.Object
	raw      []byte
	revision int64
	stale    bool // store.KV.Stale; false if it is not known, as of the cache
	// removed is set when a write that began with this state has removed the object.
	removed bool
}

// current reads an object from the store; the state is nil if it does not exist.
func (r *Resource) current(ctx context.Context, key types.NamespacedName) (*state, error) {
	kv, _, err := r.registry.store.Get(ctx, r.key(key))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, r.storeError(err, key.Name, "get")
	}
	obj, err := r.decode(ctx, kv.Value, kv.Revision)
	if err != nil {
		return nil, r.undecoded(key.Name, err)
	}
	return &state{obj: obj, raw: kv.Value, revision: kv.Revision, stale: kv.Stale}, nil
}

// Update changes an object and returns it as stored; created is true if the object did not exist.
//
// The steps, in this order: change, preconditions, defaults, ownership of fields, mutating admission,
// restrictions of the subresource, validation, validating admission, the write. All of them run again on the
// newest state if another write came first, unless the client named a resourceVersion.
func (r *Resource) Update(ctx context.Context, key types.NamespacedName, change Change, o UpdateOptions) (obj metav1.Object, created bool, err error) {
	for first := true; ; first = false {
		cur, fromCache := o.From.state, true
		if !first || cur == nil {
			if cur, fromCache, err = r.begin(ctx, key, first); err != nil {
				return nil, false, err
			}
		}
		if cur == nil {
			if o.Create == nil {
				return nil, false, apierrors.NewNotFound(r.gr, key.Name)
			}
			obj, err := r.createByUpdate(ctx, key, change, o)
			if err != nil && apierrors.IsAlreadyExists(err) && o.Patch {
				continue // created by another request meanwhile: now it is an update
			}
			return obj, err == nil, err
		}
		obj, retry, err := r.updateOnce(ctx, key, cur, change, o)
		if retry || fromCache && maybeStale(obj, cur, err) {
			if err := ctx.Err(); err != nil {
				return nil, false, r.storeError(err, key.Name, "update")
			}
			continue
		}
		return obj, false, err
	}
}

// begin reads the state a write begins with. The first attempt may use what the cache holds, which saves a
// round trip to a remote store: a write of it succeeds only if it is the newest, and anything else
// is tried again.
func (r *Resource) begin(ctx context.Context, key types.NamespacedName, first bool) (cur *state, fromCache bool, err error) {
	if c := r.watched.ready(); first && c != nil && r.registry.store.Capabilities().Remote {
		if o, ok := c.Snapshot().Get(r.key(key)); ok && o.Err == nil {
			if obj, err := r.decode(ctx, o.Value, o.Revision); err == nil {
				return &state{obj: obj, raw: o.Value, revision: o.Revision}, true, nil
			}
		}
	}
	cur, err = r.current(ctx, key)
	return cur, false, err
}

// maybeStale reports that an outcome depends on a cached state that may not be the newest: an error of the
// client, or nothing to change. Errors of the store do not count: the write may have taken effect.
func maybeStale(obj metav1.Object, cur *state, err error) bool {
	if err != nil {
		code := apierrors.CodeOf(err)
		return code >= 400 && code < 500
	}
	return obj != nil && !cur.removed && obj.GetResourceVersion() == version(cur.revision)
}

func (r *Resource) createByUpdate(ctx context.Context, key types.NamespacedName, change Change, o UpdateOptions) (metav1.Object, error) {
	if err := o.Create(ctx); err != nil {
		return nil, err
	}
	obj, err := change(Current{res: r})
	if err != nil {
		return nil, err
	}
	m := metav1.MetaOf(obj)
	if m.UID != "" {
		return nil, apierrors.NewConflict(r.gr, key.Name, ErrOtherUID(m.UID, ""))
	}
	if m.ResourceVersion != "" && m.ResourceVersion != "0" {
		return nil, apierrors.NewNotFound(r.gr, key.Name)
	}
	m.ResourceVersion = ""
	if m.Name == "" {
		m.Name = key.Name
	}
	w := o.Write
	w.Options = createOptionsOf(w)
	return r.Create(ctx, key.Namespace, obj, w)
}

func createOptionsOf(w Write) *metav1.CreateOptions {
	o := &metav1.CreateOptions{FieldManager: w.FieldManager}
	if w.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	return o
}

// updateOnce tries to change cur. retry means that another write came first and that the client did not name
// a version.
func (r *Resource) updateOnce(ctx context.Context, key types.NamespacedName, cur *state, change Change, o UpdateOptions) (_ metav1.Object, retry bool, _ error) {
	obj, err := change(Current{Object: cur.obj, res: r, state: cur})
	if errors.Is(err, ErrUnchanged) {
		if cur.stale || r.stale(cur.raw) { // the object is up to date, but its stored encoding is not
			return r.replace(ctx, key, cur, cur.obj, o, false)
		}
		return cur.obj, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := r.place(obj, key.Namespace); err != nil {
		return nil, false, err
	}
	setTypeMeta(obj, r.info.GVK)
	m, old := metav1.MetaOf(obj), metav1.MetaOf(cur.obj)
	if err := r.checkIdentity(m, old, o); err != nil {
		return nil, false, err
	}
	versioned := m.ResourceVersion != "" && !o.Patch
	if err := r.checkVersion(m, old, o); err != nil {
		return nil, false, err
	}
	r.complete(obj)
	dedupOwners(m, o.Warn)
	attrs := r.admissionAttributes(ctx, admission.Update, o.Write, obj, cur.obj)
	chain := r.chainOf(o.Write)
	if err := r.trackUpdate(ctx, obj, cur.obj, o.Write); err != nil {
		return nil, false, err
	}
	if err := chain.mutate(ctx, attrs); err != nil {
		return nil, false, err
	}
	if err := o.reapplyBody(obj); err != nil {
		return nil, false, err
	}
	r.prepareUpdate(ctx, obj, cur.obj, o)
	if errs := r.validateUpdate(obj, cur.obj, o); len(errs) > 0 {
		return nil, false, r.invalid(key.Name, errs)
	}
	r.sendWarnings(obj, cur.obj, o.Write)
	if err := chain.validate(ctx, attrs); err != nil {
		return nil, false, err
	}
	if r.mustRemove(m, obj) {
		return r.removeByUpdate(ctx, cur, obj, o, versioned)
	}
	return r.replace(ctx, key, cur, obj, o, versioned)
}

// checkIdentity compares the uid that the client sent.
func (r *Resource) checkIdentity(m, old *metav1.ObjectMeta, o UpdateOptions) error {
	if m.Name == "" && !o.Patch {
		m.Name = old.Name
	}
	if m.UID != "" && m.UID != old.UID && !o.Patch {
		return apierrors.NewConflict(r.gr, old.Name, ErrOtherUID(m.UID, old.UID))
	}
	return nil
}

// ErrOtherUID returns the error of a request whose uid is not that of the object of that name.
func ErrOtherUID(want, got types.UID) error {
	return fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", want, got)
}

// checkVersion compares the resourceVersion that the client sent.
func (r *Resource) checkVersion(m, old *metav1.ObjectMeta, o UpdateOptions) error {
	switch m.ResourceVersion {
	case old.ResourceVersion:
		return nil
	case "", "0":
		if r.def.Strategy.VersionRequired {
			// The resource in the place of the kind, and the number, are what upstream says, and kubectl
			// prints.
			p := validation.NewPath("metadata", "resourceVersion")
			return apierrors.NewInvalid(schema.GroupKind{Group: r.gr.Group, Kind: r.gr.Resource}, old.Name,
				validation.ErrorList{validation.Invalid(p, 0, "must be specified for an update")})
		}
		m.ResourceVersion = old.ResourceVersion
		return nil
	}
	if _, err := strconv.ParseUint(m.ResourceVersion, 10, 64); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("metadata.resourceVersion %q is not a number", m.ResourceVersion))
	}
	return apierrors.NewConflict(r.gr, old.Name, errModified)
}

// prepareUpdate restores what this write may not change, and counts the generation.
func (r *Resource) prepareUpdate(ctx context.Context, obj, old metav1.Object, o UpdateOptions) {
	m, om := metav1.MetaOf(obj), metav1.MetaOf(old)
	carryMeta(m, om)
	s := r.def.Strategy
	switch {
	case o.Subresource == "status":
		r.shape.restoreExceptStatus(obj, old)
		if r.def.Custom || s.StatusOnly {
			// As upstream: status writes of custom resources leave all of the metadata but managedFields
			// alone.
			fields, version := m.ManagedFields, m.ResourceVersion
			*m = *om
			m.ManagedFields, m.ResourceVersion = fields, version
		} else {
			m.DeletionTimestamp = om.DeletionTimestamp
		}
		if s.PrepareStatus != nil {
			s.PrepareStatus(ctx, obj, old)
		}
	case o.Subresource == "" && r.hasStatus:
		r.shape.copyStatus(obj, old)
	}
	sub := r.def.Subresources[o.Subresource]
	if sub.Edit != nil {
		sub.Edit(obj, old)
	}
	if s.PrepareUpdate != nil && o.Subresource == "" {
		s.PrepareUpdate(ctx, obj, old)
	}
	if rule := r.def.Strategy.Generation; rule != Unmanaged {
		m.Generation = om.Generation
		if o.Subresource != "status" && !sub.KeepsGeneration && r.desiredChanged(rule, obj, old) {
			m.Generation++
		}
	}
}

func (r *Resource) desiredChanged(rule GenerationRule, obj, old metav1.Object) bool {
	if rule == OnSpecAndMetadata && !maps.Equal(obj.GetAnnotations(), old.GetAnnotations()) {
		return true
	}
	return !r.shape.sameDesired(obj, old, !r.hasStatus)
}

func (r *Resource) validateUpdate(obj, old metav1.Object, o UpdateOptions) validation.ErrorList {
	errs := r.validateMetaUpdate(metav1.MetaOf(obj), metav1.MetaOf(old), o.Subresource)
	rules := &r.info.Rules
	sub := r.def.Subresources[o.Subresource]
	switch {
	case sub.Validate != nil:
		return append(errs, sub.Validate(obj, old)...)
	case o.Subresource == "status":
		if rules.ValidateStatus != nil {
			errs = append(errs, rules.ValidateStatus(obj, old)...)
		}
	case rules.ValidateUpdate != nil:
		errs = append(errs, rules.ValidateUpdate(obj, old)...)
	case rules.Validate != nil:
		errs = append(errs, rules.Validate(obj)...)
	}
	return append(errs, r.def.Scale.validate(obj, o.Subresource == "status")...)
}

// mustRemove reports that the object is to be removed: it is marked for deletion, without a grace period, and
// has no finalizers.
func (r *Resource) mustRemove(m *metav1.ObjectMeta, obj metav1.Object) bool {
	if m.DeletionTimestamp.IsZero() || len(m.Finalizers) > 0 {
		return false
	}
	if m.DeletionGracePeriodSeconds != nil && *m.DeletionGracePeriodSeconds != 0 {
		return false
	}
	return r.def.Strategy.Held == nil || !r.def.Strategy.Held(obj)
}

func (r *Resource) removeByUpdate(ctx context.Context, cur *state, obj metav1.Object, o UpdateOptions, versioned bool) (metav1.Object, bool, error) {
	if o.DryRun {
		return obj, false, nil
	}
	_, err := r.remove(ctx, cur)
	switch {
	case err == nil:
		cur.removed = true
		return obj, false, nil
	case isConflict(err) && !versioned:
		return nil, true, nil
	}
	return nil, false, r.storeError(err, obj.GetName(), "update")
}

// replace writes obj over cur unless they are the same.
func (r *Resource) replace(ctx context.Context, key types.NamespacedName, cur *state, obj metav1.Object, o UpdateOptions, versioned bool) (metav1.Object, bool, error) {
	for {
		res, err := r.reserve(ctx, obj, cur.obj)
		if err != nil {
			return nil, false, err
		}
		obj.SetResourceVersion("")
		value, err := r.encode(ctx, obj)
		setTypeMeta(obj, r.info.GVK)
		obj.SetResourceVersion(strconv.FormatInt(cur.revision, 10))
		if err != nil {
			res.undo()
			return nil, false, withStatus(err)
		}
		if o.DryRun || len(res.Ops) == 0 && !cur.stale && bytes.Equal(value, cur.raw) {
			return obj, false, nil
		}
		op := store.Op{Type: store.OpUpdate, Key: r.key(key), Value: value, Expected: cur.revision, TTL: r.ttl(obj)}
		r.hint(op.Key, value, obj)
		revision, err := r.commit(ctx, op, res.Ops)
		if err == nil {
			obj.SetResourceVersion(strconv.FormatInt(revision, 10))
			res.done()
			return obj, false, nil
		}
		res.undo()
		switch {
		case lostRace(err, op.Key):
			continue
		case isConflict(err) && !versioned:
			return nil, true, nil
		}
		return nil, false, r.storeError(err, key.Name, "update")
	}
}

// isConflict reports that the object changed between read and write.
func isConflict(err error) bool {
	_, ok := errors.AsType[*store.ConflictError](err)
	return ok
}

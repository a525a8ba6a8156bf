package registry

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
)

var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// Create stores a new object and returns it as stored. obj must not be used afterwards. namespace is that of
// the request; obj may leave its own empty.
//
// The steps, in this order: defaults, ownership of fields, mutating admission, fields set by the server,
// validation, validating admission, the write.
func (r *Resource) Create(ctx context.Context, namespace string, obj metav1.Object, w Write) (metav1.Object, error) {
	if err := r.place(obj, namespace); err != nil {
		return nil, err
	}
	m := metav1.MetaOf(obj)
	versioned := m.ResourceVersion != "" && m.ResourceVersion != "0" // zero is no version, as in manifests
	// Fields that only the server sets are cleared before they are recorded as owned by the client.
	m.DeletionTimestamp, m.DeletionGracePeriodSeconds, m.SelfLink = nil, nil, ""
	if r.def.Terminating {
		return nil, apierrors.NewForbidden(r.gr, m.Name, errTerminating)
	}
	setTypeMeta(obj, r.info.GVK)
	r.complete(obj)
	dedupOwners(m, w.Warn)
	attrs := r.admissionAttributes(ctx, admission.Create, w, obj, nil)
	chain := r.chainOf(w)
	if err := r.trackCreate(ctx, obj, w); err != nil {
		return nil, err
	}
	if err := chain.mutate(ctx, attrs); err != nil {
		return nil, err
	}
	if err := r.place(obj, namespace); err != nil {
		return nil, err
	}
	setTypeMeta(obj, r.info.GVK)
	prefix := ""
	if m.Name == "" && m.GenerateName != "" {
		prefix = m.GenerateName
		m.Name = r.generatedName(m.Namespace, prefix)
	}
	r.beginLife(ctx, m, obj)
	if errs := r.validateNew(obj); len(errs) > 0 {
		return nil, r.invalid(m.Name, errs)
	}
	r.sendWarnings(obj, nil, w)
	attrs.Name = m.Name
	if err := chain.validate(ctx, attrs); err != nil {
		return nil, err
	}
	if versioned && !w.DryRun {
		return nil, apierrors.NewBadRequest("metadata.resourceVersion must not be set on an object to be created")
	}
	for attempt := 1; ; attempt++ {
		err := r.insert(ctx, obj, w)
		if err == nil {
			return obj, nil
		}
		if !apierrors.IsAlreadyExists(err) || prefix == "" || attempt == nameAttempts {
			return nil, err
		}
		m.Name = r.generatedName(m.Namespace, prefix)
	}
}

// complete fills in defaults.
func (r *Resource) complete(obj metav1.Object) {
	if r.info.Rules.Default != nil {
		r.info.Rules.Default(obj)
	}
	if r.def.Strategy.Complete != nil {
		r.def.Strategy.Complete(obj)
	}
}

// sendWarnings sends the kind's warnings about a valid write.
func (r *Resource) sendWarnings(obj, old metav1.Object, w Write) {
	if w.Warn == nil {
		return
	}
	if warnings := r.info.Rules.Warnings; warnings != nil {
		for _, text := range warnings(obj, old) {
			w.Warn(text)
		}
	}
	if r.def.Custom {
		warnOfFinalizers(obj, old, w.Warn)
	}
}

// place checks and sets the namespace; it clears that of a cluster-scoped object.
func (r *Resource) place(obj metav1.Object, namespace string) error {
	if !r.info.Namespaced {
		obj.SetNamespace("")
		return nil
	}
	switch got := obj.GetNamespace(); {
	case got == "":
		obj.SetNamespace(namespace)
	case namespace != "" && got != namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// beginLife sets the fields that only the server sets, and prepares the object by the kind's strategy.
func (r *Resource) beginLife(ctx context.Context, m *metav1.ObjectMeta, obj metav1.Object) {
	m.CreationTimestamp = metav1.Now().Truncated()
	m.UID = r.newUID(m.Namespace, m.Name)
	if r.hasStatus && !r.def.Strategy.KeepStatus {
		r.shape.clearStatus(obj)
	}
	if r.def.Strategy.Generation != Unmanaged {
		m.Generation = 1
	}
	if prepare := r.def.Strategy.PrepareCreate; prepare != nil {
		prepare(ctx, obj)
	}
}

// insert writes obj to the store and sets its resourceVersion.
func (r *Resource) insert(ctx context.Context, obj metav1.Object, w Write) error {
	key := r.key(metav1.KeyOf(obj))
	for {
		res, err := r.reserve(ctx, obj, nil)
		if err != nil {
			return err
		}
		obj.SetResourceVersion("")
		value, err := r.encode(ctx, obj)
		if err != nil {
			res.undo()
			return withStatus(err)
		}
		if w.DryRun {
			setTypeMeta(obj, r.info.GVK)
			return r.dryRunInsert(ctx, key, obj.GetName())
		}
		r.hint(key, value, obj)
		revision, err := r.commit(ctx, store.Op{Type: store.OpCreate, Key: key, Value: value, TTL: r.ttl(obj)}, res.Ops)
		setTypeMeta(obj, r.info.GVK)
		if err == nil {
			obj.SetResourceVersion(strconv.FormatInt(revision, 10))
			res.done()
			return nil
		}
		res.undo()
		if lostRace(err, key) {
			continue
		}
		if exists, ok := errors.AsType[*store.ExistsError](err); ok {
			return r.existsError(ctx, exists.Current, obj.GetName())
		}
		return r.storeError(err, obj.GetName(), "create")
	}
}

// existsError returns the error of a create whose key exists. It says if the object is being deleted.
func (r *Resource) existsError(ctx context.Context, kv store.KV, name string) error {
	err := apierrors.NewAlreadyExists(r.gr, name)
	if obj, bad := r.decode(ctx, kv.Value, kv.Revision); bad == nil && !metav1.MetaOf(obj).DeletionTimestamp.IsZero() {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

func (r *Resource) dryRunInsert(ctx context.Context, key, name string) error {
	kv, _, err := r.registry.store.Get(ctx, key)
	switch {
	case err == nil:
		return r.existsError(ctx, kv, name)
	case errors.Is(err, store.ErrNotFound):
		return nil
	}
	return r.storeError(err, name, "create")
}

func (r *Resource) ttl(obj metav1.Object) time.Duration {
	if r.def.Strategy.TTL == nil {
		return 0
	}
	return r.def.Strategy.TTL(obj)
}

// reserve returns the operations that must commit together with this write.
func (r *Resource) reserve(ctx context.Context, obj, old metav1.Object) (Reservation, error) {
	if r.def.Strategy.Reserve == nil {
		return Reservation{}, nil
	}
	res, err := r.def.Strategy.Reserve(ctx, obj, old)
	if err == nil {
		return res, nil
	}
	verb, about := "update", obj
	switch {
	case old == nil:
		verb = "create"
	case obj == nil:
		verb, about = "delete", old
	}
	return res, r.storeError(err, about.GetName(), verb)
}

func (res Reservation) undo() {
	if res.Undo != nil {
		res.Undo()
	}
}

func (res Reservation) done() {
	if res.Done != nil {
		res.Done()
	}
}

// commit writes op, together with more, guarded by the fence token in ctx if there is one.
func (r *Resource) commit(ctx context.Context, op store.Op, more []store.Op) (int64, error) {
	for first := true; ; first = false {
		guards, err := r.registry.guardsOf(ctx, first)
		if err != nil {
			return 0, err
		}
		revision, err := r.commitOnce(ctx, op, more, guards)
		if !isGuardFailure(err) {
			if err == nil {
				r.watched.recordWrite(revision)
			}
			return revision, err
		}
	}
}

func (r *Resource) commitOnce(ctx context.Context, op store.Op, more []store.Op, guards []store.Guard) (int64, error) {
	s := r.registry.store
	if len(more) > 0 {
		return s.Txn(ctx, append([]store.Op{op}, more...), guards)
	}
	o := store.WriteOptions{TTL: op.TTL, Guards: guards}
	switch op.Type {
	case store.OpCreate:
		return s.Create(ctx, op.Key, op.Value, o)
	case store.OpUpdate:
		return s.Update(ctx, op.Key, op.Value, op.Expected, o)
	default:
		return s.Delete(ctx, op.Key, op.Expected, o)
	}
}

// lostRace reports that a write failed because of another key than its own: one of a reservation.
func lostRace(err error, key string) bool {
	if e, ok := errors.AsType[*store.ExistsError](err); ok {
		return e.Key != key
	}
	if e, ok := errors.AsType[*store.ConflictError](err); ok {
		return e.Key != key
	}
	return false
}

// storeError returns the API error for an error of the store.
func (r *Resource) storeError(err error, name, verb string) error {
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	if errors.Is(err, store.ErrNotFound) {
		return apierrors.NewNotFound(r.gr, name)
	}
	if _, ok := errors.AsType[*store.ExistsError](err); ok {
		return apierrors.NewAlreadyExists(r.gr, name)
	}
	if _, ok := errors.AsType[*store.ConflictError](err); ok {
		return apierrors.NewConflict(r.gr, name, errModified)
	}
	if _, ok := errors.AsType[*store.TooLargeError](err); ok {
		return apierrors.NewRequestEntityTooLarge(err.Error())
	}
	if _, ok := errors.AsType[*store.ExpiredError](err); ok {
		return apierrors.NewResourceExpired("the resourceVersion is too old")
	}
	if e, ok := errors.AsType[*store.UnavailableError](err); ok {
		if e.MaybeApplied {
			// Without Retry-After, which makes clients retry by themselves: the retry of a write that took
			// effect would fail, or undo a later write.
			return apierrors.NewTimeout("the store did not confirm the "+verb+": it may or may not have taken effect", 0)
		}
		return apierrors.NewServerTimeout(r.gr, verb, 1)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeout("the "+verb+" did not end in time", 0)
	case errors.Is(err, context.Canceled):
		return apierrors.NewTimeout("the request was cancelled", 0)
	case errors.Is(err, store.ErrClosed):
		return apierrors.NewServiceUnavailable("the server is shutting down")
	}
	return apierrors.NewInternalError(err)
}

var errModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

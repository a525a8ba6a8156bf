package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/admission"
)

// Deletion is the outcome of a delete.
type Deletion struct {
	// Object is the last state, or the state marked for deletion.
	Object metav1.Object
	// Gone is true when the object has been removed.
	Gone bool
	// ShowObject is true when the response is the object, false when it is a Status.
	ShowObject bool
}

// Delete removes an object or marks it for removal.
func (r *Resource) Delete(ctx context.Context, key types.NamespacedName, options *metav1.DeleteOptions, w Write) (*Deletion, error) {
	for first := true; ; first = false {
		cur, fromCache, err := r.begin(ctx, key, first)
		if err != nil {
			return nil, err
		}
		if cur == nil {
			return nil, apierrors.NewNotFound(r.gr, key.Name)
		}
		d, retry, err := r.deleteOnce(ctx, key, cur, options, w)
		if fromCache && !retry {
			switch {
			case err != nil:
				retry = maybeStale(nil, cur, err)
			case !d.Gone:
				retry = maybeStale(d.Object, cur, nil)
			}
		}
		if !retry {
			return d, err
		}
		if err := ctx.Err(); err != nil {
			return nil, r.storeError(err, key.Name, "delete")
		}
	}
}

// DeleteUnreadable removes an object whose stored bytes cannot be decoded: immediately, whatever finalizers
// it had, and without admission. An object that can be decoded, or does not exist, is a 422; one whose
// conversion fails can be decoded.
func (r *Resource) DeleteUnreadable(ctx context.Context, key types.NamespacedName) error {
	for {
		kv, _, err := r.registry.store.Get(ctx, r.key(key))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return r.storeError(err, key.Name, "get")
		}
		readable := err != nil // it does not exist
		if !readable {
			_, err = r.decodeStored(kv.Value)
			readable = err == nil
		}
		if readable {
			p := validation.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential")
			// The resource in the place of the kind is as upstream.
			return apierrors.NewInvalid(schema.GroupKind{Group: r.gr.Group, Kind: r.gr.Resource}, key.Name, validation.ErrorList{
				validation.Invalid(p, true, "is exclusively used to delete corrupt object(s), try again by removing this option")})
		}
		_, err = r.commit(ctx, store.DeleteOp(kv.Key, kv.Revision), nil)
		if err == nil {
			return nil
		}
		if !isConflict(err) { // otherwise it may have become readable
			return r.storeError(err, key.Name, "delete")
		}
	}
}

func (r *Resource) deleteOnce(ctx context.Context, key types.NamespacedName, cur *state, options *metav1.DeleteOptions, w Write) (_ *Deletion, retry bool, _ error) {
	var o metav1.DeleteOptions
	if options != nil {
		o = *options
	}
	m := metav1.MetaOf(cur.obj)
	if err := r.checkPreconditions(m, o.Preconditions); err != nil {
		return nil, false, err
	}
	old, err := r.decode(ctx, cur.raw, cur.revision)
	if err != nil {
		return nil, false, r.undecoded(key.Name, err)
	}
	if w.Body == nil { // the options of an eviction are not those of its delete
		w.Options = &o
	}
	attrs := r.admissionAttributes(ctx, admission.Delete, w, nil, old)
	chain := r.chainOf(w)
	if err := chain.mutate(ctx, attrs); err != nil {
		return nil, false, err
	}
	if err := chain.validate(ctx, attrs); err != nil {
		return nil, false, err
	}
	graceful, pending := r.beginDelete(cur.obj, &o)
	finalized := r.deletionFinalizers(m, &o)
	if pending && !finalized {
		return &Deletion{Object: cur.obj, ShowObject: true}, false, nil
	}
	waits := len(m.Finalizers) > 0 || graceful && o.GracePeriodSeconds != nil && *o.GracePeriodSeconds > 0 || pending
	if r.def.Strategy.Held != nil && r.def.Strategy.Held(cur.obj) {
		waits = true
	}
	if waits {
		if m.DeletionTimestamp.IsZero() {
			r.markDeleted(m, cur.obj, 0)
		}
		obj, retry, err := r.replace(ctx, key, cur, cur.obj, UpdateOptions{Write: w}, false)
		return &Deletion{Object: obj, ShowObject: true}, retry, err
	}
	d := &Deletion{Object: cur.obj, Gone: true, ShowObject: r.def.Strategy.ReturnsDeleted}
	if w.DryRun {
		return d, false, nil
	}
	revision, err := r.remove(ctx, cur)
	switch {
	case err == nil:
		if !d.ShowObject {
			m.ResourceVersion = strconv.FormatInt(revision, 10)
		}
		return d, false, nil
	case isConflict(err):
		return nil, true, nil
	}
	return nil, false, r.storeError(err, key.Name, "delete")
}

func (r *Resource) checkPreconditions(m *metav1.ObjectMeta, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	// The kind as the resource, as upstream.
	kind := schema.GroupResource{Group: r.gr.Group, Resource: r.info.GVK.Kind}
	if p.UID != nil && *p.UID != m.UID {
		return apierrors.NewConflict(kind, m.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m.UID))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.ResourceVersion {
		return apierrors.NewConflict(kind, m.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m.ResourceVersion))
	}
	return nil
}

// beginDelete marks an object of a kind that is deleted gracefully. pending means that it is marked already
// and that this request does not shorten its grace period.
func (r *Resource) beginDelete(obj metav1.Object, o *metav1.DeleteOptions) (graceful, pending bool) {
	m := metav1.MetaOf(obj)
	grace := r.def.Strategy.Grace
	if grace == nil && (m.DeletionTimestamp.IsZero() || !r.held(obj)) {
		return false, false
	}
	if !m.DeletionTimestamp.IsZero() {
		if m.DeletionGracePeriodSeconds == nil || *m.DeletionGracePeriodSeconds == 0 {
			return false, false
		}
		if o.GracePeriodSeconds == nil || *o.GracePeriodSeconds >= *m.DeletionGracePeriodSeconds {
			return false, true
		}
		// A shorter grace period counts from when the first one began.
		begun := m.DeletionTimestamp.Add(-time.Duration(*m.DeletionGracePeriodSeconds) * time.Second)
		period := max(*o.GracePeriodSeconds, 0)
		at := metav1.NewTime(begun.Add(time.Duration(period) * time.Second))
		m.DeletionTimestamp, m.DeletionGracePeriodSeconds, o.GracePeriodSeconds = &at, &period, &period
		return true, false
	}
	if !grace(obj, o) || o.GracePeriodSeconds == nil {
		return false, false
	}
	r.markDeleted(m, obj, *o.GracePeriodSeconds)
	return true, false
}

func (r *Resource) held(obj metav1.Object) bool {
	return r.def.Strategy.Held != nil && r.def.Strategy.Held(obj)
}

// markDeleted sets the deletion timestamp. It raises the generation, because controllers must observe the
// change.
func (r *Resource) markDeleted(m *metav1.ObjectMeta, obj metav1.Object, seconds int64) {
	at := metav1.NewTime(time.Now().Add(time.Duration(seconds) * time.Second)).Truncated()
	m.DeletionTimestamp = &at
	if r.def.Strategy.MarkDeleted != nil {
		r.def.Strategy.MarkDeleted(obj)
	} else {
		m.DeletionGracePeriodSeconds = &seconds
	}
	if m.Generation > 0 {
		m.Generation++
	}
}

// deletionFinalizers sets the finalizers of the garbage collector to those of the propagation policy, and
// reports whether that changed anything.
func (r *Resource) deletionFinalizers(m *metav1.ObjectMeta, o *metav1.DeleteOptions) bool {
	policy := r.propagation(m, o)
	want := slices.DeleteFunc(slices.Clone(m.Finalizers), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	switch policy {
	case metav1.DeletePropagationOrphan:
		want = append(want, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		want = append(want, metav1.FinalizerDeleteDependents)
	}
	if sameSet(want, m.Finalizers) {
		return false
	}
	m.Finalizers = want
	return true
}

func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, v := range a {
		if !slices.Contains(b, v) {
			return false
		}
	}
	return true
}

// propagation returns the propagation policy: that of the request, else that of an earlier one, else the
// kind's default.
func (r *Resource) propagation(m *metav1.ObjectMeta, o *metav1.DeleteOptions) metav1.DeletionPropagation {
	switch {
	case r.def.Strategy.TTL != nil:
		return metav1.DeletePropagationBackground // events own nothing
	case o.OrphanDependents != nil && *o.OrphanDependents:
		return metav1.DeletePropagationOrphan
	case o.OrphanDependents != nil:
		return metav1.DeletePropagationBackground
	case o.PropagationPolicy != nil:
		return *o.PropagationPolicy
	case slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(m.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	if r.def.Strategy.Orphans {
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// remove deletes the key of cur at its revision, with the operations that the kind reserves.
func (r *Resource) remove(ctx context.Context, cur *state) (int64, error) {
	key := r.key(metav1.KeyOf(cur.obj))
	for {
		res, err := r.reserve(ctx, nil, cur.obj)
		if err != nil {
			return 0, err
		}
		revision, err := r.commit(ctx, store.DeleteOp(key, cur.revision), res.Ops)
		if err == nil {
			return revision, nil
		}
		res.undo()
		if !lostRace(err, key) {
			return 0, err
		}
	}
}

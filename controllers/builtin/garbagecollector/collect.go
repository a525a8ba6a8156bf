package garbagecollector

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

// reconcile does what the object with the uid in req needs.
func (c *collector) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, ok := c.graph.get(types.UID(req.Name))
	if !ok {
		return reconcile.Result{}, nil
	}
	result, err := c.workOn(ctx, v)
	if err != nil {
		err = fmt.Errorf("garbagecollector: %s %s: %w", v.id.kind.GVR.GroupResource(), v.id.key, err)
	}
	return result, err
}

func (c *collector) workOn(ctx context.Context, v view) (reconcile.Result, error) {
	if !v.doubtful {
		return c.act(ctx, v)
	}
	live, err := c.read(ctx, v.id, v.uid)
	if err != nil || live == nil {
		return reconcile.Result{}, err
	}
	c.check(c.graph.confirm(v.id, &live.ObjectMeta))
	v, ok := c.graph.get(v.uid)
	if !ok {
		return reconcile.Result{}, nil
	}
	result, err := c.act(ctx, v)
	if v.doubtful && result.RequeueAfter == 0 {
		result.RequeueAfter = patience
	}
	return result, err
}

// act does what an object needs whose state is known.
func (c *collector) act(ctx context.Context, v view) (reconcile.Result, error) {
	switch {
	case v.orphaning:
		return c.orphan(ctx, v)
	case v.foreground:
		return c.awaitDependents(ctx, v)
	case v.deleting || c.graph.settledNow(v.uid):
		return reconcile.Result{}, nil
	}
	return c.collect(ctx, v)
}

// read reads an object. If it is proven not to exist, read takes it out of the graph and returns nil.
func (c *collector) read(ctx context.Context, id identity, uid types.UID) (*metav1.PartialObjectMetadata, error) {
	live, err := c.api(id.kind).Get(ctx, id.key)
	switch {
	case notFound(err, id.key.Name), err == nil && live.UID != uid:
		c.check(c.graph.remove(uid))
		return nil, nil
	case err != nil:
		return nil, err
	}
	return live, nil
}

// notFound reports whether err says of the very object of that name that it does not exist. A server that
// does not serve the resource, or something on the way to it, answers 404 too.
func notFound(err error, name string) bool {
	if !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) {
		return false
	}
	status, ok := apierrors.StatusOf(err)
	return ok && status.Details != nil && status.Details.Name == name
}

// soon is when to look again for resources that are being read.
const soon = time.Second

// awaitDependents lets an owner go that is deleted in the foreground when no dependent blocks it. The end of
// the last one brings it back here.
func (c *collector) awaitDependents(ctx context.Context, v view) (reconcile.Result, error) {
	if v.blocked {
		for _, d := range c.graph.circle(v.uid) {
			if err := c.unblock(ctx, d, v.uid); err != nil {
				return reconcile.Result{}, err
			}
		}
		return reconcile.Result{}, nil
	}
	more, wait, err := c.unseenDependents(ctx, v)
	if err != nil || wait {
		return reconcile.Result{RequeueAfter: soon}, err
	}
	// A resource that was read after v was taken is not unseen any more.
	switch now, ok := c.graph.get(v.uid); {
	case !ok:
		return reconcile.Result{}, nil
	case now.blocked:
		return c.awaitDependents(ctx, now)
	}
	for _, d := range more {
		if slices.ContainsFunc(d.owners, func(r metav1.OwnerReference) bool { return holds(v.uid, v.id, d.id.key.Namespace, &r) }) {
			// It is collected when its resource can be watched.
			return reconcile.Result{RequeueAfter: patience}, nil
		}
	}
	return reconcile.Result{}, c.dropFinalizer(ctx, v, metav1.FinalizerDeleteDependents)
}

// orphan removes the references of all dependents to an owner that was deleted so, and then lets the owner
// go.
func (c *collector) orphan(ctx context.Context, v view) (reconcile.Result, error) {
	more, wait, err := c.unseenDependents(ctx, v)
	if err != nil || wait {
		return reconcile.Result{RequeueAfter: soon}, err
	}
	// What the graph has may be of a while ago, and references that are removed do not come back.
	live, err := c.read(ctx, v.id, v.uid)
	if err != nil || live == nil || !slices.Contains(live.Finalizers, metav1.FinalizerOrphanDependents) {
		return reconcile.Result{}, err
	}
	list := c.graph.dependents(v.uid)
	for _, d := range more {
		list = append(list, d.object)
	}
	for _, d := range list {
		if err := c.removeOwners(ctx, d, []types.UID{v.uid}); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, c.dropFinalizer(ctx, v, metav1.FinalizerOrphanDependents)
}

// dependent is one that the graph may not have.
type dependent struct {
	object
	owners []metav1.OwnerReference
}

// unseenDependents returns the dependents of an owner among the resources that the graph does not follow at
// the moment, which are listed for that. wait says to come back: they may be in step soon.
func (c *collector) unseenDependents(ctx context.Context, v view) (list []dependent, wait bool, err error) {
	kinds, early := c.unseen()
	if early {
		return nil, true, nil
	}
	for _, kind := range kinds {
		if v.id.kind.Namespaced && !kind.Namespaced {
			continue // no such reference can be followed
		}
		for obj, err := range c.api(kind).All(ctx, client.ListOptions{Namespace: v.id.key.Namespace}) {
			if err != nil {
				return nil, false, fmt.Errorf("cannot determine whether it has dependents among %s: %w", kind.GVR.GroupResource(), err)
			}
			if slices.ContainsFunc(obj.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == v.uid }) {
				list = append(list, dependent{object{identity{kind, metav1.KeyOf(obj)}, obj.UID}, obj.OwnerReferences})
			}
		}
	}
	return list, false, nil
}

// collect deletes an object none of whose owners lives, and takes references to owners that are gone, or that
// wait for their dependents, out of one that still has another.
func (c *collector) collect(ctx context.Context, v view) (reconcile.Result, error) {
	if done, err := c.collectSeen(ctx, v); done || err != nil {
		return reconcile.Result{}, err
	}
	live, err := c.read(ctx, v.id, v.uid)
	if err != nil || live == nil || live.DeletionTimestamp != nil || len(live.OwnerReferences) == 0 {
		return reconcile.Result{}, err
	}
	solid := false
	var dangling, waiting []types.UID
	for i := range live.OwnerReferences {
		ref := &live.OwnerReferences[i]
		state, err := c.ownerState(ctx, object{v.id, v.uid}, ref)
		if err != nil {
			return reconcile.Result{}, err
		}
		switch state {
		case waits:
			waiting = append(waiting, ref.UID)
		case absent:
			dangling = append(dangling, ref.UID)
		default:
			solid = true
		}
	}
	if solid {
		if owners := append(dangling, waiting...); len(owners) > 0 {
			// Of the object as it is in this decision: without the owner that holds it, the others are why it
			// is deleted.
			return reconcile.Result{}, c.patch(ctx, object{v.id, v.uid}, live, withoutOwners(live, owners))
		}
		return reconcile.Result{}, nil
	}
	policy := policyOf(live.Finalizers)
	if len(waiting) > 0 {
		// Its owner waits for it, so it waits for its own dependents in turn.
		owned := v.owned
		if !owned {
			more, wait, err := c.unseenDependents(ctx, v)
			if err != nil || wait {
				return reconcile.Result{RequeueAfter: soon}, err
			}
			now, _ := c.graph.get(v.uid) // with what was read after v was taken
			owned = now.owned || len(more) > 0
		}
		if owned {
			policy = metav1.DeletePropagationForeground
		}
	}
	return reconcile.Result{}, c.delete(ctx, v, live.ResourceVersion, policy)
}

// collectSeen deletes an object as a watch has shown it, without a read, if its owners are proven not to
// exist. It reports whether it has; if the object has changed since, it has not.
func (c *collector) collectSeen(ctx context.Context, v view) (done bool, err error) {
	if v.doubtful || len(v.owners) == 0 {
		return false, nil
	}
	for i := range v.owners {
		state, err := c.ownerState(ctx, object{v.id, v.uid}, &v.owners[i])
		if err != nil || state != absent {
			return false, err
		}
	}
	err = c.delete(ctx, v, v.seen.resourceVersion, v.seen.policy)
	if apierrors.IsConflict(err) {
		return false, nil
	}
	return true, err
}

// delete deletes an object that is still as it was when its resourceVersion was read or seen.
func (c *collector) delete(ctx context.Context, v view, resourceVersion string, policy metav1.DeletionPropagation) error {
	err := c.api(v.id.kind).Delete(ctx, v.id.key, client.DeleteOptions{PropagationPolicy: policy,
		Preconditions: &metav1.Preconditions{UID: &v.uid, ResourceVersion: &resourceVersion}})
	if notFound(err, v.id.key.Name) {
		return nil
	}
	return err
}

func (c *collector) dropFinalizer(ctx context.Context, v view, finalizer string) error {
	return c.change(ctx, object{v.id, v.uid}, func(live *metav1.PartialObjectMetadata) map[string]any {
		if !slices.Contains(live.Finalizers, finalizer) {
			return nil
		}
		return map[string]any{"finalizers": slices.DeleteFunc(live.Finalizers, func(f string) bool { return f == finalizer })}
	})
}

// removeOwners takes the given owners out of an object's references.
func (c *collector) removeOwners(ctx context.Context, o object, owners []types.UID) error {
	return c.change(ctx, o, func(live *metav1.PartialObjectMetadata) map[string]any { return withoutOwners(live, owners) })
}

// withoutOwners is the change that takes owners out of an object's references; nil if it has none of them.
func withoutOwners(live *metav1.PartialObjectMetadata, owners []types.UID) map[string]any {
	left := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(r metav1.OwnerReference) bool { return slices.Contains(owners, r.UID) })
	if len(left) == len(live.OwnerReferences) {
		return nil
	}
	return map[string]any{"ownerReferences": left}
}

// unblock lets an object not hold up the deletion of an owner.
func (c *collector) unblock(ctx context.Context, o object, owner types.UID) error {
	return c.change(ctx, o, func(live *metav1.PartialObjectMetadata) map[string]any {
		changed := false
		for i := range live.OwnerReferences {
			if r := &live.OwnerReferences[i]; r.UID == owner && blocks(r) {
				r.BlockOwnerDeletion, changed = new(false), true
			}
		}
		if !changed {
			return nil
		}
		return map[string]any{"ownerReferences": live.OwnerReferences}
	})
}

// change patches the metadata of an object with what edit returns for its present state; nil is no change.
func (c *collector) change(ctx context.Context, o object, edit func(*metav1.PartialObjectMetadata) map[string]any) error {
	for range 5 {
		live, err := c.read(ctx, o.id, o.uid)
		if err != nil || live == nil {
			return err
		}
		meta := edit(live)
		if meta == nil {
			return nil
		}
		if err := c.patch(ctx, o, live, meta); !apierrors.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("%s %s keeps changing", o.id.kind.GVR.GroupResource(), o.id.key)
}

// patch changes the metadata of an object, if it is still as it was read. One that is gone is no failure.
func (c *collector) patch(ctx context.Context, o object, live *metav1.PartialObjectMetadata, meta map[string]any) error {
	meta["uid"], meta["resourceVersion"] = o.uid, live.ResourceVersion
	data, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = c.api(o.id.kind).Patch(ctx, o.id.key, client.Patch{Type: types.MergePatchType, Data: data})
	if notFound(err, o.id.key.Name) {
		return nil
	}
	return err
}

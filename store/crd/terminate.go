package crd

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// finalizerPollInterval is the time between checks of the objects of a terminating definition while their
// finalizers keep them.
const finalizerPollInterval = time.Second

// terminate deletes the objects of a definition and, after the last one, removes the finalizer.
func (c *Controller) terminate(ctx context.Context, d *definition) (retryAfter time.Duration, err error) {
	left := 0
	if gvr, ok := c.anyVersion(d); ok {
		if left, err = c.deleteObjects(ctx, gvr); err != nil {
			return 0, err
		}
	}
	if left > 0 {
		_, err := c.writeStatus(ctx, d.Name, registry.Current{}, func(now *definition) {
			setCondition(&now.Status, condition{
				Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionInProgress",
				Message: fmt.Sprintf("CustomResource deletion is in progress: %d left", left),
			})
		})
		return finalizerPollInterval, err
	}
	done := condition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionFalse, Reason: "InstanceDeletionCompleted", Message: "removed all instances"}
	if !isTrue(d, apiextensionsv1.Established) {
		done.Reason, done.Message = "NeverEstablished", "resource was never established"
	}
	// Other finalizers may keep the definition longer: the condition is for their owners.
	if _, err := c.writeStatus(ctx, d.Name, registry.Current{}, func(now *definition) { setCondition(&now.Status, done) }); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	_, err = c.access.Update(ctx, Resource, types.NamespacedName{Name: d.Name}, func(obj metav1.Object) error {
		now := obj.(*definition)
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == finalizer })
		return nil
	}, registry.Write{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return 0, err
}

func (c *Controller) anyVersion(d *definition) (schema.GroupVersionResource, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.served[d.Name]; s != nil && len(s.resources) > 0 {
		return s.resources[0].Info.GVR, true
	}
	return schema.GroupVersionResource{}, false
}

// deleteObjects deletes the objects that are not being deleted yet, and counts those that are left.
func (c *Controller) deleteObjects(ctx context.Context, gvr schema.GroupVersionResource) (left int, err error) {
	// Twice: the objects that the first pass deletes are usually removed at the second.
	for range 2 {
		objs, err := c.latest(ctx, gvr)
		if err != nil {
			return 0, err
		}
		left = len(objs)
		if left == 0 {
			return 0, nil
		}
		for _, obj := range objs {
			m := metav1.MetaOf(obj)
			if !m.DeletionTimestamp.IsZero() {
				continue
			}
			err := c.access.Delete(ctx, gvr, metav1.KeyOf(obj), &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.UID}}, registry.Write{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return left, err
			}
		}
	}
	return left, nil
}

// latest lists the newest state of all objects.
func (c *Controller) latest(ctx context.Context, gvr schema.GroupVersionResource) ([]metav1.Object, error) {
	res := c.registry.Resource(gvr)
	if res == nil {
		return nil, nil
	}
	// A consistent read brings the cache up to date, which is what List reads.
	if _, err := res.Snapshot(ctx, registry.Freshness{}); err != nil {
		return nil, err
	}
	return c.access.List(ctx, gvr, "", labels.Everything())
}

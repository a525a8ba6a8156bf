package garbagecollector

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/discovery"
	"github.com/keelson-dev/keelson/client/events"
)

// ownerState says what became of the owner that a reference of an object names: lives, waits, absent, or
// unknown if the reference cannot be followed.
func (c *collector) ownerState(ctx context.Context, of object, ref *metav1.OwnerReference) (ownerState, error) {
	namespace := of.id.key.Namespace
	if c.graph.elsewhere(namespace, ref.UID) {
		c.report(of, ref)
	}
	if state := c.graph.owner(namespace, ref); state != unknown {
		return state, nil
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return unknown, nil
	}
	r, err := c.discovery.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, gv.Version)
	if discovery.IsNoMatch(err) {
		return unknown, nil // the object is looked at again when the kind is served
	}
	if err != nil {
		return unknown, err
	}
	if r.Namespaced && namespace == "" {
		return unknown, nil
	}
	kind := r.Client()
	kind.Metadata = true
	key := types.NamespacedName{Name: ref.Name}
	where := at("", ref)
	if r.Namespaced {
		key.Namespace, where.namespace = namespace, namespace
	}
	owner, err := c.api(&kind).Get(ctx, key)
	switch {
	case notFound(err, key.Name), err == nil && owner.UID != ref.UID:
		c.graph.setAbsent(ref.UID, where)
		return absent, nil
	case err != nil:
		return unknown, fmt.Errorf("owner %s %s: %w", ref.Kind, key, err)
	case owner.DeletionTimestamp != nil && slices.Contains(owner.Finalizers, metav1.FinalizerDeleteDependents):
		return waits, nil
	}
	return lives, nil
}

// report says in an event that an owner is not where a reference says.
func (c *collector) report(o object, ref *metav1.OwnerReference) {
	gvk, key := o.id.kind.GVK, o.id.key
	c.recorder.About(corev1.ObjectReference{Kind: gvk.Kind, APIVersion: gvk.APIVersion(), Namespace: key.Namespace, Name: key.Name, UID: o.uid},
		nil, events.Warning, "OwnerRefInvalidNamespace", fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
			ref.APIVersion, ref.Kind, key.Namespace, ref.Name, ref.UID, key.Namespace))
}

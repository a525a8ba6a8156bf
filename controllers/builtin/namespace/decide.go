package namespace

import (
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client/discovery"
)

// isToEmpty reports whether a namespace is being deleted and waits for this controller.
func isToEmpty(ns *corev1.Namespace) bool {
	return ns.DeletionTimestamp != nil && slices.Contains(ns.Spec.Finalizers, finalizer)
}

// stages returns the resources whose objects are deleted, in the order in which they are: those of a stage
// when nothing is left of the one before. What pods use stays until they are gone.
func stages(served []discovery.Resource) [2][]discovery.Resource {
	var out [2][]discovery.Resource
	for _, r := range served {
		switch {
		case !r.Namespaced || !r.HasVerb("delete") || !r.HasVerb("list"):
		case r.GVR.GroupResource() == schema.GroupResource{Resource: "pods"}:
			out[0] = append(out[0], r)
		default:
			out[1] = append(out[1], r)
		}
	}
	return out
}

// content is what a pass has left in a namespace.
type content struct {
	remaining  map[string]int // number of objects by resource.group, with the dot for the core group too
	finalizers map[string]int // number of objects by finalizer that holds them
	grace      time.Duration  // the longest time a pod still has
	discovery  error
	deletion   []error
}

// unknown is the content of a namespace whose resources cannot be read.
func unknown(err error) *content {
	return &content{remaining: map[string]int{"unknown": 1}, discovery: err}
}

// count adds objects of a resource that are left at now.
func (c *content) count(resource schema.GroupResource, left []*metav1.PartialObjectMetadata, now time.Time) {
	for _, obj := range left {
		c.remaining[resource.Resource+"."+resource.Group]++
		for _, f := range obj.Finalizers {
			c.finalizers[f]++
		}
		if obj.DeletionTimestamp != nil && len(obj.Finalizers) == 0 {
			c.grace = max(c.grace, obj.DeletionTimestamp.Sub(now))
		}
	}
}

// plan is what follows from a pass. One of its fields is set.
type plan struct {
	again    bool // something is left, which may go by itself
	err      error
	finalize bool
}

// decide returns what follows from what a pass has left.
func decide(left *content) plan {
	switch {
	case len(left.remaining) > 0:
		return plan{again: true}
	case left.discovery != nil: // there may be more than what was looked at
		return plan{err: fmt.Errorf("namespace: discovery: %w", left.discovery)}
	case len(left.deletion) > 0:
		return plan{err: fmt.Errorf("namespace: %w", left.deletion[0])}
	}
	return plan{finalize: true}
}

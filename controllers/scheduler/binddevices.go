package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
)

// deviceBinder writes device plans, and waits until binding conditions are true.
type deviceBinder struct {
	s      *Scheduler
	claims *client.Client[*resourcev1.ResourceClaim]
}

func deviceKey(key types.NamespacedName) string { return "resourceclaim " + key.String() }

// followDevices lets the cluster hold what devices depend on, if a profile looks at it.
func (s *Scheduler) followDevices() {
	if !s.uses("DynamicResources") {
		return
	}
	follow[*resourcev1.ResourceClaim](s, ResourceClaimEvent)
	follow[*resourcev1.ResourceSlice](s, ResourceSliceEvent)
	follow[*resourcev1.DeviceClass](s, DeviceClassEvent)
}

// lacksClaims is what DynamicResources says before a pod enters the queue: one whose claims are not there, or
// end, is not tried. s.mu is held.
func (s *Scheduler) lacksClaims(p *Pod) *Status {
	if s.profileOf(p).index("DynamicResources") < 0 {
		return nil
	}
	for i := range p.devices {
		if _, st := s.cluster.devices.usable(p, &p.devices[i]); !st.OK() {
			return st
		}
	}
	return nil
}

// unusable is a claim that the pod could not use on some node, and that could get other devices; nil if there
// is none.
func (cy *Cycle) unusable() *resourcev1.ResourceClaim {
	if p, ok := cy.profile.plugin("DynamicResources").(*DynamicResources); ok {
		return Scratch[deviceNeeds](cy, p).release
	}
	return nil
}

// bind writes the plan of a pod and waits for binding conditions.
func (b *deviceBinder) bind(ctx context.Context, t *try, o *outcome) *Status {
	failed := func(err error) *Status {
		return &Status{Code: Error, Plugin: "DynamicResources", Reasons: []string{err.Error()}}
	}
	waits := false
	var written []*resourcev1.ResourceClaim
	for _, p := range o.claims.claims {
		live, err := b.reserve(ctx, t.pod, o, p)
		if err != nil {
			return failed(err)
		}
		written = append(written, live)
		waits = waits || slices.ContainsFunc(live.Status.Allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool {
			return len(r.BindingConditions) > 0
		})
	}
	if !waits {
		return nil
	}
	b.s.recorders[t.pod.Spec.SchedulerName].Eventf(t.pod, corev1.EventTypeNormal, "BindingConditionsPending", "waiting for binding conditions for device on node %s", o.Node)
	timeout := deviceBindingTimeout
	if p, ok := o.profile.plugin("DynamicResources").(*DynamicResources); ok {
		timeout = p.bindingTimeout()
	}
	began := time.Now()
	err := b.wait(ctx, t, o, written, timeout)
	b.measure(o, written, err, time.Since(began))
	if err != nil {
		return failed(err)
	}
	return nil
}

// The failures of binding conditions.
var (
	errBindingTimeout = errors.New("device binding timeout")
	errBindingFailed  = errors.New("device binding failed")
)

// measure reports how long the devices of claims were waited for.
func (b *deviceBinder) measure(o *outcome, claims []*resourcev1.ResourceClaim, err error, took time.Duration) {
	f, status := b.s.opts.Metrics.DeviceWaited, "error"
	switch {
	case f == nil:
		return
	case err == nil:
		status = "success"
	case errors.Is(err, errBindingTimeout):
		status = "timeout"
	case errors.Is(err, errBindingFailed):
		status = "failure"
	}
	for _, c := range claims {
		for i := range c.Status.Allocation.Devices.Results {
			r := &c.Status.Allocation.Devices.Results[i]
			f(o.profile.name, r.Driver, status, len(r.BindingConditions) > 0, took)
		}
	}
}

// wait returns when all binding conditions are true.
func (b *deviceBinder) wait(ctx context.Context, t *try, o *outcome, claims []*resourcev1.ResourceClaim, timeout time.Duration) error {
	ch, keys := make(chan struct{}, 1), []string{podKey(t.pod.UID)}
	for _, c := range claims {
		keys = append(keys, deviceKey(c.Key()))
	}
	defer b.s.awaited.await(ch, keys)()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		if ready, err := b.ready(t, o, claims, timeout); ready || err != nil {
			return err
		}
		select {
		case <-ch:
		case <-timer.C:
			return errBindingTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ready reports whether the binding conditions of claims are true. The error says why they will not be.
func (b *deviceBinder) ready(t *try, o *outcome, claims []*resourcev1.ResourceClaim, timeout time.Duration) (bool, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if p := b.s.cluster.pods[t.pod.UID]; p == nil || p.node.name != o.Node {
		return false, errors.New("the pod is gone")
	}
	all := true
	for _, c := range claims {
		now := b.s.cluster.devices.claims.all[c.Key()]
		switch {
		case now != nil && now.UID == c.UID && metav1.IsOlder(now.ResourceVersion, c.ResourceVersion):
			now = c // what was written is not seen yet
		case now == nil || now.UID != c.UID:
			return false, fmt.Errorf("resourceclaim %q not found", c.Name)
		}
		ready, failed := readyToBind(now)
		switch {
		case failed != "":
			return false, fmt.Errorf("%w: %s", errBindingFailed, failed)
		case now.Status.Allocation == nil:
			return false, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", now.Name)
		case !ready && overdue(now, timeout):
			return false, fmt.Errorf("%w: claim=%s", errBindingTimeout, now.Name)
		}
		all = all && ready
	}
	return all, nil
}

// reserve writes the allocation of a claim, if it is planned, and reserves the claim for the pod.
func (b *deviceBinder) reserve(ctx context.Context, pod *corev1.Pod, o *outcome, p plannedClaim) (*resourcev1.ResourceClaim, error) {
	key, uid := p.claim.Key(), p.claim.UID
	isMade := p.claim == o.claims.made
	if isMade {
		next := codec.DeepCopy(p.claim)
		next.Name = ""
		created, err := b.claims.Create(ctx, next)
		b.measureCreation(err)
		if err != nil {
			o.mayBeMade = !refused(err)
			return nil, fmt.Errorf("create claim for extended resources: %w", err)
		}
		key, uid, o.made = created.Key(), created.UID, created
	}
	live, err := b.update(ctx, key, uid, func(c *resourcev1.ResourceClaim) error {
		switch {
		case c.DeletionTimestamp != nil:
			return fmt.Errorf("claim %s got deleted in the meantime", c.Name)
		case p.allocation == nil && c.Status.Allocation == nil:
			return fmt.Errorf("claim %s got deallocated elsewhere in the meantime", c.Name)
		case p.allocation != nil && c.Status.Allocation != nil && !sameDevices(c.Status.Allocation, p.allocation):
			return fmt.Errorf("claim %s got allocated elsewhere in the meantime", c.Name)
		}
		if c.Status.Allocation == nil {
			c.Status.Allocation = codec.DeepCopy(p.allocation)
		}
		if c.Status.Allocation.AllocationTimestamp == nil {
			c.Status.Allocation.AllocationTimestamp = new(metav1.Now().Truncated())
		}
		if !podclaims.Reserved(c, pod) {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: pod.Name, UID: pod.UID})
		}
		return nil
	})
	if err != nil || !isMade {
		return live, err
	}
	_, err = client.UpdateStatus(ctx, b.s.pods, pod.Key(), func(now *corev1.Pod) error {
		if now.UID != pod.UID {
			return apierrors.NewNotFound(b.s.pods.Resource().GVR.GroupResource(), pod.Name)
		}
		now.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{RequestMappings: o.claims.mappings, ResourceClaimName: live.Name}
		return nil
	})
	return live, err
}

func (b *deviceBinder) measureCreation(err error) {
	f, status := b.s.opts.Metrics.ClaimCreated, "success"
	if err != nil {
		status = "failure"
	}
	if f != nil {
		f(status)
	}
}

// sameDevices reports whether two allocations are of the same devices.
func sameDevices(a, b *resourcev1.AllocationResult) bool {
	return codec.Equal(&a.Devices.Results, &b.Devices.Results)
}

// update changes the status of a claim, which then has the finalizer that keeps it while it is allocated.
func (b *deviceBinder) update(ctx context.Context, key types.NamespacedName, uid types.UID, edit func(c *resourcev1.ResourceClaim) error) (*resourcev1.ResourceClaim, error) {
	live, err := client.Update(ctx, b.claims, key, func(c *resourcev1.ResourceClaim) error {
		if c.UID != uid {
			return apierrors.NewNotFound(b.claims.Resource().GVR.GroupResource(), key.Name)
		}
		if slices.Contains(c.Finalizers, resourcev1.Finalizer) || c.DeletionTimestamp != nil {
			return client.ErrNoChange
		}
		c.Finalizers = append(c.Finalizers, resourcev1.Finalizer)
		return nil
	})
	if err != nil {
		return live, err
	}
	return client.UpdateStatus(ctx, b.claims, key, func(c *resourcev1.ResourceClaim) error {
		if c.UID != uid {
			return apierrors.NewNotFound(b.claims.Resource().GVR.GroupResource(), key.Name)
		}
		return edit(c)
	})
}

// giveBack ends the reservations of a pod that is not bound after all, as far as the API takes that now; the
// pod keeps what is left for its next attempt. A claim that was made for it is deleted.
func (b *deviceBinder) giveBack(ctx context.Context, pod *corev1.Pod, o *outcome) {
	for _, p := range o.claims.claims {
		if p.claim == o.claims.made {
			continue
		}
		_, err := client.UpdateStatus(ctx, b.claims, p.claim.Key(), func(c *resourcev1.ResourceClaim) error {
			if c.UID != p.claim.UID || !podclaims.Reserved(c, pod) {
				return client.ErrNoChange
			}
			c.Status.ReservedFor = slices.DeleteFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == pod.UID })
			return nil
		})
		b.log(ctx, p.claim, err)
	}
	if o.made != nil {
		b.log(ctx, o.made, b.remove(ctx, o.made))
	}
	if !o.mayBeMade {
		return
	}
	// Its name is the server's.
	list, err := b.claims.List(ctx, client.ListOptions{Namespace: pod.Namespace})
	if err != nil {
		b.log(ctx, o.claims.made, err)
		return
	}
	for _, c := range list.Items {
		if madeFor(c) == pod.UID {
			b.log(ctx, c, b.remove(ctx, c))
		}
	}
}

func (b *deviceBinder) log(ctx context.Context, c *resourcev1.ResourceClaim, err error) {
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
		b.s.log.Warn("return of resource claim failed", "namespace", c.Namespace, "name", c.Name, "err", err)
	}
}

// release lets a claim get other devices, if no other pod uses it, and deletes one that was made for the pod.
func (b *deviceBinder) release(ctx context.Context, pod *corev1.Pod, c *resourcev1.ResourceClaim) error {
	if madeFor(c) == pod.UID {
		return apierrors.IgnoreNotFound(b.remove(ctx, c))
	}
	_, err := client.UpdateStatus(ctx, b.claims, c.Key(), func(now *resourcev1.ResourceClaim) error {
		others := slices.ContainsFunc(now.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID != pod.UID })
		if now.UID != c.UID || now.Status.Allocation == nil || others {
			return client.ErrNoChange
		}
		now.Status = resourcev1.ResourceClaimStatus{}
		return nil
	})
	return apierrors.IgnoreNotFound(err)
}

// remove deletes a claim that was made for the extended resources of a pod.
func (b *deviceBinder) remove(ctx context.Context, c *resourcev1.ResourceClaim) error {
	_, err := client.Update(ctx, b.claims, c.Key(), func(now *resourcev1.ResourceClaim) error {
		if now.UID != c.UID || !slices.Contains(now.Finalizers, resourcev1.Finalizer) {
			return client.ErrNoChange
		}
		now.Finalizers = slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == resourcev1.Finalizer })
		return nil
	})
	if err != nil {
		return err
	}
	return b.claims.Delete(ctx, c.Key(), client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID}})
}

package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/informers"
)

// volumeBinder writes volume plans and waits until they have come true.
type volumeBinder struct {
	s       *Scheduler
	claims  *client.Client[*corev1.PersistentVolumeClaim]
	volumes *client.Client[*corev1.PersistentVolume]
}

func claimKey(key types.NamespacedName) string { return "claim " + key.String() }
func volumeKey(name string) string             { return "volume " + name }
func podKey(uid types.UID) string              { return "pod " + string(uid) }

// followVolumes lets the cluster hold what volumes depend on, if a profile has a plugin that looks at it.
func (s *Scheduler) followVolumes() {
	if !s.uses("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone") {
		return
	}
	follow[*corev1.PersistentVolumeClaim](s, ClaimEvent)
	follow[*corev1.PersistentVolume](s, VolumeEvent)
	follow[*storagev1.StorageClass](s, StorageClassEvent)
	follow[*storagev1.CSINode](s, CSINodeEvent)
	follow[*storagev1.CSIDriver](s, CSIDriverEvent)
	follow[*storagev1.CSIStorageCapacity](s, StorageCapacityEvent)
	follow[*storagev1.VolumeAttachment](s, VolumeAttachmentEvent)
}

// followGroupings lets the cluster hold what says which pods belong together.
func (s *Scheduler) followGroupings() {
	if !s.uses("PodTopologySpread") {
		return
	}
	follow[*corev1.Service](s, 0)
	follow[*corev1.ReplicationController](s, 0)
	follow[*appsv1.ReplicaSet](s, 0)
	follow[*appsv1.StatefulSet](s, 0)
}

// uses reports whether a profile has one of the plugins.
func (s *Scheduler) uses(plugins ...string) bool {
	for _, p := range s.profiles {
		if slices.ContainsFunc(plugins, func(name string) bool { return p.index(name) >= 0 }) {
			return true
		}
	}
	return false
}

// follow lets the cluster hold the objects of a kind. Their events are of the given kind; there are none with
// 0.
func follow[T interface {
	metav1.Object
	comparable
}](s *Scheduler, kind EventKind) {
	s.handlers = append(s.handlers, informers.For[T](s.informers).AddHandler(func(e informers.Event[T]) {
		began := time.Now()
		obj, event := e.Object(), &Event{Kind: kind}
		var none T
		if obj == none {
			return // undecodable, which the informer reports; the last known state stands
		}
		gone := e.Type == informers.Deleted
		if !gone {
			event.New = obj
		}
		s.mu.Lock()
		event.Old, _ = s.cluster.putObject(obj, gone)
		s.mu.Unlock()
		if kind != 0 {
			s.handled(s.queue.happened(event), began)
		}
		switch kind {
		case ClaimEvent:
			s.awaited.wake(claimKey(e.Key))
		case VolumeEvent:
			s.awaited.wake(volumeKey(e.Key.Name))
		case ResourceClaimEvent:
			s.awaited.wake(deviceKey(e.Key))
		}
	}, informers.HandlerOptions{}))
}

// bind writes the plan of a pod and waits until its claims are bound.
func (b *volumeBinder) bind(ctx context.Context, t *try, o *outcome) *Status {
	failed := func(err error) *Status {
		return &Status{Code: Error, Plugin: "VolumeBinding", Reasons: []string{"binding volumes: " + err.Error()}}
	}
	ch := make(chan struct{}, 1)
	keys := []string{podKey(t.pod.UID)}
	for _, x := range o.plan.bind {
		keys = append(keys, claimKey(x.claim.Key()), volumeKey(x.volume.Name))
	}
	for _, c := range o.plan.make {
		keys = append(keys, claimKey(c.Key()))
	}
	defer b.s.awaited.await(ch, keys)()
	written, err := b.write(ctx, o)
	if err != nil {
		return failed(err)
	}
	timeout := volumeTimeout
	if p, ok := o.profile.plugin("VolumeBinding").(*VolumeBinding); ok {
		timeout = cmp.Or(p.Timeout, timeout)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		done, missing, err := b.check(t, o, written)
		if err != nil {
			return failed(err)
		}
		if done {
			return nil
		}
		end := b.s.awaited.await(ch, missing) // volumes that were made for claims
		select {
		case <-ch:
		case <-timer.C:
			err = fmt.Errorf("the claims were not bound within %s", timeout)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if end(); err != nil {
			return failed(err)
		}
	}
}

// write writes a plan. It returns the resource versions of the claims that it has written.
func (b *volumeBinder) write(ctx context.Context, o *outcome) (map[types.NamespacedName]string, error) {
	written := map[types.NamespacedName]string{}
	for _, x := range o.plan.bind {
		b.s.mu.Lock()
		v := b.s.cluster.storage.volumes.get("", x.volume.Name)
		b.s.mu.Unlock()
		if v == nil {
			return nil, fmt.Errorf("persistentvolume %q not found", x.volume.Name)
		}
		if ref := v.Spec.ClaimRef; ref != nil && !volumematch.IsReserved(v, x.claim) {
			return nil, fmt.Errorf("persistentvolume %q is bound to claim %s/%s", v.Name, ref.Namespace, ref.Name)
		}
		if next := volumematch.Refer(v, x.claim); next != v {
			if _, err := b.volumes.Update(ctx, next); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range o.plan.make {
		b.s.mu.Lock()
		now := b.s.cluster.storage.claims.all[c.Key()]
		b.s.mu.Unlock()
		if now == nil || now.UID != c.UID {
			return nil, fmt.Errorf("persistentvolumeclaim %q not found", c.Name)
		}
		written[c.Key()] = now.ResourceVersion
		if now.Annotations[volumematch.SelectedNode] == o.Node {
			continue
		}
		next, err := b.claims.Update(ctx, selectNode(now, o.Node))
		if err != nil {
			return nil, err
		}
		written[c.Key()] = next.ResourceVersion
	}
	return written, nil
}

// check reports whether the claims of a plan are bound, or which volumes are missing for that. The error says
// why they will not be: another one has changed them, or the provisioner has given up the node.
func (b *volumeBinder) check(t *try, o *outcome, written map[types.NamespacedName]string) (done bool, missing []string, err error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if p := b.s.cluster.pods[t.pod.UID]; p == nil || p.node.name != o.Node {
		return false, nil, fmt.Errorf("the pod is gone")
	}
	st, done := &b.s.cluster.storage, true
	n := b.s.cluster.existing(o.Node)
	if n == nil {
		return false, nil, fmt.Errorf("node %q is gone", o.Node)
	}
	for i := range len(o.plan.bind) + len(o.plan.make) {
		want, made := o.plan.claim(i)
		c := st.claims.all[want.Key()]
		switch {
		case c == nil || c.UID != want.UID:
			return false, nil, fmt.Errorf("persistentvolumeclaim %q not found", want.Name)
		case made && metav1.IsOlder(c.ResourceVersion, written[want.Key()]):
			done = false // what was written is not seen yet
			continue
		case made && c.Annotations[volumematch.SelectedNode] != o.Node:
			return false, nil, fmt.Errorf("provisioning failed for PVC %q", c.Name)
		}
		if done = done && volumematch.IsBound(c); c.Spec.VolumeName == "" {
			continue
		}
		switch v := st.volumes.get("", c.Spec.VolumeName); {
		case v == nil:
			done, missing = false, append(missing, volumeKey(c.Spec.VolumeName))
		case !volumematch.ReachesNode(v, n.obj):
			return false, nil, fmt.Errorf("pv %q node affinity doesn't match node %q", v.Name, o.Node)
		}
	}
	return done, missing, nil
}

// claim is the claim with a number: first those to bind to a volume, then those to make one for.
func (p *volumePlan) claim(i int) (c *corev1.PersistentVolumeClaim, made bool) {
	if i < len(p.bind) {
		return p.bind[i].claim, false
	}
	return p.make[i-len(p.bind)], true
}

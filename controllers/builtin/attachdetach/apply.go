package attachdetach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/internal/attachable"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

func (a *attacher) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if disk := corev1.UniqueVolumeName(req.Name); attachable.Named(disk) {
		return a.reconcileDisk(ctx, disk)
	}
	v, err := a.volumes.Get(req)
	if err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, a.volumeGone(ctx, req.Name)
		}
		return reconcile.Result{}, err
	}
	if v.Spec.CSI == nil {
		return reconcile.Result{}, nil
	}
	s, err := a.stateOf(v)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := decide(s, &a.opts)
	for _, n := range p.notes {
		a.recorder.Event(n.pod, corev1.EventTypeWarning, "FailedAttachVolume", n.message)
	}
	return reconcile.Result{RequeueAfter: p.again}, a.apply(ctx, s, p)
}

// stateOf reads what the decision about a volume needs.
func (a *attacher) stateOf(v *corev1.PersistentVolume) (*state, error) {
	s := &state{volume: v, id: v.Name, name: uniqueName(v), now: time.Now()}
	err := a.attachments.View(v.Name, func(va *storagev1.VolumeAttachment) bool {
		s.attachments = append(s.attachments, va)
		return true
	})
	if err != nil {
		return nil, err
	}
	if s.pods, err = a.podsOf(v); err != nil {
		return nil, err
	}
	return s, a.readNodes(s)
}

// readNodes reads the nodes of the pods and the attachments of a volume.
func (a *attacher) readNodes(s *state) error {
	s.nodes = map[string]*corev1.Node{}
	used := map[string]bool{}
	for _, p := range s.pods {
		used[p.Spec.NodeName] = true
	}
	names := sortedKeys(used)
	for _, va := range s.attachments {
		names = append(names, va.Spec.NodeName)
	}
	for _, name := range names {
		n, err := a.nodes.Get(types.NamespacedName{Name: name})
		if err == nil {
			s.nodes[name] = n
		} else if !apierrors.IsNotFound(err) {
			return err
		}
	}
	s.unused = a.sinceUnused(s, used)
	return nil
}

// podsOf returns the pods on nodes that use a volume, none if its driver does not attach volumes.
func (a *attacher) podsOf(v *corev1.PersistentVolume) (out []*corev1.Pod, err error) {
	d, err := a.drivers.Get(types.NamespacedName{Name: v.Spec.CSI.Driver})
	if err == nil && d.Spec.AttachRequired != nil && !*d.Spec.AttachRequired || apierrors.IgnoreNotFound(err) != nil {
		return nil, apierrors.IgnoreNotFound(err)
	}
	return a.podsOfClaim(v)
}

// podsOfClaim returns the pods on nodes that use the claim of a volume.
func (a *attacher) podsOfClaim(v *corev1.PersistentVolume) (out []*corev1.Pod, err error) {
	ref := v.Spec.ClaimRef
	if ref == nil {
		return nil, nil
	}
	c, err := a.claims.Get(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	if err != nil || c.UID != ref.UID || c.Spec.VolumeName != v.Name {
		return nil, apierrors.IgnoreNotFound(err)
	}
	err = a.pods.View(c.Key().String(), func(p *corev1.Pod) bool {
		if uses(p) {
			out = append(out, p)
		}
		return true
	})
	return out, err
}

// sinceUnused notes since when no pod uses a volume on the nodes that it is attached to.
func (a *attacher) sinceUnused(s *state, used map[string]bool) map[string]time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]time.Time{}
	for _, va := range s.attachments {
		at := place{s.id, va.Spec.NodeName}
		if used[va.Spec.NodeName] {
			delete(a.unused, at)
			continue
		}
		if a.unused[at].IsZero() {
			a.unused[at] = s.now
		}
		out[va.Spec.NodeName] = a.unused[at]
	}
	return out
}

// apply does what a plan says, as far as it succeeds.
func (a *attacher) apply(ctx context.Context, s *state, p plan) error {
	var errs []error
	for _, node := range p.attach {
		_, err := a.attachmentsAPI.Create(ctx, &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: attachmentName(s.volume, node)},
			Spec: storagev1.VolumeAttachmentSpec{Attacher: s.volume.Spec.CSI.Driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &s.volume.Name}}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			errs = append(errs, fmt.Errorf("attachdetach: attach volume %s to node %s: %w", s.volume.Name, node, err))
		}
	}
	for _, va := range p.report {
		errs = append(errs, a.report(ctx, s, va.Spec.NodeName))
	}
	for _, va := range p.detach {
		errs = append(errs, a.detach(ctx, s, va))
	}
	return errors.Join(errs...)
}

// report adds a volume to the status of a node.
func (a *attacher) report(ctx context.Context, s *state, node string) error {
	n := s.nodes[node]
	n.Status.VolumesAttached = append(slices.Clone(n.Status.VolumesAttached), corev1.AttachedVolume{Name: s.name})
	if _, err := a.nodesAPI.UpdateStatus(ctx, n); err != nil {
		return apierrors.IgnoreNotFound(err)
	}
	for _, p := range s.pods {
		if p.Spec.NodeName == node {
			a.recorder.Eventf(p, corev1.EventTypeNormal, "SuccessfulAttachVolume", "AttachVolume.Attach succeeded for volume %q ", s.volume.Name)
		}
	}
	return nil
}

// detach removes a volume from the status of its node, and then has it detached.
func (a *attacher) detach(ctx context.Context, s *state, va *storagev1.VolumeAttachment) error {
	if done, err := a.withdraw(ctx, s, va.Spec.NodeName); err != nil || !done {
		return err
	}
	return a.deleteAttachment(ctx, va)
}

// withdraw removes a volume from the status of a node, and reports whether the node does without it. What the
// node uses is read from the server once more: a kubelet reports a volume before it mounts it.
func (a *attacher) withdraw(ctx context.Context, s *state, node string) (done bool, err error) {
	n, err := a.nodesAPI.Get(ctx, types.NamespacedName{Name: node})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return false, err
	case slices.Contains(n.Status.VolumesInUse, s.name) && ready(n) && !tainted(n):
		return false, nil // the node's report brings the volume back
	case reported(n, s.name):
		n.Status.VolumesAttached = slices.DeleteFunc(n.Status.VolumesAttached, func(o corev1.AttachedVolume) bool { return o.Name == s.name })
		if _, err := a.nodesAPI.UpdateStatus(ctx, n); apierrors.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("attachdetach: status of node %s: %w", n.Name, err)
		}
	}
	return true, nil
}

func (a *attacher) deleteAttachment(ctx context.Context, va *storagev1.VolumeAttachment) error {
	err := a.attachmentsAPI.Delete(ctx, types.NamespacedName{Name: va.Name}, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &va.UID}})
	if apierrors.IgnoreNotFound(err) != nil {
		return fmt.Errorf("attachdetach: delete attachment %s: %w", va.Name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.unused, place{*va.Spec.Source.PersistentVolumeName, va.Spec.NodeName})
	return nil
}

// volumeGone deletes the attachments of a volume that does not exist.
func (a *attacher) volumeGone(ctx context.Context, name string) error {
	var left []*storagev1.VolumeAttachment
	err := a.attachments.View(name, func(va *storagev1.VolumeAttachment) bool {
		if va.DeletionTimestamp == nil {
			left = append(left, va)
		}
		return true
	})
	errs := []error{err}
	for _, va := range left {
		errs = append(errs, a.deleteAttachment(ctx, va))
	}
	return errors.Join(errs...)
}

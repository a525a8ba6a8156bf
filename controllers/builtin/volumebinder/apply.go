package volumebinder

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/reconcile"
)

func (b *binder) reconcileClaim(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c, err := b.claims.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	s, err := b.stateOf(c)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := decideClaim(s)
	if p.note != nil && (!p.onChange || c.Status.Phase != p.phase) {
		b.recorder.Event(c, p.note.typ, p.note.reason, p.note.message)
	}
	if err := b.apply(ctx, c, p); err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	return reconcile.Result{}, p.err
}

// stateOf reads what the decision about a claim needs, and no more.
func (b *binder) stateOf(c *corev1.PersistentVolumeClaim) (*claimState, error) {
	s := &claimState{claim: c, manual: b.opts.WithoutProvisioning}
	var err error
	_, bound := c.Annotations[volumematch.BindCompleted]
	if c.Spec.VolumeName != "" {
		s.named, err = b.volumes.Get(types.NamespacedName{Name: c.Spec.VolumeName})
		return s, apierrors.IgnoreNotFound(err)
	}
	if bound {
		return s, nil
	}
	if s.candidates, err = b.candidates(c); err != nil {
		return nil, err
	}
	if !volumematch.HasClass(c) {
		s.standard, err = b.defaultClass()
		return s, err
	}
	if class := c.StorageClass(); class != "" {
		if s.class, err = b.classes.Get(types.NamespacedName{Name: class}); apierrors.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	if volumematch.WaitsForConsumer(s.class) {
		err := b.pods.View(c.Key().String(), func(p *corev1.Pod) bool {
			if p.Spec.NodeName == "" {
				s.pods = append(s.pods, p.Name)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		slices.Sort(s.pods)
	}
	return s, nil
}

// apply does what a plan says.
func (b *binder) apply(ctx context.Context, c *corev1.PersistentVolumeClaim, p claimPlan) (err error) {
	switch {
	case p.bind != nil:
		return b.bind(ctx, c, p.bind)
	case p.class != "":
		c.Spec.StorageClassName = &p.class
		_, err = b.claimsAPI.Update(ctx, c)
	case p.provisioner != "":
		if c.Annotations[volumematch.Provisioner] == p.provisioner && c.Annotations[volumematch.BetaProvisioner] == p.provisioner {
			return nil
		}
		if c.Annotations == nil {
			c.Annotations = map[string]string{}
		}
		c.Annotations[volumematch.Provisioner], c.Annotations[volumematch.BetaProvisioner] = p.provisioner, p.provisioner
		_, err = b.claimsAPI.Update(ctx, c)
	case p.phase != "":
		return b.setStatus(ctx, c, p.phase, nil)
	}
	if err != nil {
		return fmt.Errorf("volumebinder: update claim %s: %w", c.Key(), err)
	}
	return nil
}

// bind does what is left of a binding.
func (b *binder) bind(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) (err error) {
	if next := volumematch.Refer(v, c); next != v {
		if v, err = b.volumesAPI.Update(ctx, next); err != nil {
			return fmt.Errorf("volumebinder: bind volume %s to claim %s: %w", next.Name, c.Key(), err)
		}
	}
	if v.Status.Phase != corev1.VolumeBound {
		if v, err = b.setPhase(ctx, v, corev1.VolumeBound, ""); err != nil {
			return err
		}
	}
	if next := name(c, v); next != c {
		if c, err = b.claimsAPI.Update(ctx, next); err != nil {
			return fmt.Errorf("volumebinder: bind claim %s to volume %s: %w", next.Key(), v.Name, err)
		}
	}
	return b.setStatus(ctx, c, corev1.ClaimBound, v)
}

func (b *binder) setStatus(ctx context.Context, c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) error {
	status := statusOf(c, phase, v)
	if codec.Equal(&status, &c.Status) {
		return nil
	}
	next := codec.DeepCopy(c)
	next.Status = status
	if _, err := b.claimsAPI.UpdateStatus(ctx, next); err != nil {
		return fmt.Errorf("volumebinder: status of claim %s: %w", c.Key(), err)
	}
	return nil
}

func (b *binder) setPhase(ctx context.Context, v *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) (*corev1.PersistentVolume, error) {
	if v.Status.Phase == phase {
		return v, nil
	}
	next := codec.DeepCopy(v)
	next.Status.Phase, next.Status.Message = phase, message
	next, err := b.volumesAPI.UpdateStatus(ctx, next)
	if err != nil {
		return nil, fmt.Errorf("volumebinder: status of volume %s: %w", v.Name, err)
	}
	return next, nil
}

func (b *binder) reconcileVolume(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	v, err := b.volumes.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	c, err := b.claimOf(ctx, v)
	if err != nil {
		return reconcile.Result{}, err
	}
	p := decideVolume(v, c)
	if p.note != nil {
		b.recorder.Event(v, p.note.typ, p.note.reason, p.note.message)
	}
	if p.claimNote != nil {
		b.recorder.Event(c, p.claimNote.typ, p.claimNote.reason, p.claimNote.message)
	}
	if p.unbind {
		if v, err = b.volumesAPI.Update(ctx, release(v)); err != nil {
			return reconcile.Result{}, apierrors.IgnoreNotFound(err)
		}
	}
	if p.phase != "" {
		_, err = b.setPhase(ctx, v, p.phase, p.message)
	}
	return reconcile.Result{}, apierrors.IgnoreNotFound(err)
}

// claimOf returns the claim that a volume refers to, nil if it does not exist. Because data may be deleted
// for a claim that is gone, it is read from the server before.
func (b *binder) claimOf(ctx context.Context, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	ref := v.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		return nil, nil
	}
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	c, err := b.claims.Get(key)
	if err == nil && c.UID == ref.UID {
		return c, nil
	}
	if apierrors.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil && (v.Status.Phase == corev1.VolumeReleased || v.Status.Phase == corev1.VolumeFailed) {
		return nil, nil
	}
	c, err = b.claimsAPI.Get(ctx, key)
	if err != nil {
		return nil, apierrors.IgnoreNotFound(err)
	}
	if c.UID != ref.UID {
		return nil, nil
	}
	return c, nil
}

package fakestorage

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// byUser files the pods that run under the claims whose volumes they may write to.
var byUser = informers.DefineIndex("fakestorage.user", func(p *corev1.Pod) (keys []string) {
	for _, key := range mounted(p) {
		keys = append(keys, key.String())
	}
	return keys
})

// mounted returns the claims of a pod that runs but those that it only reads.
func mounted(p *corev1.Pod) (claims []reconcile.Request) {
	if p.Status.Phase != corev1.PodRunning {
		return nil
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		name, _ := p.ClaimOf(v)
		if name != "" && (v.PersistentVolumeClaim == nil || !v.PersistentVolumeClaim.ReadOnly) {
			claims = append(claims, reconcile.Request{Namespace: p.Namespace, Name: name})
		}
	}
	return claims
}

// claimsOfPod are the claims of a pod that begins to run: their volumes may have waited for that to grow.
func claimsOfPod(e informers.Event[*corev1.Pod]) []reconcile.Request {
	if e.Type == informers.Deleted || e.Type == informers.Updated && e.Old().Status.Phase == corev1.PodRunning {
		return nil
	}
	return mounted(e.New())
}

// claimOfVolume is the claim of a volume that was not known before.
func claimOfVolume(e informers.Event[*corev1.PersistentVolume]) []reconcile.Request {
	if e.Type != informers.Added || e.New().Spec.ClaimRef == nil {
		return nil
	}
	ref := e.New().Spec.ClaimRef
	return []reconcile.Request{{Namespace: ref.Namespace, Name: ref.Name}}
}

// grow makes the volume of a bound claim as large as the claim requests, and then its file system, which
// needs a pod that runs with it. Whether a class lets its claims grow was decided when the claim was updated.
func (d *driver) grow(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	v, err := d.volumes.Get(types.NamespacedName{Name: c.Spec.VolumeName})
	if err != nil || v.Spec.CSI == nil || v.Spec.CSI.Driver != d.name || v.Spec.ClaimRef == nil || v.Spec.ClaimRef.UID != c.UID {
		return apierrors.IgnoreNotFound(err)
	}
	want, have := c.Spec.Resources.Requests[corev1.ResourceStorage], c.Status.Capacity[corev1.ResourceStorage]
	if c.Status.Phase != corev1.ClaimBound || want.Cmp(have) <= 0 {
		return d.forgetSize(ctx, v)
	}
	to, now := target(c, v), v.Spec.Capacity[corev1.ResourceStorage]
	if onNode(c) && now.Cmp(to) >= 0 {
		return d.growOnNode(ctx, c, v)
	}
	return d.growVolume(ctx, c, v, to)
}

// target returns the size that a volume gets next: an expansion that has begun ends before another one
// begins.
func target(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) resource.Quantity {
	want, now := c.Spec.Resources.Requests[corev1.ResourceStorage], v.Spec.Capacity[corev1.ResourceStorage]
	begun, known := c.Status.AllocatedResources[corev1.ResourceStorage]
	_, going := c.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	if known && (going || now.Cmp(want) >= 0) {
		return begun
	}
	return want
}

// onNode reports whether the volume of a claim has grown and its file system is to.
func onNode(c *corev1.PersistentVolumeClaim) bool {
	s := c.Status.AllocatedResourceStatuses[corev1.ResourceStorage]
	return s == corev1.PersistentVolumeClaimNodeResizePending || s == corev1.PersistentVolumeClaimNodeResizeInProgress
}

// growVolume does what a driver's resizer does: it lets the volume grow, and the claim says so until its file
// system has grown too. A volume without one is done then.
func (d *driver) growVolume(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume, to resource.Quantity) error {
	file := c.Spec.VolumeMode == nil || *c.Spec.VolumeMode == corev1.PersistentVolumeFilesystem
	setProgress(c, corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimResizing, "")
	if c.Status.AllocatedResources == nil {
		c.Status.AllocatedResources = corev1.ResourceList{}
	}
	c.Status.AllocatedResources[corev1.ResourceStorage] = to
	c, err := d.claimsAPI.UpdateStatus(ctx, c)
	if err != nil {
		return apierrors.IgnoreNotFound(err)
	}
	d.recorder.Eventf(c, corev1.EventTypeNormal, "Resizing", "External resizer is resizing volume %s", v.Name)
	if now := v.Spec.Capacity[corev1.ResourceStorage]; now.Cmp(to) < 0 {
		if _, noted := v.Annotations[volumematch.PreResize]; file && !noted {
			if v.Annotations == nil {
				v.Annotations = map[string]string{}
			}
			have := c.Status.Capacity[corev1.ResourceStorage]
			v.Annotations[volumematch.PreResize] = have.String()
		}
		v.Spec.Capacity[corev1.ResourceStorage] = to
		if v, err = d.volumesAPI.Update(ctx, v); err != nil {
			return apierrors.IgnoreNotFound(err)
		}
	}
	if !file {
		if c, err = d.finish(ctx, c, v); c != nil {
			d.recorder.Event(c, corev1.EventTypeNormal, "VolumeResizeSuccessful", "Resize volume succeeded")
		}
		return err
	}
	setProgress(c, corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimFileSystemResizePending,
		"Waiting for user to (re-)start a pod to finish file system resize of volume on node.")
	if c, err = d.claimsAPI.UpdateStatus(ctx, c); err != nil {
		return apierrors.IgnoreNotFound(err)
	}
	d.recorder.Event(c, corev1.EventTypeNormal, "FileSystemResizeRequired", "Require file system resize of volume on node")
	return d.growOnNode(ctx, c, v)
}

// growOnNode does what the kubelet of a pod with the volume does: it lets the file system grow. Without such
// a pod there is nothing to do until one runs.
func (d *driver) growOnNode(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) error {
	var pod *corev1.Pod
	err := d.users.View(c.Key().String(), func(p *corev1.Pod) bool {
		pod = p
		return false
	})
	if pod == nil || err != nil {
		return err
	}
	if c.Status.AllocatedResourceStatuses[corev1.ResourceStorage] != corev1.PersistentVolumeClaimNodeResizeInProgress {
		c.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = corev1.PersistentVolumeClaimNodeResizeInProgress
		if c, err = d.claimsAPI.UpdateStatus(ctx, c); err != nil {
			return apierrors.IgnoreNotFound(err)
		}
	}
	if c, err = d.finish(ctx, c, v); c == nil {
		return err
	}
	text := fmt.Sprintf("MountVolume.NodeExpandVolume succeeded for volume %q %s", v.Name, pod.Spec.NodeName)
	d.kubelet.Event(pod, corev1.EventTypeNormal, "FileSystemResizeSuccessful", text)
	d.kubelet.Event(c, corev1.EventTypeNormal, "FileSystemResizeSuccessful", text)
	return d.forgetSize(ctx, v)
}

// finish reports in the status of a claim that it has what its volume has. It returns the claim, nil if it is
// gone or cannot be written.
func (d *driver) finish(ctx context.Context, c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) (*corev1.PersistentVolumeClaim, error) {
	if c.Status.Capacity == nil {
		c.Status.Capacity = corev1.ResourceList{}
	}
	c.Status.Capacity[corev1.ResourceStorage] = v.Spec.Capacity[corev1.ResourceStorage]
	delete(c.Status.AllocatedResourceStatuses, corev1.ResourceStorage)
	c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, resizing)
	updated, err := d.claimsAPI.UpdateStatus(ctx, c)
	if err != nil {
		return nil, apierrors.IgnoreNotFound(err)
	}
	return updated, nil
}

// forgetSize removes the note of the size that a claim had before its volume grew.
func (d *driver) forgetSize(ctx context.Context, v *corev1.PersistentVolume) error {
	if _, noted := v.Annotations[volumematch.PreResize]; !noted {
		return nil
	}
	delete(v.Annotations, volumematch.PreResize)
	_, err := d.volumesAPI.Update(ctx, v)
	return apierrors.IgnoreNotFound(err)
}

// setProgress sets how far the expansion of a claim is, in memory. Its condition takes the place of the
// others of expansions.
func setProgress(c *corev1.PersistentVolumeClaim, status corev1.ClaimResourceStatus, t corev1.PersistentVolumeClaimConditionType, message string) {
	if c.Status.AllocatedResourceStatuses == nil {
		c.Status.AllocatedResourceStatuses = map[corev1.ResourceName]corev1.ClaimResourceStatus{}
	}
	c.Status.AllocatedResourceStatuses[corev1.ResourceStorage] = status
	c.Status.Conditions = slices.DeleteFunc(c.Status.Conditions, func(have corev1.PersistentVolumeClaimCondition) bool { return resizing(have) && have.Type != t })
	if !slices.ContainsFunc(c.Status.Conditions, resizing) {
		c.Status.Conditions = append(c.Status.Conditions, corev1.PersistentVolumeClaimCondition{Type: t, Status: corev1.ConditionTrue, Message: message, LastTransitionTime: metav1.Now()})
	}
}

// resizing reports whether a condition is one of expansions.
func resizing(c corev1.PersistentVolumeClaimCondition) bool {
	switch c.Type {
	case corev1.PersistentVolumeClaimResizing, corev1.PersistentVolumeClaimFileSystemResizePending,
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
		return true
	}
	return false
}

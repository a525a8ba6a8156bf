package volumebinder

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

// note is an event to write.
type note struct{ typ, reason, message string }

// claimState is what the decision about a claim is made from.
type claimState struct {
	claim *corev1.PersistentVolumeClaim
	// named is the volume that the claim names, nil if it does not exist.
	named *corev1.PersistentVolume
	// candidates are the volumes that may serve a claim that names none.
	candidates []*corev1.PersistentVolume
	// class is that of the claim, nil if it does not exist; standard is the default one.
	class, standard *storagev1.StorageClass
	// pods are those without a node that use the claim.
	pods []string
	// manual is set if no volumes are to be made.
	manual bool
}

// claimPlan is what to do for a claim: at most one of bind, class and provisioner is set, else phase.
type claimPlan struct {
	bind        *corev1.PersistentVolume
	class       string // to be given to the claim
	provisioner string // is to make a volume
	phase       corev1.PersistentVolumeClaimPhase
	note        *note
	// onChange is set if the note is only for a change of the phase.
	onChange bool
	err      error
}

func pending(typ, reason, format string, args ...any) claimPlan {
	return claimPlan{phase: corev1.ClaimPending, note: &note{typ, reason, fmt.Sprintf(format, args...)}}
}

func lost(reason, message string) claimPlan {
	return claimPlan{phase: corev1.ClaimLost, note: &note{corev1.EventTypeWarning, reason, message}, onChange: true}
}

// decideClaim decides what to do for a claim.
func decideClaim(s *claimState) claimPlan {
	if _, bound := s.claim.Annotations[volumematch.BindCompleted]; bound {
		return decideBound(s)
	}
	if s.claim.Spec.VolumeName != "" {
		return decideNamed(s)
	}
	r, err := volumematch.NewRequest(s.claim)
	if err != nil {
		return claimPlan{err: fmt.Errorf("volumebinder: %w", err)}
	}
	delayed := volumematch.WaitsForConsumer(s.class)
	choose := r.Best
	if delayed {
		choose = r.Reserved // by the scheduler
	}
	if v := choose(slices.Values(s.candidates)); v != nil {
		return claimPlan{bind: v}
	}
	if !volumematch.HasClass(s.claim) && s.standard != nil {
		return claimPlan{class: s.standard.Name}
	}
	return decideUnserved(s, delayed && s.claim.Annotations[volumematch.SelectedNode] == "")
}

// decideUnserved is for a claim that no volume fits. It waits for a pod, if wait, or for a volume to be made.
func decideUnserved(s *claimState, wait bool) claimPlan {
	class := s.claim.StorageClass()
	switch {
	case wait && len(s.pods) == 0:
		return pending(corev1.EventTypeNormal, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case wait && len(s.pods) == 1:
		return pending(corev1.EventTypeNormal, "WaitForPodScheduled", "waiting for pod %s to be scheduled", s.pods[0])
	case wait:
		return pending(corev1.EventTypeNormal, "WaitForPodScheduled", "waiting for pods %s to be scheduled", strings.Join(s.pods, ","))
	case class == "":
		return pending(corev1.EventTypeNormal, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	case s.manual:
		return claimPlan{phase: corev1.ClaimPending}
	case s.class == nil:
		return pending(corev1.EventTypeWarning, "ProvisioningFailed", "storageclass.storage.k8s.io %q not found", class)
	case strings.HasPrefix(s.class.Provisioner, "kubernetes.io/"):
		return pending(corev1.EventTypeWarning, "ProvisioningFailed", "no volume plugin matched name: %s", s.class.Provisioner)
	}
	return claimPlan{provisioner: s.class.Provisioner, note: &note{corev1.EventTypeNormal, "ExternalProvisioning",
		fmt.Sprintf("Waiting for a volume to be created either by the external provisioner '%s' or manually by the system administrator. "+
			"If volume creation is delayed, please verify that the provisioner is running and correctly registered.", s.class.Provisioner)}}
}

// decideNamed is for a claim that names its volume and is not bound yet.
func decideNamed(s *claimState) claimPlan {
	v := s.named
	switch {
	case v == nil:
		return claimPlan{phase: corev1.ClaimPending}
	case volumematch.IsReserved(v, s.claim):
		return claimPlan{bind: v}
	case v.Spec.ClaimRef != nil:
		p := pending(corev1.EventTypeWarning, "FailedBinding", "volume %q already bound to a different claim.", v.Name)
		if _, ours := s.claim.Annotations[volumematch.BoundByController]; ours {
			p.err = fmt.Errorf("volumebinder: claim %s names volume %s, which claim %s/%s has", s.claim.Key(), v.Name, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name)
		}
		return p
	}
	r, err := volumematch.NewRequest(s.claim)
	if err != nil {
		return claimPlan{err: fmt.Errorf("volumebinder: %w", err)}
	}
	if why := r.Mismatch(v); why != "" {
		return pending(corev1.EventTypeWarning, "VolumeMismatch", "Cannot bind to requested volume %q: %s", v.Name, why)
	}
	return claimPlan{bind: v}
}

// decideBound is for a claim that was bound before.
func decideBound(s *claimState) claimPlan {
	v := s.named
	switch {
	case s.claim.Spec.VolumeName == "":
		return lost("ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	case v == nil:
		return lost("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID != s.claim.UID:
		return lost("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
	}
	return claimPlan{bind: v}
}

// volumePlan is what to do for a volume.
type volumePlan struct {
	phase   corev1.PersistentVolumePhase // empty leaves it
	message string
	unbind  bool // removes what the controller wrote of the reference, before the phase
	note    *note
	// claimNote is an event about the claim.
	claimNote *note
}

// decideVolume decides what to do for a volume. claim is the one that it refers to by name and UID, nil if
// that does not exist.
func decideVolume(v *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) volumePlan {
	ref := v.Spec.ClaimRef
	switch {
	case ref == nil || ref.UID == "":
		return volumePlan{phase: corev1.VolumeAvailable}
	case claim == nil:
		return reclaim(v)
	case claim.Spec.VolumeName == v.Name:
		return volumePlan{phase: corev1.VolumeBound}
	case claim.Spec.VolumeName == "":
		if volumematch.SameMode(claim, v) {
			return volumePlan{} // the claim is going to be bound to it
		}
		return volumePlan{
			note:      &note{corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume to requested PersistentVolumeClaim %q due to incompatible volumeMode.", claim.Name)},
			claimNote: &note{corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind PersistentVolume %q to requested PersistentVolumeClaim due to incompatible volumeMode.", v.Name)},
		}
	case v.Annotations[volumematch.ProvisionedBy] != "" && v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete:
		return reclaim(v) // it was made for the claim, which got another one meanwhile
	}
	return volumePlan{phase: corev1.VolumeAvailable, unbind: true}
}

// reclaim is for a volume whose claim is gone.
func reclaim(v *corev1.PersistentVolume) volumePlan {
	if v.Status.Phase == corev1.VolumeFailed {
		return volumePlan{}
	}
	failed := func(reason, format string, args ...any) volumePlan {
		if v.Status.Phase != corev1.VolumeReleased {
			return volumePlan{phase: corev1.VolumeReleased} // which brings the volume back
		}
		message := fmt.Sprintf(format, args...)
		return volumePlan{phase: corev1.VolumeFailed, message: message, note: &note{corev1.EventTypeWarning, reason, message}}
	}
	switch maker := v.Annotations[volumematch.ProvisionedBy]; v.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimRetain:
	case corev1.PersistentVolumeReclaimDelete:
		if maker == "" || strings.HasPrefix(maker, "kubernetes.io/") {
			return failed("VolumeFailedDelete", "error getting deleter volume plugin for volume %q: no deletable volume plugin matched", v.Name)
		}
	case corev1.PersistentVolumeReclaimRecycle:
		return failed("VolumeFailedRecycle", "No recycler plugin found for the volume!")
	default:
		return failed("VolumeUnknownReclaimPolicy", "Volume has unrecognized PersistentVolumeReclaimPolicy")
	}
	return volumePlan{phase: corev1.VolumeReleased}
}

// release returns a copy of a volume without its reference to a claim, as far as it is not a user's.
func release(v *corev1.PersistentVolume) *corev1.PersistentVolume {
	next := codec.DeepCopy(v)
	if _, ours := next.Annotations[volumematch.BoundByController]; ours {
		delete(next.Annotations, volumematch.BoundByController)
		next.Spec.ClaimRef = nil
		return next
	}
	next.Spec.ClaimRef.UID, next.Spec.ClaimRef.ResourceVersion = "", ""
	return next
}

// name returns a copy of a claim that names a volume and is bound, or the claim if it is.
func name(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	_, bound := c.Annotations[volumematch.BindCompleted]
	if bound && c.Spec.VolumeName == v.Name {
		return c
	}
	next := codec.DeepCopy(c)
	if next.Spec.VolumeName != v.Name {
		next.Spec.VolumeName = v.Name
		next.Annotations = annotated(next.Annotations, volumematch.BoundByController)
	}
	next.Annotations = annotated(next.Annotations, volumematch.BindCompleted)
	return next
}

func annotated(m map[string]string, key string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = "yes"
	return m
}

// capacity returns what a claim shows that becomes bound to a volume: if the file system is to grow yet, what
// it was before.
func capacity(v *corev1.PersistentVolume) corev1.ResourceList {
	before, err := resource.Parse(v.Annotations[volumematch.PreResize])
	if err != nil {
		return v.Spec.Capacity
	}
	out := maps.Clone(v.Spec.Capacity)
	out[corev1.ResourceStorage] = before
	return out
}

// statusOf returns the status of a claim in a phase. v is its volume if the phase is Bound. What a bound
// claim says of its volume is left to the controllers that change that.
func statusOf(c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, v *corev1.PersistentVolume) corev1.PersistentVolumeClaimStatus {
	status := *codec.DeepCopy(&c.Status)
	becomes := status.Phase != phase
	status.Phase = phase
	if phase != corev1.ClaimBound {
		status.AccessModes, status.Capacity, status.CurrentVolumeAttributesClassName = nil, nil, nil
		return status
	}
	if !slices.Equal(status.AccessModes, v.Spec.AccessModes) {
		status.AccessModes = v.Spec.AccessModes
	}
	if _, known := status.Capacity[corev1.ResourceStorage]; becomes || !known {
		status.Capacity = capacity(v)
	}
	if becomes {
		status.CurrentVolumeAttributesClassName = v.Spec.VolumeAttributesClassName
	}
	return status
}

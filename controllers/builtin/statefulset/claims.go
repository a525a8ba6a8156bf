package statefulset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

var podKind = corev1.GroupVersion.WithKind("Pod")

func claimName(set *appsv1.StatefulSet, template *corev1.PersistentVolumeClaim, ordinal int) string {
	return template.Name + "-" + podName(set, ordinal)
}

// byClaimName files sets under what the names of their claims are without the ordinal.
var byClaimName = informers.DefineIndex("statefulset.claims", func(set *appsv1.StatefulSet) []string {
	var out []string
	for i := range set.Spec.VolumeClaimTemplates {
		out = append(out, set.Namespace+"/"+set.Spec.VolumeClaimTemplates[i].Name+"-"+set.Name)
	}
	return out
})

// ofDeletedClaim returns the sets that may have waited for the deletion of a claim to create another one.
func (s *statefulSets) ofDeletedClaim(e informers.Event[*corev1.PersistentVolumeClaim]) []reconcile.Request {
	i := strings.LastIndexByte(e.Key.Name, '-')
	if e.Type != informers.Deleted || i < 0 {
		return nil
	}
	if _, err := strconv.ParseUint(e.Key.Name[i+1:], 10, 31); err != nil {
		return nil
	}
	// A set that cannot be read now is reconciled when it can.
	keys, _ := s.byClaimName.Keys(e.Key.Namespace + "/" + e.Key.Name[:i])
	return keys
}

// newClaims returns the claims of the pod with an ordinal, without owners.
func newClaims(set *appsv1.StatefulSet, ordinal int) []*corev1.PersistentVolumeClaim {
	var out []*corev1.PersistentVolumeClaim
	for i := range set.Spec.VolumeClaimTemplates {
		t := codec.DeepCopy(&set.Spec.VolumeClaimTemplates[i])
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: t.ObjectMeta, Spec: t.Spec}
		claim.Namespace, claim.Name = set.Namespace, claimName(set, t, ordinal)
		if claim.Labels == nil {
			claim.Labels = map[string]string{}
		}
		maps.Copy(claim.Labels, set.Spec.Selector.MatchLabels)
		out = append(out, claim)
	}
	return out
}

// retainer is which object a claim goes with.
type retainer int

const (
	retained retainer = iota // none
	withSet
	withPod
)

// retention returns what the claims of a pod go with: a condemned one is deleted because the set shrinks.
func retention(set *appsv1.StatefulSet, condemned bool) retainer {
	p := set.Spec.PersistentVolumeClaimRetentionPolicy
	switch {
	case p == nil:
	case condemned && p.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType:
		return withPod
	case p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType &&
		(!condemned || p.WhenScaled != appsv1.DeletePersistentVolumeClaimRetentionPolicyType):
		return withSet
	}
	return retained
}

// isOf reports whether a reference is to an object of that kind and name, of whatever incarnation.
func isOf(r *metav1.OwnerReference, kind schema.GroupVersionKind, name string) bool {
	return r.APIVersion == kind.GroupVersion().String() && r.Kind == kind.Kind && r.Name == name
}

// ours reports whether a reference is to the set or to the pod, or to a previous one of the name.
func ours(r *metav1.OwnerReference, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	return isOf(r, kind, set.Name) || isOf(r, podKind, pod.Name)
}

// belongs reports whether a reference is to the set or to the pod as they are now.
func belongs(r *metav1.OwnerReference, set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	return r.UID == set.UID || r.UID == pod.UID
}

// conflicting reports whether a claim that the set is to delete some day has another controller than the set
// or the pod, or belongs to a previous one of them.
func conflicting(set *appsv1.StatefulSet, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim) bool {
	if retention(set, true) == retained && retention(set, false) == retained {
		return false
	}
	return slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool {
		return !belongs(&r, set, pod) && (ours(&r, set, pod) || r.Controller != nil && *r.Controller)
	})
}

// withOwner returns the owner references of a claim as the retention policy says, and whether they differ
// from those it has. The references of other objects stay. A claim that another object controls is left to
// that one, and one that belongs to a previous set or pod of the name is deleted with it.
func withOwner(set *appsv1.StatefulSet, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, keep retainer) (refs []metav1.OwnerReference, changed bool) {
	var want *metav1.OwnerReference
	switch keep {
	case withSet:
		want = new(metav1.NewControllerRef(set, kind))
	case withPod:
		want = new(metav1.NewControllerRef(pod, podKind))
	}
	if conflicting(set, pod, claim) {
		want = nil
	}
	missing := want != nil
	for _, r := range claim.OwnerReferences {
		switch {
		case !ours(&r, set, pod):
			refs = append(refs, r)
		case !belongs(&r, set, pod):
			return claim.OwnerReferences, false
		case missing && r.UID == want.UID && r.Controller != nil && *r.Controller:
			missing = false
			refs = append(refs, r)
		default:
			changed = true
		}
	}
	if missing {
		refs = append(refs, *want)
	}
	return refs, changed || missing
}

// provide creates the missing claims of a pod, and waits for those that are being deleted.
func (s *statefulSets) provide(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod) error {
	var errs []error
	for _, claim := range newClaims(set, ordinalOf(set, pod)) {
		have, err := s.claims.Get(claim.Key())
		switch {
		case apierrors.IsNotFound(err):
			if retention(set, false) == withSet {
				claim.OwnerReferences = []metav1.OwnerReference{metav1.NewControllerRef(set, kind)}
			}
			_, err = s.claimsAPI.Create(ctx, claim)
			if apierrors.IsAlreadyExists(err) {
				err = nil // its event is on the way
			} else {
				s.claimEvent(set, pod, claim, err)
			}
		case err == nil && have.DeletionTimestamp != nil:
			err = fmt.Errorf("statefulset: claim %s is being deleted", have.Name)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *statefulSets) claimEvent(set *appsv1.StatefulSet, pod *corev1.Pod, claim *corev1.PersistentVolumeClaim, err error) {
	if err == nil {
		s.Recorder.Eventf(set, corev1.EventTypeNormal, "SuccessfulCreate", "Create Claim %s Pod %s in StatefulSet %s success", claim.Name, pod.Name, set.Name)
		return
	}
	s.Recorder.Eventf(set, corev1.EventTypeWarning, "FailedCreate", "Create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim.Name, pod.Name, set.Name, err)
}

// bequeath gives the claims of a pod the owner that the retention policy says, and reports whether one had
// another. Claims that conflict with the policy are reported in events, always or if a claim of the pod
// changes.
func (s *statefulSets) bequeath(ctx context.Context, set *appsv1.StatefulSet, pod *corev1.Pod, condemned, always bool) (changed bool, err error) {
	var conflicts []string
	var next []*corev1.PersistentVolumeClaim
	for _, want := range newClaims(set, ordinalOf(set, pod)) {
		claim, err := s.claims.Get(want.Key())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return false, err
		}
		if conflicting(set, pod, claim) {
			conflicts = append(conflicts, claim.Name)
		}
		if refs, differ := withOwner(set, pod, claim, retention(set, condemned)); differ {
			claim.OwnerReferences = refs
			next = append(next, claim)
		}
	}
	if len(next) == 0 && !always {
		return false, nil
	}
	for _, name := range conflicts {
		s.Recorder.Eventf(set, corev1.EventTypeWarning, "ConflictingController", "PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim", name)
	}
	for _, claim := range next {
		if _, err := s.claimsAPI.Update(ctx, claim); err != nil && !apierrors.IsNotFound(err) {
			return true, err
		}
	}
	return len(next) > 0, nil
}

// stale reports whether a claim for a new pod still belongs to a previous pod of the name, with which it is
// going to be deleted.
func (s *statefulSets) stale(set *appsv1.StatefulSet, ordinal int) (bool, error) {
	if retention(set, true) != withPod {
		return false, nil // claims are used again
	}
	name := podName(set, ordinal)
	for _, want := range newClaims(set, ordinal) {
		stale := false
		err := s.claims.View(want.Key(), func(c *corev1.PersistentVolumeClaim) {
			stale = slices.ContainsFunc(c.OwnerReferences, func(r metav1.OwnerReference) bool {
				return isOf(&r, podKind, name)
			})
		})
		if stale || apierrors.IgnoreNotFound(err) != nil {
			return stale, apierrors.IgnoreNotFound(err)
		}
	}
	return false, nil
}

package resourceclaim

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// ended reports whether a pod will not run any more.
func ended(p *corev1.Pod) bool {
	return p.HasEnded() || p.DeletionTimestamp != nil && p.Spec.NodeName == ""
}

// wanted returns the entries of a pod for which there must be a claim of its own: those of a template, but
// for one that was found to need none.
func wanted(pod *corev1.Pod) (out []*corev1.PodResourceClaim) {
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		if name, known := podclaims.Name(pod, entry); entry.ResourceClaimTemplateName != nil && (!known || name != "") {
			out = append(out, entry)
		}
	}
	return out
}

// newClaim returns the claim of an entry.
func newClaim(pod *corev1.Pod, entry *corev1.PodResourceClaim, template resourcev1.ResourceClaimTemplateSpec) *resourcev1.ResourceClaim {
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[resourcev1.PodResourceClaimAnnotation] = entry.Name
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: baseName(pod.Name, entry.Name), Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: podKind.Version, Kind: podKind.Kind, Name: pod.Name, UID: pod.UID, Controller: new(true)}}},
		Spec: template.Spec,
	}
}

// isFor reports whether a claim is the one that was made for an entry, and lives.
func isFor(claim *resourcev1.ResourceClaim, pod *corev1.Pod, entry *corev1.PodResourceClaim) bool {
	return metav1.IsControlledBy(claim, pod.UID) && claim.Annotations[resourcev1.PodResourceClaimAnnotation] == entry.Name && claim.DeletionTimestamp == nil
}

// baseName is what the name of a claim begins with. Both parts are cut in proportion to their lengths where
// five random characters would not fit into 63 otherwise.
func baseName(pod, entry string) string {
	const most = 57
	whole := len(pod) + len(entry) + len("--")
	if whole <= most {
		return pod + "-" + entry + "-"
	}
	return pod[:len(pod)*most/whole] + "-" + entry[:len(entry)*most/whole]
}

// reservable reports whether a pod is to be entered in a claim that it uses.
func reservable(claim *resourcev1.ResourceClaim, pod *corev1.Pod) bool {
	return claim.Status.Allocation != nil && !podclaims.Reserved(claim, pod) && len(claim.Status.ReservedFor) < resourcev1.ResourceClaimReservedForMaxSize
}

// plan is what to take from a claim.
type plan struct {
	status    *resourcev1.ResourceClaimStatus // to be written; nil if it is as it should be
	finalizer bool                            // to be removed
}

// decide returns what to take from a claim of which some reservations remain. An allocation ends with the
// last of them, so that the next consumer may get devices of another node, or with the deletion of a claim
// that has none. It does not end otherwise: a claim may be allocated before it is reserved.
func decide(claim *resourcev1.ResourceClaim, remaining []resourcev1.ResourceClaimConsumerReference) (p plan) {
	fewer := len(remaining) < len(claim.Status.ReservedFor)
	p.finalizer = len(remaining) == 0 && metav1.HasFinalizer(claim, resourcev1.Finalizer) && (fewer || claim.DeletionTimestamp != nil)
	deallocated := p.finalizer && claim.Status.Allocation != nil
	if !fewer && !deallocated {
		return p
	}
	p.status = new(claim.Status)
	p.status.ReservedFor = remaining
	if deallocated {
		p.status.Allocation = nil
	}
	return p
}

// released returns the claims of a pod that does not need them any more.
func released(e informers.Event[*corev1.Pod]) []reconcile.Request {
	var pod *corev1.Pod
	switch old := e.Old(); {
	case e.Type == informers.Deleted:
		pod = old
	case old != nil && old.UID != e.UID: // another pod of the name
		pod = old
	default:
		if pod = e.New(); pod != nil && !ended(pod) {
			return nil
		}
	}
	if pod == nil || !podclaims.Used(pod) {
		return nil
	}
	var out []reconcile.Request
	for _, name := range podclaims.Names(pod) {
		out = append(out, reconcile.Request{Namespace: pod.Namespace, Name: name})
	}
	return out
}

// Package podclaims finds the ResourceClaims that pods use, and the pods that use a claim.
package podclaims

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/informers"
)

// ByClaim files pods under the keys, as namespace/name, of the claims that they use.
var ByClaim = informers.DefineIndex("podclaims.claims", func(p *corev1.Pod) []string {
	var out []string
	for _, name := range Names(p) {
		out = append(out, p.Namespace+"/"+name)
	}
	return out
})

// Used reports whether a pod uses claims; the pod may be nil.
func Used(p *corev1.Pod) bool {
	return p != nil && (len(p.Spec.ResourceClaims) > 0 || p.Status.ExtendedResourceClaimStatus != nil)
}

// Names returns the names of the claims of a pod as far as they are known.
func Names(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.ResourceClaims {
		if name, known := Name(p, &p.Spec.ResourceClaims[i]); known && name != "" {
			out = append(out, name)
		}
	}
	if e := p.Status.ExtendedResourceClaimStatus; e != nil {
		out = append(out, e.ResourceClaimName)
	}
	return out
}

// Name returns the name of the claim of an entry, which is empty if the entry needs none. known is false if
// that has not been decided yet.
func Name(p *corev1.Pod, entry *corev1.PodResourceClaim) (name string, known bool) {
	if entry.ResourceClaimName != nil {
		return *entry.ResourceClaimName, true
	}
	i := slices.IndexFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == entry.Name })
	if i < 0 {
		return "", false
	}
	if n := p.Status.ResourceClaimStatuses[i].ResourceClaimName; n != nil {
		name = *n
	}
	return name, true
}

// Owner returns the reference to the pod for which a claim was made, nil if it was made for none.
func Owner(c *resourcev1.ResourceClaim) *metav1.OwnerReference {
	if ref := metav1.ControllerOf(c); ref != nil && ref.Kind == "Pod" && ref.APIVersion == corev1.GroupVersion.Version {
		return ref
	}
	return nil
}

// Reserved reports whether a claim is reserved for a pod.
func Reserved(c *resourcev1.ResourceClaim, p *corev1.Pod) bool {
	return slices.ContainsFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.UID })
}

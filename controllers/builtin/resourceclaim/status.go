package resourceclaim

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/controllers/internal/podclaims"
)

// statusOf returns the names of the claims of a pod, those of made by the names of their entries, and whether
// they differ from what its status has.
func statusOf(pod *corev1.Pod, made map[string]string) (statuses []corev1.PodResourceClaimStatus, changed bool) {
	statuses = []corev1.PodResourceClaimStatus{}
	for i := range pod.Spec.ResourceClaims {
		entry := &pod.Spec.ResourceClaims[i]
		if entry.ResourceClaimTemplateName == nil {
			continue
		}
		before, _ := podclaims.Name(pod, entry)
		status := corev1.PodResourceClaimStatus{Name: entry.Name}
		if now := made[entry.Name]; now != "" {
			status.ResourceClaimName = &now
			changed = changed || now != before
		}
		statuses = append(statuses, status)
	}
	return statuses, changed
}

// Package quota computes the usage that API objects have in ResourceQuotas. Admission and the quota
// controller both use it, so that they agree.
package quota

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Usage returns the usage of one object of a resource ("pods", "deployments.apps"): one unit of its object
// count, and for pods, claims and services what they request. Claims of devices use extended resources too:
// see [Claims].
func Usage(kind string, obj metav1.Object) corev1.ResourceList {
	one := resource.NewQuantity(1, resource.DecimalSI)
	out := corev1.ResourceList{corev1.ResourceName("count/" + kind): one}
	switch o := obj.(type) {
	case *corev1.Pod:
		if !Charged(o) {
			return out
		}
		out[corev1.ResourcePods] = one
		o = resized(o)
		for name, q := range PodTotal(o, Requests) {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
				out[name] = q
			}
			out["requests."+name] = q
		}
		for name, q := range PodTotal(o, Limits) {
			out["limits."+name] = q
		}
	case *corev1.PersistentVolumeClaim:
		storage := claimed(o)
		out[corev1.ResourcePersistentVolumeClaims], out[corev1.ResourceRequestsStorage] = one, storage
		if class := o.StorageClass(); class != "" {
			prefix := corev1.ResourceName(class + ".storageclass.storage.k8s.io/")
			out[prefix+"persistentvolumeclaims"], out[prefix+"requests.storage"] = one, storage
		}
	case *resourcev1.ResourceClaim:
		for class, n := range devices(o) {
			out[corev1.ResourceName(class+corev1.ResourceClaimsPerClass)] = resource.NewQuantity(n, resource.DecimalSI)
		}
	case *corev1.Service:
		out[corev1.ResourceServices] = one
		if o.Spec.Type == corev1.ServiceTypeLoadBalancer {
			out[corev1.ResourceServicesLoadBalancers] = one
		}
		ports := 0
		if o.Spec.Type == corev1.ServiceTypeNodePort ||
			o.Spec.Type == corev1.ServiceTypeLoadBalancer && (o.Spec.AllocateLoadBalancerNodePorts == nil || *o.Spec.AllocateLoadBalancerNodePorts) {
			ports = len(o.Spec.Ports)
		}
		if ports > 0 {
			out[corev1.ResourceServicesNodePorts] = resource.NewQuantity(int64(ports), resource.DecimalSI)
		}
	case *corev1.ConfigMap:
		out[corev1.ResourceConfigMaps] = one
	case *corev1.Secret:
		out[corev1.ResourceSecrets] = one
	case *corev1.ReplicationController:
		out[corev1.ResourceReplicationControllers] = one
	}
	return out
}

// Charged reports whether a pod uses more than its object count: it has not ended, and its deletion is not
// overdue. A pod whose node is lost may be terminating for as long as the node is; it is charged until its
// grace period has passed after its deletionTimestamp, so that it does not keep its replacement from being
// created.
func Charged(pod *corev1.Pod) bool {
	if pod.HasEnded() {
		return false
	}
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil {
		return true
	}
	grace := time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	return !time.Now().After(pod.DeletionTimestamp.Add(grace))
}

// Matches reports whether obj is within the scopes of quota. A quota with scopes counts pods and, in the
// scope VolumeAttributesClass, claims.
func Matches(quota *corev1.ResourceQuota, obj metav1.Object) bool {
	return !slices.ContainsFunc(Scopes(quota), func(r corev1.ScopedResourceSelectorRequirement) bool { return !InScope(obj, r) })
}

// Scopes returns the scopes of a quota, those of spec.scopes as requirements too.
func Scopes(quota *corev1.ResourceQuota) []corev1.ScopedResourceSelectorRequirement {
	var all []corev1.ScopedResourceSelectorRequirement
	for _, s := range quota.Spec.Scopes {
		all = append(all, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if s := quota.Spec.ScopeSelector; s != nil {
		all = append(all, s.MatchExpressions...)
	}
	return all
}

// InScope reports whether obj is in the scope of r. Objects that are neither pods nor claims are in none.
func InScope(obj metav1.Object, r corev1.ScopedResourceSelectorRequirement) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return podInScope(o, r)
	case *corev1.PersistentVolumeClaim:
		return r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass && selects(r, o.AttributesClasses())
	}
	return false
}

// ScopeKey returns a text that is the same for two objects of a kind only if each is in the scopes that the
// other is in.
func ScopeKey(obj metav1.Object) string {
	switch o := obj.(type) {
	case *corev1.Pod:
		return fmt.Sprint(o.Spec.ActiveDeadlineSeconds != nil, bestEffort(o), crossNamespaceAffinity(o), o.Spec.PriorityClassName)
	case *corev1.PersistentVolumeClaim:
		return strings.Join(o.AttributesClasses(), ",")
	}
	return ""
}

func podInScope(pod *corev1.Pod, r corev1.ScopedResourceSelectorRequirement) bool {
	switch r.ScopeName {
	case corev1.ResourceQuotaScopeTerminating:
		return pod.Spec.ActiveDeadlineSeconds != nil
	case corev1.ResourceQuotaScopeNotTerminating:
		return pod.Spec.ActiveDeadlineSeconds == nil
	case corev1.ResourceQuotaScopeBestEffort:
		return bestEffort(pod)
	case corev1.ResourceQuotaScopeNotBestEffort:
		return !bestEffort(pod)
	case corev1.ResourceQuotaScopePriorityClass:
		var classes []string
		if class := pod.Spec.PriorityClassName; class != "" {
			classes = []string{class}
		}
		return selects(r, classes)
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossNamespaceAffinity(pod)
	}
	return false
}

// selects reports whether the requirement holds of one of the classes of an object or, if it has none, of an
// object without.
func selects(r corev1.ScopedResourceSelectorRequirement, classes []string) bool {
	switch r.Operator {
	case corev1.ScopeSelectorOpExists:
		return len(classes) > 0
	case corev1.ScopeSelectorOpDoesNotExist:
		return len(classes) == 0
	case corev1.ScopeSelectorOpIn:
		return slices.ContainsFunc(classes, func(c string) bool { return slices.Contains(r.Values, c) })
	case corev1.ScopeSelectorOpNotIn:
		return len(classes) == 0 || slices.ContainsFunc(classes, func(c string) bool { return !slices.Contains(r.Values, c) })
	}
	return false
}

func bestEffort(pod *corev1.Pod) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				req, lim := r.Requests[name], r.Limits[name]
				if !req.IsZero() || !lim.IsZero() {
					return false
				}
			}
		}
	}
	return true
}

func crossNamespaceAffinity(pod *corev1.Pod) bool {
	aff := pod.Spec.Affinity
	if aff == nil {
		return false
	}
	cross := func(terms []corev1.PodAffinityTerm, weighted []corev1.WeightedPodAffinityTerm) bool {
		for i := range weighted {
			terms = append(terms, weighted[i].PodAffinityTerm)
		}
		return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
	}
	return aff.PodAffinity != nil && cross(slices.Clip(aff.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution), aff.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) ||
		aff.PodAntiAffinity != nil && cross(slices.Clip(aff.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution), aff.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
}

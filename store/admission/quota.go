package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	quantity "github.com/keelson-dev/keelson/apimachinery/resource"
)

// resourceQuota charges what a request adds to the namespace's quotas, and refuses what does not fit. The charge is
// written to the quota's status under optimistic locking before the object is stored, so that two
// servers cannot both spend the last unit; if the object then fails to be stored, the quota controller's recount gives it back.
type resourceQuota struct {
	named
	access Access
}

func newResourceQuota(access Access) Plugin {
	return &resourceQuota{named{"ResourceQuota", []Operation{Create, Update}}, access}
}

// quotaAttempts bounds how often a charge is tried anew after somebody else changed the quota.
const quotaAttempts = 10

func (p *resourceQuota) Validate(ctx context.Context, a *Attributes) error {
	if a.Namespace == "" || a.Object == nil || a.Subresource != "" && !(a.Subresource == "resize" && a.Resource.Resource == "pods") ||
		a.Resource.Group == "" && (a.Resource.Resource == "resourcequotas" || a.Resource.Resource == "events") {
		return nil
	}
	delta := Usage(a.Resource.GroupResource().String(), a.Object)
	if a.Operation == Update {
		if a.Old == nil {
			return nil
		}
		delta = grown(delta, Usage(a.Resource.GroupResource().String(), a.Old))
	}
	if len(delta) == 0 {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := p.charge(ctx, a, delta)
		if !apierrors.IsConflict(err) || attempt == quotaAttempts {
			return err
		}
	}
}

// charge checks all quotas first and then writes those that are spent from.
func (p *resourceQuota) charge(ctx context.Context, a *Attributes, delta corev1.ResourceList) error {
	all, err := p.access.List(ctx, core("resourcequotas"), a.Namespace, labels.Everything())
	if err != nil {
		return err
	}
	var spend []*corev1.ResourceQuota
	for _, obj := range all {
		quota := obj.(*corev1.ResourceQuota)
		if !QuotaMatches(quota, a.Object) {
			continue
		}
		if missing := unspecified(a.Object, quota.Status.Hard); len(missing) > 0 && a.Operation == Create {
			return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("failed quota: %s: must specify %s", quota.Name, strings.Join(missing, ",")))
		}
		used, over := corev1.ResourceList{}, []corev1.ResourceName{}
		for name, more := range delta {
			hard, limited := quota.Status.Hard[name]
			if !limited {
				continue
			}
			sum := quota.Status.Used[name]
			sum.Add(more)
			used[name] = sum
			if sum.Cmp(hard) > 0 && more.Sign() > 0 {
				over = append(over, name)
			}
		}
		if len(over) > 0 {
			slices.Sort(over)
			return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
				quota.Name, show(over, delta), show(over, quota.Status.Used), show(over, quota.Status.Hard)))
		}
		if len(used) > 0 {
			next := codec.DeepCopy(quota)
			if next.Status.Used == nil {
				next.Status.Used = corev1.ResourceList{}
			}
			maps.Copy(next.Status.Used, used)
			spend = append(spend, next)
		}
	}
	if a.DryRun {
		return nil
	}
	for _, quota := range spend {
		if _, err := p.access.UpdateStatus(ctx, core("resourcequotas"), quota); err != nil {
			return err
		}
	}
	return nil
}

func show(names []corev1.ResourceName, list corev1.ResourceList) string {
	parts := make([]string, len(names))
	for i, n := range names {
		q := list[n]
		parts[i] = string(n) + "=" + q.String()
	}
	return strings.Join(parts, ",")
}

func grown(now, before corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range now {
		q.Sub(before[name])
		if q.Sign() > 0 {
			out[name] = q
		}
	}
	return out
}

// Usage is what one object of a resource ("pods", "deployments.apps") counts for in quotas: one unit of its
// object count, and for pods, claims and services what they ask for. The quota controller recounts with it.
func Usage(resource string, obj metav1.Object) corev1.ResourceList {
	one := quantity.NewQuantity(1, quantity.DecimalSI)
	out := corev1.ResourceList{corev1.ResourceName("count/" + resource): one}
	switch o := obj.(type) {
	case *corev1.Pod:
		// A pod that has ended or outlived its grace period holds nothing but its object.
		if ended(o) {
			return out
		}
		out[corev1.ResourcePods] = one
		for name, q := range podTotal(o, requests) {
			if name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage {
				out[name] = q
			}
			out["requests."+name] = q
		}
		for name, q := range podTotal(o, limits) {
			out["limits."+name] = q
		}
	case *corev1.PersistentVolumeClaim:
		storage := o.Spec.Resources.Requests[corev1.ResourceStorage]
		out[corev1.ResourcePersistentVolumeClaims], out[corev1.ResourceRequestsStorage] = one, storage
		if o.Spec.StorageClassName != nil && *o.Spec.StorageClassName != "" {
			prefix := corev1.ResourceName(*o.Spec.StorageClassName + ".storageclass.storage.k8s.io/")
			out[prefix+"persistentvolumeclaims"], out[prefix+"requests.storage"] = one, storage
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
			out[corev1.ResourceServicesNodePorts] = quantity.NewQuantity(int64(ports), quantity.DecimalSI)
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

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// QuotaMatches reports whether obj is within the scopes of quota. A quota with scopes counts pods only
// (and claims, for volume attribute classes).
func QuotaMatches(quota *corev1.ResourceQuota, obj metav1.Object) bool {
	if len(quota.Spec.Scopes) == 0 && quota.Spec.ScopeSelector == nil {
		return true
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	for _, s := range quota.Spec.Scopes {
		if !inScope(pod, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists}) {
			return false
		}
	}
	if quota.Spec.ScopeSelector != nil {
		for _, r := range quota.Spec.ScopeSelector.MatchExpressions {
			if !inScope(pod, r) {
				return false
			}
		}
	}
	return true
}

func inScope(pod *corev1.Pod, r corev1.ScopedResourceSelectorRequirement) bool {
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
		switch class := pod.Spec.PriorityClassName; r.Operator {
		case corev1.ScopeSelectorOpExists:
			return class != ""
		case corev1.ScopeSelectorOpDoesNotExist:
			return class == ""
		case corev1.ScopeSelectorOpIn:
			return slices.Contains(r.Values, class)
		case corev1.ScopeSelectorOpNotIn:
			return !slices.Contains(r.Values, class)
		}
	case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return crossNamespaceAffinity(pod)
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

// unspecified lists the compute resources a quota limits that some container of a pod leaves open: with such a quota
// every container must say what it needs.
func unspecified(obj metav1.Object, hard corev1.ResourceList) []string {
	pod, ok := obj.(*corev1.Pod)
	if !ok || ended(pod) {
		return nil
	}
	var missing []string
	need := func(quotaName, name corev1.ResourceName, w which) {
		if _, limited := hard[quotaName]; !limited {
			return
		}
		if r := pod.Spec.Resources; r != nil {
			if _, ok := w(r)[name]; ok {
				return
			}
		}
		var open []string
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				if _, ok := w(&list[i].Resources)[name]; !ok {
					open = append(open, list[i].Name)
				}
			}
		}
		if len(open) > 0 {
			missing = append(missing, fmt.Sprintf("%s for: %s", quotaName, strings.Join(open, ",")))
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		need(name, name, requests)
		need("limits."+name, name, limits)
		need("requests."+name, name, requests)
	}
	return missing
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

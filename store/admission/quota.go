package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
)

// resourceQuota charges the namespace's quotas with the usage that a request adds, and refuses a request that
// exceeds one. The charge is written to the stored quota before the object is stored, so that two requests or
// two servers cannot both use the last unit; if storing the object then fails, the quota controller's recount
// corrects it.
type resourceQuota struct {
	named
	access Access
}

func newResourceQuota(access Access) Plugin {
	return &resourceQuota{named{"ResourceQuota", []Operation{Create, Update}}, access}
}

func (p *resourceQuota) Validate(ctx context.Context, a *Attributes) error {
	if a.Namespace == "" || a.Object == nil || a.Subresource != "" && !(a.Subresource == "resize" && a.Resource.Resource == "pods") ||
		a.Resource.Group == "" && (a.Resource.Resource == "resourcequotas" || a.Resource.Resource == "events") {
		return nil
	}
	all, err := p.access.List(ctx, core("resourcequotas"), a.Namespace, labels.Everything())
	if err != nil || len(all) == 0 {
		return err
	}
	delta := quota.Usage(a.Resource.GroupResource().String(), a.Object)
	if a.Operation == Update {
		if a.Old == nil {
			return nil
		}
		delta = increase(delta, quota.Usage(a.Resource.GroupResource().String(), a.Old))
	}
	if len(delta) == 0 {
		return nil
	}
	return p.charge(ctx, a, all, delta)
}

// charge checks all quotas first, so that a request refused by one is not charged to another, and then
// charges each. If a cached quota refuses the request the stored one is read: usage may have dropped
// meanwhile.
func (p *resourceQuota) charge(ctx context.Context, a *Attributes, all []metav1.Object, delta corev1.ResourceList) error {
	var spend []*corev1.ResourceQuota
	for _, obj := range all {
		rq := obj.(*corev1.ResourceQuota)
		if !quota.Matches(rq, a.Object) {
			continue
		}
		used, err := spent(a, rq, delta)
		if err != nil {
			latest, missing := p.access.Latest(ctx, core("resourcequotas"), metav1.KeyOf(rq))
			if apierrors.IsNotFound(missing) {
				continue
			}
			if missing != nil {
				return missing
			}
			if used, err = spent(a, latest.(*corev1.ResourceQuota), delta); err != nil {
				return err
			}
		}
		if len(used) > 0 {
			spend = append(spend, rq)
		}
	}
	if a.DryRun {
		return nil
	}
	for i, rq := range spend {
		err := p.access.ChangeStatus(ctx, core("resourcequotas"), metav1.KeyOf(rq), func(obj metav1.Object) error {
			current := obj.(*corev1.ResourceQuota)
			used, err := spent(a, current, delta)
			if err != nil {
				return err
			}
			if current.Status.Used == nil {
				current.Status.Used = corev1.ResourceList{}
			}
			maps.Copy(current.Status.Used, used)
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) {
			p.release(ctx, spend[:i], delta)
			return err
		}
	}
	return nil
}

// release undoes charges. If that fails, the quota controller's recount corrects them later.
func (p *resourceQuota) release(ctx context.Context, quotas []*corev1.ResourceQuota, delta corev1.ResourceList) {
	for _, rq := range quotas {
		_ = p.access.ChangeStatus(ctx, core("resourcequotas"), metav1.KeyOf(rq), func(obj metav1.Object) error {
			status := &obj.(*corev1.ResourceQuota).Status
			for name, more := range delta {
				if used, ok := status.Used[name]; ok && used.Cmp(more) >= 0 {
					used.Sub(more)
					status.Used[name] = used
				}
			}
			return nil
		})
	}
}

// spent returns the usage of the quota with delta added, or an error if that exceeds it.
func spent(a *Attributes, rq *corev1.ResourceQuota, delta corev1.ResourceList) (corev1.ResourceList, error) {
	if missing := unspecified(a.Object, rq.Status.Hard); len(missing) > 0 && a.Operation == Create {
		return nil, forbid(a, "failed quota: %s: must specify %s", rq.Name, strings.Join(missing, ","))
	}
	used, over := corev1.ResourceList{}, []corev1.ResourceName{}
	for name, more := range delta {
		hard, limited := rq.Status.Hard[name]
		if !limited {
			continue
		}
		sum := rq.Status.Used[name]
		sum.Add(more)
		used[name] = sum
		if sum.Cmp(hard) > 0 && more.Sign() > 0 {
			over = append(over, name)
		}
	}
	if len(over) > 0 {
		slices.Sort(over)
		return nil, forbid(a, "exceeded quota: %s, requested: %s, used: %s, limited: %s",
			rq.Name, formatResources(over, delta), formatResources(over, rq.Status.Used), formatResources(over, rq.Status.Hard))
	}
	return used, nil
}

func formatResources(names []corev1.ResourceName, list corev1.ResourceList) string {
	parts := make([]string, len(names))
	for i, n := range names {
		q := list[n]
		parts[i] = string(n) + "=" + q.String()
	}
	return strings.Join(parts, ",")
}

func increase(now, before corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range now {
		q.Sub(before[name])
		if q.Sign() > 0 {
			out[name] = q
		}
	}
	return out
}

// unspecified returns the compute resources of a quota that some container of a pod does not set: such a
// quota requires them of every container.
func unspecified(obj metav1.Object, hard corev1.ResourceList) []string {
	pod, ok := obj.(*corev1.Pod)
	if !ok || !quota.Charged(pod) {
		return nil
	}
	var missing []string
	need := func(quotaName, name corev1.ResourceName, w quota.Which) {
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
		need(name, name, quota.Requests)
		need("limits."+name, name, quota.Limits)
		need("requests."+name, name, quota.Requests)
	}
	return missing
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

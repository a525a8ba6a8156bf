package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// resourceQuota charges the namespace's quotas with the usage that a request adds, and refuses a request that
// exceeds one. The charge is written to the stored quota before the object is stored, so that two requests or
// two servers cannot both use the last unit; if storing the object then fails, the quota controller's recount
// corrects it.
type resourceQuota struct {
	named
	access  Access
	limited []LimitedResource
}

func newResourceQuota(access Access, o Options) Plugin {
	return &resourceQuota{named{"ResourceQuota", []Operation{Create, Update}}, access, o.Configuration.LimitedResources}
}

// measures reports whether the request may change what its object uses.
func (p *resourceQuota) measures(a *Attributes) bool {
	if a.Namespace == "" || a.Object == nil || a.Operation == Update && a.Old == nil {
		return false
	}
	switch a.Resource.GroupResource().String() + "/" + a.Subresource {
	case "resourcequotas/", "events/":
		return false
	case "pods/resize", "persistentvolumeclaims/status":
		return true
	case "pods/": // other changes neither change what a pod uses nor bring it into other scopes
		ending := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopeTerminating}
		return a.Operation == Create || quota.InScope(a.Object, ending) != quota.InScope(a.Old, ending)
	}
	return a.Subresource == ""
}

func (p *resourceQuota) Validate(ctx context.Context, a *Attributes) error {
	if !p.measures(a) {
		return nil
	}
	all, err := p.access.List(ctx, core("resourcequotas"), a.Namespace, labels.Everything())
	if err != nil || len(all) == 0 && len(p.limited) == 0 {
		return err
	}
	usage, err := p.usage(ctx, a, a.Object)
	if err != nil {
		return err
	}
	added := usage
	if a.Operation == Update {
		before, err := p.usage(ctx, a, a.Old)
		if err != nil {
			return err
		}
		added = increase(usage, before)
	}
	var charges []charge
	consumes := len(added) > 0
	for _, obj := range all {
		rq := obj.(*corev1.ResourceQuota)
		if !quota.Matches(rq, a.Object) {
			continue
		}
		if err := measurable(a, rq, usage); err != nil {
			return err
		}
		c := charge{rq, added}
		if a.Operation == Update && !quota.Matches(rq, a.Old) {
			c.delta = usage // the object comes into the scopes of the quota
		}
		if consumes = consumes || len(c.delta) > 0; len(c.delta) > 0 {
			charges = append(charges, c)
		}
	}
	if !consumes {
		return nil
	}
	if err := p.uncovered(a, all, usage); err != nil {
		return err
	}
	return p.spend(ctx, a, charges)
}

// usage returns what an object of the request's resource uses.
func (p *resourceQuota) usage(ctx context.Context, a *Attributes, obj metav1.Object) (corev1.ResourceList, error) {
	claim, ok := obj.(*resourcev1.ResourceClaim)
	if !ok {
		return quota.Usage(a.Resource.GroupResource().String(), obj), nil
	}
	objs, err := p.access.List(ctx, resourcev1.GroupVersion.WithResource("deviceclasses"), "", labels.Everything())
	if err != nil {
		return nil, err
	}
	claims := quota.Claims{Classes: typed[*resourcev1.DeviceClass](objs),
		Pod: func(name string) *corev1.Pod {
			obj, err := p.access.Get(ctx, core("pods"), types.NamespacedName{Namespace: a.Namespace, Name: name})
			if err != nil {
				return nil
			}
			return obj.(*corev1.Pod)
		},
		Others: func() ([]*resourcev1.ResourceClaim, bool) {
			objs, err := p.access.List(ctx, resourcev1.GroupVersion.WithResource("resourceclaims"), a.Namespace, labels.Everything())
			return typed[*resourcev1.ResourceClaim](objs), err == nil
		}}
	return claims.Usage(claim), nil
}

// typed returns the objects as those of one kind.
func typed[T metav1.Object](objs []metav1.Object) []T {
	all := make([]T, len(objs))
	for i, obj := range objs {
		all[i] = obj.(T)
	}
	return all
}

// measurable returns an error if the object does not say what the quota needs, or the controller has not
// counted what is used of it.
func measurable(a *Attributes, rq *corev1.ResourceQuota, usage corev1.ResourceList) error {
	if missing := unspecified(a.Object, rq.Status.Hard); len(missing) > 0 {
		return forbid(a, "failed quota: %s: must specify %s", rq.Name, strings.Join(missing, "; "))
	}
	var unknown []string
	for name := range rq.Status.Hard {
		_, used := usage[name]
		if _, counted := rq.Status.Used[name]; used && !counted {
			unknown = append(unknown, string(name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return forbid(a, "status unknown for quota: %s, resources: %s", rq.Name, strings.Join(unknown, ","))
	}
	return nil
}

// charge is what a request adds to the usage of a quota.
type charge struct {
	quota *corev1.ResourceQuota
	delta corev1.ResourceList
}

// spend checks all quotas first, so that a request refused by one is not charged to another, and then charges
// each. If a cached quota refuses the request the stored one is read: usage may have dropped meanwhile.
func (p *resourceQuota) spend(ctx context.Context, a *Attributes, charges []charge) error {
	var due []charge
	for _, c := range charges {
		used, err := spent(a, c.quota, c.delta)
		if err != nil {
			latest, missing := p.access.Latest(ctx, core("resourcequotas"), metav1.KeyOf(c.quota))
			if apierrors.IsNotFound(missing) {
				continue
			}
			if missing != nil {
				return missing
			}
			if used, err = spent(a, latest.(*corev1.ResourceQuota), c.delta); err != nil {
				return err
			}
		}
		if len(used) > 0 {
			due = append(due, c)
		}
	}
	if a.DryRun {
		return nil
	}
	for i, c := range due {
		err := p.access.ChangeStatus(ctx, core("resourcequotas"), metav1.KeyOf(c.quota), func(obj metav1.Object) error {
			current := obj.(*corev1.ResourceQuota)
			used, err := spent(a, current, c.delta)
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
			p.release(ctx, due[:i])
			return err
		}
	}
	return nil
}

// release undoes charges. If that fails, the quota controller's recount corrects them later.
func (p *resourceQuota) release(ctx context.Context, charges []charge) {
	for _, c := range charges {
		_ = p.access.ChangeStatus(ctx, core("resourcequotas"), metav1.KeyOf(c.quota), func(obj metav1.Object) error {
			status := &obj.(*corev1.ResourceQuota).Status
			for name, more := range c.delta {
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
// quota requires them of every container, unless the pod as a whole has resources.
func unspecified(obj metav1.Object, hard corev1.ResourceList) []string {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	if r := pod.Spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		return nil
	}
	var missing []string
	need := func(quotaName, name corev1.ResourceName, w quota.Which) {
		if _, limited := hard[quotaName]; !limited {
			return
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
			slices.Sort(open)
			missing = append(missing, fmt.Sprintf("%s for: %s", quotaName, strings.Join(open, ",")))
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		need(name, name, quota.Requests)
		need("limits."+name, name, quota.Limits)
		need("requests."+name, name, quota.Requests)
	}
	slices.Sort(missing)
	return missing
}

func sortedNames(list corev1.ResourceList) []corev1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}

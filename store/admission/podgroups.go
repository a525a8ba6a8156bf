package admission

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// podGroupProtection adds the finalizer that keeps a PodGroup while pods of it exist.
type podGroupProtection struct{ named }

func newPodGroupProtection(Access) Plugin {
	return &podGroupProtection{named{"PodGroupProtection", []Operation{Create}}}
}

func (p *podGroupProtection) Admit(_ context.Context, a *Attributes) error {
	if g, ok := a.Object.(*schedulingv1alpha2.PodGroup); ok && a.Subresource == "" && !slices.Contains(g.Finalizers, schedulingv1alpha2.Finalizer) {
		g.Finalizers = append(g.Finalizers, schedulingv1alpha2.Finalizer)
	}
	return nil
}

// podGroupWorkload refuses PodGroups that refer to a template which does not exist.
type podGroupWorkload struct {
	named
	access Access
}

func newPodGroupWorkload(access Access) Plugin {
	return &podGroupWorkload{named{"PodGroupWorkloadExists", []Operation{Create}}, access}
}

func (p *podGroupWorkload) Validate(ctx context.Context, a *Attributes) error {
	g, ok := a.Object.(*schedulingv1alpha2.PodGroup)
	if !ok || a.Subresource != "" || g.Spec.PodGroupTemplateRef == nil || g.Spec.PodGroupTemplateRef.Workload == nil {
		return nil
	}
	ref := g.Spec.PodGroupTemplateRef.Workload
	workloads, key := schedulingv1alpha2.GroupVersion.WithResource("workloads"), types.NamespacedName{Namespace: a.Namespace, Name: ref.WorkloadName}
	obj, err := p.access.Get(ctx, workloads, key)
	if apierrors.IsNotFound(err) { // a cache may be behind
		obj, err = p.access.Latest(ctx, workloads, key)
	}
	if apierrors.IsNotFound(err) {
		return forbid(a, "PodGroup rejected: Workload %q not found", ref.WorkloadName)
	}
	if err != nil {
		return err
	}
	w := obj.(*schedulingv1alpha2.Workload)
	if w.DeletionTimestamp != nil {
		return forbid(a, "PodGroup rejected: Workload %q is being deleted", ref.WorkloadName)
	}
	if !slices.ContainsFunc(w.Spec.PodGroupTemplates, func(t schedulingv1alpha2.PodGroupTemplate) bool { return t.Name == ref.PodGroupTemplateName }) {
		return forbid(a, "PodGroup rejected: PodGroupTemplate %q not found in Workload %q", ref.PodGroupTemplateName, ref.WorkloadName)
	}
	return nil
}

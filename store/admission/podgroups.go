package admission

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
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

// jobValidation refuses to change the parallelism of Jobs whose pods are a gang, because the size of a gang
// does not change.
type jobValidation struct {
	named
	access Access
}

func newJobValidation(access Access) Plugin {
	return &jobValidation{named{"JobValidation", []Operation{Update}}, access}
}

func (p *jobValidation) Validate(ctx context.Context, a *Attributes) error {
	job, ok := a.Object.(*batchv1.Job)
	old, was := a.Old.(*batchv1.Job)
	if !ok || !was || a.Subresource != "" || codec.Equal(job.Spec.Parallelism, old.Spec.Parallelism) {
		return nil
	}
	for _, g := range p.groupsOf(ctx, old) {
		if g.Spec.SchedulingPolicy.Gang != nil {
			return forbid(a, "cannot change parallelism for a Job referencing gang-scheduled PodGroup %q", g.Name)
		}
	}
	return nil
}

// groupsOf returns the group that the template of a Job names, or else those that the Job controls. Where
// groups are not served there are none.
func (p *jobValidation) groupsOf(ctx context.Context, job *batchv1.Job) (all []*schedulingv1alpha2.PodGroup) {
	groups := schedulingv1alpha2.GroupVersion.WithResource("podgroups")
	if of := job.Spec.Template.Spec.SchedulingGroup; of != nil && of.PodGroupName != nil {
		if obj, err := p.access.Get(ctx, groups, types.NamespacedName{Namespace: job.Namespace, Name: *of.PodGroupName}); err == nil {
			all = append(all, obj.(*schedulingv1alpha2.PodGroup))
		}
		return all
	}
	objs, err := p.access.List(ctx, groups, job.Namespace, labels.Everything())
	if err != nil {
		return nil
	}
	for _, obj := range objs {
		if metav1.IsControlledBy(obj, job.UID) {
			all = append(all, obj.(*schedulingv1alpha2.PodGroup))
		}
	}
	return all
}

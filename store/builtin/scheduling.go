package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// scheduling returns the kinds of the group scheduling.k8s.io, without those of groups.
func scheduling(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*schedulingv1.PriorityClass](s, schedulingv1.GroupVersion), Table: priorityClassTable,
		Strategy: registry.Strategy{Generation: registry.OnSpec},
	}}
}

// groups returns the kinds about groups of pods, whose rules depend on the server's options. The fields of
// features that this server does not have are removed, as Kubernetes does where a feature is off, except from
// objects that have them; the spec of both kinds cannot be changed.
func (k *Kinds) groups(s *scheme.Scheme) []registry.Definition {
	gv := schedulingv1alpha2.GroupVersion
	return []registry.Definition{{
		Info: kind[*schedulingv1alpha2.PodGroup](s, gv), Table: podGroupTable,
		Strategy: registry.Strategy{StatusOnly: true, PrepareCreate: on(func(g *schedulingv1alpha2.PodGroup) {
			was := g.Spec
			g.Status = schedulingv1alpha2.PodGroupStatus{}
			g.Spec = schedulingv1alpha2.PodGroupSpec{PodGroupTemplateRef: was.PodGroupTemplateRef, SchedulingPolicy: was.SchedulingPolicy}
			if k.topology {
				g.Spec.SchedulingConstraints = was.SchedulingConstraints
			}
			if k.priority {
				g.Spec.DisruptionMode, g.Spec.PriorityClassName, g.Spec.Priority = was.DisruptionMode, was.PriorityClassName, was.Priority
			}
			schedulingv1alpha2.DefaultPodGroup(g)
		}), PrepareUpdate: onBoth(func(g, old *schedulingv1alpha2.PodGroup) {
			if !k.topology && old.Spec.SchedulingConstraints == nil {
				g.Spec.SchedulingConstraints = nil
			}
			if !k.priority && old.Spec.PriorityClassName == "" {
				g.Spec.PriorityClassName = ""
			}
			if !k.priority && old.Spec.Priority == nil {
				g.Spec.Priority = nil
			}
			if len(old.Spec.ResourceClaims) == 0 {
				g.Spec.ResourceClaims = nil
			}
		})},
	}, {
		Info: kind[*schedulingv1alpha2.Workload](s, gv), Table: workloadTable,
		Strategy: registry.Strategy{PrepareCreate: on(func(w *schedulingv1alpha2.Workload) {
			for i, was := range w.Spec.PodGroupTemplates {
				t := &w.Spec.PodGroupTemplates[i]
				*t = schedulingv1alpha2.PodGroupTemplate{Name: was.Name, SchedulingPolicy: was.SchedulingPolicy}
				if k.topology {
					t.SchedulingConstraints = was.SchedulingConstraints
				}
				if k.priority {
					t.DisruptionMode, t.PriorityClassName, t.Priority = was.DisruptionMode, was.PriorityClassName, was.Priority
				}
			}
		})},
	}}
}

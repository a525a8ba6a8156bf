package schedulingv1alpha2

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// DefaultPodGroup sets the mode of disruption.
func DefaultPodGroup(g *PodGroup) {
	if g.Spec.DisruptionMode == nil {
		g.Spec.DisruptionMode = new(DisruptionModePod)
	}
}

// ValidatePodGroup checks a group to be created.
func ValidatePodGroup(g *PodGroup) validation.ErrorList {
	var r check.Report
	s, p := &g.Spec, validation.NewPath("spec")
	if ref := s.PodGroupTemplateRef; ref != nil {
		q := p.Child("podGroupTemplateRef")
		r.If(ref.Workload == nil, q, "", "must specify one of: `workload`")
		if w := ref.Workload; w != nil {
			r.Name(q.Child("workload", "workloadName"), w.WorkloadName, validation.NameIsSubdomain)
			r.Name(q.Child("workload", "podGroupTemplateName"), w.PodGroupTemplateName, validation.NameIsLabel)
		}
	}
	validatePolicy(&r, s.SchedulingPolicy, p.Child("schedulingPolicy"))
	validateConstraints(&r, s.SchedulingConstraints, p.Child("schedulingConstraints"))
	validatePriority(&r, p, s.DisruptionMode, s.PriorityClassName, s.Priority)
	return r.List()
}

func validatePolicy(r *check.Report, s PodGroupSchedulingPolicy, p *check.Path) {
	const members = "one of: `basic`, `gang`"
	r.If(s.Basic == nil && s.Gang == nil, p, "", "must specify "+members)
	r.If(s.Basic != nil && s.Gang != nil, p, "{basic, gang}", "must specify exactly "+members)
	if s.Gang == nil {
		return
	}
	q := p.Child("gang", "minCount")
	if s.Gang.MinCount == 0 {
		r.Required(q, "")
	}
	r.If(s.Gang.MinCount < 0, q, s.Gang.MinCount, "must be greater than or equal to 1")
}

func validateConstraints(r *check.Report, s *PodGroupSchedulingConstraints, p *check.Path) {
	if s == nil {
		return
	}
	p = p.Child("topology")
	if len(s.Topology) > 1 {
		r.TooMany(p, len(s.Topology), 1)
		return
	}
	for i, t := range s.Topology {
		r.Name(p.Index(i).Child("key"), t.Key, func(name string, _ bool) []string { return validation.IsQualifiedName(name) })
	}
}

// maxPriority is the highest that users may give.
const maxPriority = 1000000000

func validatePriority(r *check.Report, p *check.Path, mode *DisruptionMode, class string, priority *int32) {
	if mode != nil {
		check.OneOf(r, p.Child("disruptionMode"), *mode, DisruptionModePod, DisruptionModePodGroup)
	}
	if class != "" {
		r.Name(p.Child("priorityClassName"), class, validation.NameIsSubdomain)
	}
	if priority != nil {
		r.If(*priority > maxPriority, p.Child("priority"), *priority, "must be less than or equal to 1000000000")
	}
}

// ValidatePodGroupUpdate checks a change of a group: its spec stays.
func ValidatePodGroupUpdate(g, old *PodGroup) validation.ErrorList {
	var r check.Report
	s, was, p := &g.Spec, &old.Spec, validation.NewPath("spec")
	for _, f := range []struct {
		name        string
		now, before any
	}{
		{"podGroupTemplateRef", s.PodGroupTemplateRef, was.PodGroupTemplateRef},
		{"schedulingPolicy", s.SchedulingPolicy, was.SchedulingPolicy},
		{"schedulingConstraints", s.SchedulingConstraints, was.SchedulingConstraints},
		{"resourceClaims", s.ResourceClaims, was.ResourceClaims},
		{"disruptionMode", s.DisruptionMode, was.DisruptionMode},
		{"priorityClassName", s.PriorityClassName, was.PriorityClassName},
		{"priority", s.Priority, was.Priority},
	} {
		if !check.Same(f.now, f.before) {
			r.Invalid(p.Child(f.name), nil, validation.ImmutableText)
		}
	}
	return r.List()
}

// ValidatePodGroupStatus checks a change of a group's status.
func ValidatePodGroupStatus(g, _ *PodGroup) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("status")
	r.Add(metav1.ValidateConditions(g.Status.Conditions, p.Child("conditions")))
	for i, c := range g.Status.ResourceClaimStatuses {
		known := slices.ContainsFunc(g.Spec.ResourceClaims, func(of PodGroupResourceClaim) bool { return of.Name == c.Name })
		r.If(!known, p.Child("resourceClaimStatuses").Index(i).Child("name"), c.Name, "must match the name of an entry in `spec.resourceClaims`")
	}
	return r.List()
}

// ValidateWorkload checks a workload to be created.
func ValidateWorkload(w *Workload) validation.ErrorList {
	var r check.Report
	s, p := &w.Spec, validation.NewPath("spec")
	if ref := s.ControllerRef; ref != nil {
		q := p.Child("controllerRef")
		if ref.APIGroup != "" {
			r.Name(q.Child("apiGroup"), ref.APIGroup, validation.NameIsSubdomain)
		}
		r.Name(q.Child("kind"), ref.Kind, validation.NameIsPathSegment)
		r.Name(q.Child("name"), ref.Name, validation.NameIsPathSegment)
	}
	q := p.Child("podGroupTemplates")
	switch n := len(s.PodGroupTemplates); {
	case n == 0:
		r.Required(q, "")
	case n > MaxTemplates:
		r.TooMany(q, n, MaxTemplates)
		return r.List()
	}
	seen := map[string]bool{}
	for i, t := range s.PodGroupTemplates {
		of := q.Index(i)
		if !check.Unique(seen, t.Name) {
			r.Duplicate(of, t)
		}
		r.Name(of.Child("name"), t.Name, validation.NameIsLabel)
		validatePolicy(&r, t.SchedulingPolicy, of.Child("schedulingPolicy"))
		validateConstraints(&r, t.SchedulingConstraints, of.Child("schedulingConstraints"))
		validatePriority(&r, of, t.DisruptionMode, t.PriorityClassName, t.Priority)
	}
	return r.List()
}

// ValidateWorkloadUpdate checks a change of a workload: its spec stays.
func ValidateWorkloadUpdate(w, old *Workload) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("spec")
	if !check.Same(w.Spec.ControllerRef, old.Spec.ControllerRef) {
		r.Invalid(p.Child("controllerRef"), nil, validation.ImmutableText)
	}
	if !check.Same(w.Spec.PodGroupTemplates, old.Spec.PodGroupTemplates) {
		r.Invalid(p.Child("podGroupTemplates"), nil, validation.ImmutableText)
	}
	return r.List()
}

package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/internal/podtemplate"
	"github.com/keelson-dev/keelson/store/podsecurity"
)

// podSecurity enforces the Pod Security Standards by the labels of namespaces. It refuses pods; the templates
// of pods in workloads lead to warnings and records only.
type podSecurity struct {
	named
	access   Access
	defaults podsecurity.Policy
	exempt   podsecurity.Exemptions
	report   func(PodSecurityCheck) // may be nil
}

func newPodSecurity(access Access, o Options) (Plugin, error) {
	defaults, err := o.Configuration.PodSecurity.Policy()
	if err != nil {
		return nil, err
	}
	return &podSecurity{named{"PodSecurity", []Operation{Create, Update}}, access, defaults, o.Configuration.PodSecurity.Exemptions, o.Metrics.PodSecurity}, nil
}

// Validate implements Validator.
func (p *podSecurity) Validate(ctx context.Context, a *Attributes) error {
	switch {
	case a.Resource.Group == "" && a.Resource.Resource == "namespaces":
		return p.namespace(ctx, a)
	case a.Resource.Group == "" && a.Resource.Resource == "pods":
		return p.pod(ctx, a)
	case hasTemplate(a):
		p.workload(ctx, a)
	}
	return nil
}

// annotate adds to the audit event.
func (p *podSecurity) annotate(a *Attributes, key, value string) {
	a.Annotate(podsecurity.LabelPrefix+key, value)
}

// count reports an outcome.
func (p *podSecurity) count(a *Attributes, outcome PodSecurityOutcome, mode string, policy podsecurity.LevelVersion) {
	if p.report != nil {
		p.report(PodSecurityCheck{Outcome: outcome, Operation: a.Operation, Template: a.Resource.Resource != "pods",
			Subresource: a.Subresource, Mode: mode, Policy: policy})
	}
}

// namespace refuses labels that are wrong, and warns of pods that a stricter policy would refuse.
func (p *podSecurity) namespace(ctx context.Context, a *Attributes) error {
	ns, ok := a.Object.(*corev1.Namespace)
	if !ok || a.Subresource != "" {
		return nil
	}
	policy, errs := podsecurity.PolicyOf(ns.Labels, p.defaults)
	if a.Operation == Create {
		if len(errs) > 0 {
			return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, errs)
		}
		p.warnExempt(a, ns, policy)
		return nil
	}
	old, ok := a.Old.(*corev1.Namespace)
	if !ok {
		return nil
	}
	before, oldErrs := podsecurity.PolicyOf(old.Labels, p.defaults)
	if len(errs) > 0 && errs.String() != oldErrs.String() {
		return apierrors.NewInvalid(a.Kind.GroupKind(), a.Name, errs)
	}
	now, was := policy.Enforce, before.Enforce
	switch {
	case now == was, now.Level == podsecurity.Privileged, now.Version == was.Version && !podsecurity.Stricter(now.Level, was.Level):
	case slices.Contains(p.exempt.Namespaces, ns.Name):
		p.warnExempt(a, ns, policy)
	default:
		p.warnOfPods(ctx, a, ns.Name, now)
	}
	return nil
}

// warnExempt warns that the labels of an exempt namespace have no effect.
func (p *podSecurity) warnExempt(a *Attributes, ns *corev1.Namespace, policy podsecurity.Policy) {
	if !slices.Contains(p.exempt.Namespaces, ns.Name) || policy.Privileged() || policy.Equivalent(p.defaults) {
		return
	}
	var set []string
	for _, mode := range []struct {
		name, level, version string
		is                   podsecurity.LevelVersion
	}{
		{"enforce", podsecurity.EnforceLabel, podsecurity.EnforceVersionLabel, policy.Enforce},
		{"audit", podsecurity.AuditLabel, podsecurity.AuditVersionLabel, policy.Audit},
		{"warn", podsecurity.WarnLabel, podsecurity.WarnVersionLabel, policy.Warn},
	} {
		_, level := ns.Labels[mode.level]
		_, version := ns.Labels[mode.version]
		if mode.is.Level != podsecurity.Privileged && (level || version) {
			set = append(set, mode.name+"="+mode.is.String())
		}
	}
	a.Warn(fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored", ns.Name, strings.Join(set, ", ")))
}

const (
	// checkPods and checkPodsFor bound the check of the pods of a namespace whose policy changes.
	checkPods    = 3000
	checkPodsFor = time.Second
)

// warnOfPods warns of the pods of a namespace that violate its new policy.
func (p *podSecurity) warnOfPods(ctx context.Context, a *Attributes, namespace string, policy podsecurity.LevelVersion) {
	limit := checkPodsFor
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	objs, err := p.access.List(ctx, core("pods"), namespace, labels.Everything())
	if err != nil {
		a.Warn("failed to list pods while checking new PodSecurity enforce level")
		return
	}
	pods := p.onePerController(objs)
	found, checked := map[string]*violators{}, 0
	for _, pod := range pods[:min(len(pods), checkPods)] {
		if result := podsecurity.Evaluate(policy.Level, policy.Version, &pod.ObjectMeta, &pod.Spec); !result.Allowed() {
			reason := result.Reason()
			if found[reason] == nil {
				found[reason] = &violators{first: pod.Name}
			}
			found[reason].add(pod.Name)
		}
		if checked++; ctx.Err() != nil {
			break
		}
	}
	if checked < len(pods) {
		a.Warn(fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", checked, len(pods)))
	}
	if len(found) == 0 {
		return
	}
	a.Warn(fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, policy))
	var texts []string
	for reason, v := range found {
		texts = append(texts, v.String()+": "+reason)
	}
	slices.Sort(texts)
	for _, text := range texts {
		a.Warn(text)
	}
}

// violators are the pods that violate a policy for the same reason.
type violators struct {
	first string // by name
	count int
}

func (v *violators) add(name string) {
	v.first = min(v.first, name)
	v.count++
}

func (v *violators) String() string {
	switch v.count {
	case 1:
		return v.first
	case 2:
		return v.first + " (and 1 other pod)"
	}
	return fmt.Sprintf("%s (and %d other pods)", v.first, v.count-1)
}

// onePerController returns the pods without those of exempt runtime classes, first one of each controller:
// the others of it are most likely alike.
func (p *podSecurity) onePerController(objs []metav1.Object) []*corev1.Pod {
	var first, more []*corev1.Pod
	seen := map[types.UID]bool{}
	for _, obj := range objs {
		pod, ok := obj.(*corev1.Pod)
		if !ok || p.exemptClass(&pod.Spec) {
			continue
		}
		if owner := metav1.ControllerOf(pod); owner != nil {
			if seen[owner.UID] {
				more = append(more, pod)
				continue
			}
			seen[owner.UID] = true
		}
		first = append(first, pod)
	}
	return append(first, more...)
}

func (p *podSecurity) exemptClass(spec *corev1.PodSpec) bool {
	return spec.RuntimeClassName != nil && *spec.RuntimeClassName != "" && slices.Contains(p.exempt.RuntimeClasses, *spec.RuntimeClassName)
}

// exempts reports whether the request is exempt by its namespace or user, and records that.
func (p *podSecurity) exempts(a *Attributes) bool {
	switch {
	case slices.Contains(p.exempt.Namespaces, a.Namespace):
		p.annotate(a, "exempt", "namespace")
	case a.User != nil && slices.Contains(p.exempt.Usernames, a.User.Name):
		p.annotate(a, "exempt", "user")
	default:
		return false
	}
	p.count(a, PodExempt, "", podsecurity.LevelVersion{})
	return true
}

func (p *podSecurity) policyOf(ctx context.Context, namespace string) (podsecurity.Policy, validation.ErrorList, error) {
	obj, err := p.access.Get(ctx, core("namespaces"), types.NamespacedName{Name: namespace})
	if err != nil {
		return podsecurity.Policy{}, nil, err
	}
	policy, errs := podsecurity.PolicyOf(obj.GetLabels(), p.defaults)
	return policy, errs, nil
}

func (p *podSecurity) pod(ctx context.Context, a *Attributes) error {
	switch a.Subresource {
	case "exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status":
		return nil // all others change the spec
	}
	if p.exempts(a) {
		return nil
	}
	policy, errs, err := p.policyOf(ctx, a.Namespace)
	if err != nil {
		refused := apierrors.NewInternalError(fmt.Errorf("failed to lookup namespace %q", a.Namespace))
		p.annotate(a, "error", fmt.Sprintf("%v: %v", refused, err))
		p.count(a, PodFailed, "", podsecurity.LevelVersion{})
		return refused
	}
	if len(errs) == 0 && policy.Privileged() {
		p.annotate(a, "enforce-policy", podsecurity.LevelVersion{Level: podsecurity.Privileged}.String())
		p.count(a, PodAllowed, "enforce", policy.Enforce)
		return nil
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		p.count(a, PodFailed, "", podsecurity.LevelVersion{})
		return apierrors.NewBadRequest("failed to decode pod")
	}
	if old, ok := a.Old.(*corev1.Pod); ok && a.Operation == Update && !changesImages(pod, old) {
		return nil
	}
	return p.evaluate(a, policy, errs, &pod.ObjectMeta, &pod.Spec, true)
}

// changesImages reports whether an update adds containers or changes images, which alone of what is evaluated
// can change.
func changesImages(pod, old *corev1.Pod) bool {
	changed := func(now, was []corev1.Container) bool {
		return !slices.EqualFunc(now, was, func(a, b corev1.Container) bool { return a.Image == b.Image })
	}
	if changed(pod.Spec.Containers, old.Spec.Containers) || changed(pod.Spec.InitContainers, old.Spec.InitContainers) {
		return true
	}
	return slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c corev1.EphemeralContainer) bool {
		return !slices.ContainsFunc(old.Spec.EphemeralContainers, func(o corev1.EphemeralContainer) bool { return o.Name == c.Name && o.Image == c.Image })
	})
}

// workload warns of and records what the pods of a workload would violate. It refuses nothing, because the
// pods are evaluated too.
func (p *podSecurity) workload(ctx context.Context, a *Attributes) {
	if a.Subresource != "" || p.exempts(a) {
		return
	}
	policy, errs, err := p.policyOf(ctx, a.Namespace)
	if err != nil {
		p.annotate(a, "error", fmt.Sprintf("failed to lookup namespace %q: %v", a.Namespace, err))
		p.count(a, PodFailed, "", podsecurity.LevelVersion{})
		return
	}
	if len(errs) == 0 && policy.Warn.Level == podsecurity.Privileged && policy.Audit.Level == podsecurity.Privileged {
		return
	}
	if t := podtemplate.Of(a.Object); t != nil {
		_ = p.evaluate(a, policy, errs, &t.ObjectMeta, &t.Spec, false) // it enforces nothing
	}
}

// hasTemplate reports whether the objects of the request's resource have pod templates.
func hasTemplate(a *Attributes) bool {
	switch a.Resource.Group {
	case "":
		return a.Resource.Resource == "replicationcontrollers" || a.Resource.Resource == "podtemplates"
	case "apps":
		switch a.Resource.Resource {
		case "replicasets", "deployments", "statefulsets", "daemonsets":
			return true
		}
	case "batch":
		return a.Resource.Resource == "jobs" || a.Resource.Resource == "cronjobs"
	}
	return false
}

// evaluate evaluates a pod or the template of one. A refused pod has no warnings.
func (p *podSecurity) evaluate(a *Attributes, policy podsecurity.Policy, errs validation.ErrorList, meta *metav1.ObjectMeta, spec *corev1.PodSpec, enforce bool) error {
	if p.exemptClass(spec) {
		p.annotate(a, "exempt", "runtimeClass")
		p.count(a, PodExempt, "", podsecurity.LevelVersion{})
		return nil
	}
	if err := errs.Err(); err != nil {
		p.annotate(a, "error", fmt.Sprintf("Failed to parse policy: %v", err))
		p.count(a, PodMisread, "", podsecurity.LevelVersion{})
	}
	check := podEvaluation{meta: meta, spec: spec}
	var refused error
	if enforce {
		p.annotate(a, "enforce-policy", policy.Enforce.String())
		outcome := PodAllowed
		if detail := check.detail(policy.Enforce); detail != "" {
			outcome = PodDenied
			refused = apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errors.New(violation("violates", policy.Enforce, detail)))
		}
		p.count(a, outcome, "enforce", policy.Enforce)
	}
	if detail := check.detail(policy.Audit); detail != "" {
		p.annotate(a, "audit-violations", violation("would violate", policy.Audit, detail))
		p.count(a, PodDenied, "audit", policy.Audit)
	}
	if refused != nil {
		return refused
	}
	if detail := check.detail(policy.Warn); detail != "" {
		a.Warn(violation("would violate", policy.Warn, detail))
		p.count(a, PodDenied, "warn", policy.Warn)
	}
	return nil
}

// violation says what of a policy is violated.
func violation(verb string, policy podsecurity.LevelVersion, detail string) string {
	return verb + ` PodSecurity "` + policy.String() + `": ` + detail
}

// podEvaluation evaluates a pod once for each different level and version in a row.
type podEvaluation struct {
	meta *metav1.ObjectMeta
	spec *corev1.PodSpec
	last podsecurity.LevelVersion
	text string
}

// detail returns what the pod violates; empty if it is allowed.
func (e *podEvaluation) detail(lv podsecurity.LevelVersion) string {
	if e.last != lv {
		e.last, e.text = lv, ""
		if result := podsecurity.Evaluate(lv.Level, lv.Version, e.meta, e.spec); !result.Allowed() {
			e.text = result.Detail()
		}
	}
	return e.text
}

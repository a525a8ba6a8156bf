package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// LimitedResource says what may be consumed in a namespace only where a quota limits it.
type LimitedResource struct {
	// APIGroup and Resource name the resource whose objects consume; "" is the core group.
	APIGroup string `json:"apiGroup"`
	Resource string `json:"resource"`
	// MatchContains are parts of the names of what is consumed, such as "requests.cpu" or
	// ".storageclass.storage.k8s.io/requests.storage". What contains one needs a quota that limits it.
	MatchContains []string `json:"matchContains"`
	// MatchScopes are scopes of objects. As in kube-apiserver they apply to objects of all resources: one in
	// such a scope needs a quota with a scope of the same name that it is in.
	MatchScopes []corev1.ScopedResourceSelectorRequirement `json:"matchScopes"`
}

func (c *Configuration) parseLimitedResources(data []byte) error {
	var file struct {
		metav1.TypeMeta  `json:",inline"`
		LimitedResources []LimitedResource `json:"limitedResources"`
	}
	if err := strictYAML(data, &file); err != nil {
		return err
	}
	want := "ResourceQuotaConfiguration of apiserver.config.k8s.io/v1"
	switch got := file.Kind + " of " + file.APIVersion; got {
	case want, "Configuration of resourcequota.admission.k8s.io/v1beta1", "Configuration of resourcequota.admission.k8s.io/v1alpha1":
	default:
		return fmt.Errorf("want kind %s, got %q of %q", want, file.Kind, file.APIVersion)
	}
	var wrong validation.ErrorList
	for i := range file.LimitedResources {
		r, at := &file.LimitedResources[i], validation.NewPath("limitedResources").Index(i)
		if r.Resource == "" {
			wrong = append(wrong, validation.Required(at.Child("resource"), ""))
		}
		for j := range r.MatchScopes {
			wrong = append(wrong, checkLimitedScope(&r.MatchScopes[j], at.Child("matchScopes").Index(j))...)
		}
	}
	c.LimitedResources = file.LimitedResources
	return wrong.Err()
}

// checkLimitedScope checks that the scope exists and that its operator has the values it needs.
func checkLimitedScope(r *corev1.ScopedResourceSelectorRequirement, at *validation.Path) validation.ErrorList {
	classes := r.ScopeName == corev1.ResourceQuotaScopePriorityClass || r.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	switch known := []corev1.ResourceQuotaScope{
		corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass,
	}; {
	case !slices.Contains(known, r.ScopeName):
		return validation.ErrorList{validation.NotSupported(at.Child("scopeName"), r.ScopeName, known)}
	case !classes && r.Operator != corev1.ScopeSelectorOpExists && r.Operator != "":
		return validation.ErrorList{validation.Invalid(at.Child("operator"), r.Operator, "must be 'Exists' for this scope")}
	case !classes:
		return nil
	}
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return validation.ErrorList{validation.Required(at.Child("values"), "the operators In and NotIn need one at least")}
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return validation.ErrorList{validation.Invalid(at.Child("values"), r.Values, "the operators Exists and DoesNotExist have none")}
		}
	default:
		return validation.ErrorList{validation.NotSupported(at.Child("operator"), r.Operator, []corev1.ScopeSelectorOperator{
			corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist})}
	}
	return nil
}

// uncovered returns an error if the object consumes what is limited and no quota limits.
func (p *resourceQuota) uncovered(a *Attributes, all []metav1.Object, usage corev1.ResourceList) error {
	if len(p.limited) == 0 {
		return nil
	}
	covered, scopes := map[corev1.ResourceName]bool{}, map[corev1.ResourceQuotaScope]bool{}
	for _, obj := range all {
		rq := obj.(*corev1.ResourceQuota)
		for _, r := range quota.Scopes(rq) {
			scopes[r.ScopeName] = scopes[r.ScopeName] || quota.InScope(a.Object, r)
		}
		if quota.Matches(rq, a.Object) {
			for name := range rq.Status.Hard {
				covered[name] = true
			}
		}
	}
	var names []string
	var open []corev1.ScopedResourceSelectorRequirement
	for i := range p.limited {
		limit := &p.limited[i]
		for _, r := range limit.MatchScopes {
			if quota.InScope(a.Object, r) && !scopes[r.ScopeName] {
				open = append(open, r)
			}
		}
		if limit.APIGroup != a.Resource.Group || limit.Resource != a.Resource.Resource {
			continue
		}
		for name, n := range usage {
			contains := func(part string) bool { return strings.Contains(string(name), part) }
			if n.Sign() > 0 && !covered[name] && slices.ContainsFunc(limit.MatchContains, contains) {
				names = append(names, string(name))
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		return forbid(a, "insufficient quota to consume: %s", strings.Join(slices.Compact(names), ","))
	}
	if len(open) > 0 {
		return forbid(a, "insufficient quota to match these scopes: %v", open)
	}
	return nil
}

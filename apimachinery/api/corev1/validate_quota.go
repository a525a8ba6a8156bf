package corev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateLimitRange checks a limit range to be stored: known resources, and bounds that leave room.
func ValidateLimitRange(l *LimitRange) validation.ErrorList {
	var r check.Report
	seen := map[LimitType]bool{}
	for i := range l.Spec.Limits {
		item, p := &l.Spec.Limits[i], at("spec", "limits").Index(i)
		r.Add(validateLimitType(item.Type, p.Child("type")))
		if !check.Unique(seen, item.Type) {
			r.Duplicate(p.Child("type"), item.Type)
		}
		r.Add(validateLimitItem(item, p))
	}
	return r.List()
}

func validateLimitType(t LimitType, p *path) validation.ErrorList {
	var r check.Report
	r.Each(p, t, validation.IsQualifiedName(string(t)))
	known := t == LimitTypePod || t == LimitTypeContainer || t == LimitTypePersistentVolumeClaim
	if r.OK() && !strings.Contains(string(t), "/") && !known {
		r.Invalid(p, t, "must be a standard limit type or fully qualified")
	}
	return r.List()
}

func validateLimitItem(item *LimitRangeItem, p *path) validation.ErrorList {
	var r check.Report
	resourceName := func(name ResourceName, q *path) {
		if item.Type == LimitTypePod || item.Type == LimitTypeContainer {
			r.Add(validateContainerResource(name, q))
		} else {
			r.Add(validateResourceName(name, q))
		}
	}
	names := map[ResourceName]bool{}
	list := func(field string, l ResourceList) {
		for _, name := range check.Keys(l) {
			resourceName(name, p.Child(field).Key(string(name)))
			names[name] = true
		}
	}
	list("max", item.Max)
	list("min", item.Min)
	if item.Type == LimitTypePod {
		r.ForbidIf(len(item.Default) > 0, p.Child("default"), "may not be specified when `type` is 'Pod'")
		r.ForbidIf(len(item.DefaultRequest) > 0, p.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
	} else {
		list("default", item.Default)
		list("defaultRequest", item.DefaultRequest)
	}
	if item.Type == LimitTypePersistentVolumeClaim {
		_, low := item.Min[ResourceStorage]
		_, high := item.Max[ResourceStorage]
		if !low && !high {
			r.Required(p.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
		}
	}
	list("maxLimitRequestRatio", item.MaxLimitRequestRatio)
	for _, name := range check.Keys(names) {
		r.Add(validateBounds(item, name, p))
	}
	return r.List()
}

// validateBounds checks min <= default request <= default <= max of one resource, as far as they are set.
func validateBounds(item *LimitRangeItem, name ResourceName, p *path) validation.ErrorList {
	var r check.Report
	low, hasLow := item.Min[name]
	high, hasHigh := item.Max[name]
	request, hasRequest := item.DefaultRequest[name]
	limit, hasLimit := item.Default[name]
	ratio, hasRatio := item.MaxLimitRequestRatio[name]
	more := func(field string, wrong bool, a, b resource.Quantity, text string) {
		if wrong && a.Cmp(b) > 0 {
			r.Invalid(p.Child(field).Key(string(name)), a.String(), text+" ("+a.String()+" > "+b.String()+")")
		}
	}
	more("min", hasLow && hasHigh, low, high, "min value is greater than max value")
	more("defaultRequest", hasRequest && hasLow, low, request, "min value is greater than default request value")
	more("defaultRequest", hasRequest && hasHigh, request, high, "default request value is greater than max value")
	more("defaultRequest", hasRequest && hasLimit, request, limit, "default request value is greater than default limit value")
	more("default", hasLimit && hasLow, low, limit, "min value is greater than default value")
	more("default", hasLimit && hasHigh, limit, high, "default value is greater than max value")
	q := p.Child("maxLimitRequestRatio").Key(string(name))
	if hasRatio {
		r.If(ratio.Cmp(resource.NewQuantity(1, resource.DecimalSI)) < 0, q, ratio.String(), "ratio is less than 1")
		if hasLow && hasHigh && low.Sign() > 0 {
			bound := high.AsApproximateFloat64() / low.AsApproximateFloat64()
			r.If(ratio.AsApproximateFloat64() > bound, q, ratio.String(), "ratio is greater than max/min")
		}
	}
	if !overcommits(name) && hasLimit && hasRequest && !limit.Equal(request) {
		r.Invalid(p.Child("defaultRequest").Key(string(name)), request.String(), "must be equal to the default limit, as the resource cannot be overcommitted")
	}
	return r.List()
}

func quotaScopes() []ResourceQuotaScope {
	return []ResourceQuotaScope{
		ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort,
		ResourceQuotaScopePriorityClass, ResourceQuotaScopeCrossNamespacePodAffinity, ResourceQuotaScopeVolumeAttributesClass,
	}
}

// scopeCovers reports whether a quota for the named resource can be limited to scope.
func scopeCovers(scope ResourceQuotaScope, name ResourceName) bool {
	n := string(name)
	switch scope {
	case ResourceQuotaScopeBestEffort:
		return name == ResourcePods
	case ResourceQuotaScopeVolumeAttributesClass:
		return name == ResourcePersistentVolumeClaims || name == ResourceRequestsStorage || n == "count/persistentvolumeclaims" ||
			strings.Contains(n, ".storageclass.storage.k8s.io/")
	}
	switch name {
	case ResourcePods, ResourceCPU, ResourceMemory, ResourceEphemeralStorage, ResourceRequestsCPU, ResourceRequestsMemory,
		ResourceRequestsEphemeralStorage, ResourceLimitsCPU, ResourceLimitsMemory, ResourceLimitsEphemeralStorage:
		return true
	}
	return isHugePages(name) || strings.HasPrefix(n, ResourceRequestsHugePagesPrefix) ||
		IsExtendedResource(ResourceName(strings.TrimPrefix(n, DefaultResourceRequestsPrefix)))
}

// ValidateResourceQuota checks a quota to be stored.
func ValidateResourceQuota(q *ResourceQuota) validation.ErrorList {
	var r check.Report
	hard := at("spec", "hard")
	for _, name := range check.Keys(q.Spec.Hard) {
		p := hard.Key(string(name))
		r.Add(validateQuotaResource(name, p))
		r.Add(validateQuantity(name, q.Spec.Hard[name], p))
	}
	r.Add(validateScopes(&q.Spec, at("spec")))
	return r.List()
}

func validateQuotaResource(name ResourceName, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateResourceName(name, p))
	r.If(!strings.Contains(string(name), "/") && !standardQuotaResource(name), p, name, "must be a standard resource for quota")
	return r.List()
}

func validateScopes(s *ResourceQuotaSpec, p *path) validation.ErrorList {
	var r check.Report
	scopes := map[ResourceQuotaScope]bool{}
	one := func(scope ResourceQuotaScope, name, q *path) {
		scopes[scope] = true
		if !slices.Contains(quotaScopes(), scope) {
			r.Invalid(name, scope, "unsupported scope")
			return
		}
		for _, name := range check.Keys(s.Hard) {
			r.If(standardQuotaResource(name) && !scopeCovers(scope, name), q, scope, "unsupported scope applied to resource "+string(name))
		}
	}
	conflicts := func(q *path) {
		for _, pair := range [][2]ResourceQuotaScope{
			{ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort},
			{ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating},
		} {
			r.If(scopes[pair[0]] && scopes[pair[1]], q, s.Scopes, "conflicting scopes")
		}
	}
	for _, scope := range s.Scopes {
		one(scope, p.Child("scopes"), p.Child("scopes"))
	}
	conflicts(p.Child("scopes"))
	if s.ScopeSelector == nil {
		return r.List()
	}
	clear(scopes)
	list := p.Child("scopeSelector", "matchExpressions")
	for i := range s.ScopeSelector.MatchExpressions {
		e, q := &s.ScopeSelector.MatchExpressions[i], list // upstream does not say which
		one(e.ScopeName, q.Child("scopeName"), q)
		valued := e.ScopeName == ResourceQuotaScopePriorityClass || e.ScopeName == ResourceQuotaScopeVolumeAttributesClass
		r.If(!valued && slices.Contains(quotaScopes(), e.ScopeName) && e.Operator != ScopeSelectorOpExists, q.Child("operator"), e.Operator, "must be 'Exists' for this scope")
		switch e.Operator {
		case ScopeSelectorOpIn, ScopeSelectorOpNotIn:
			if len(e.Values) == 0 {
				r.Required(q.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
			}
		case ScopeSelectorOpExists, ScopeSelectorOpDoesNotExist:
			r.If(len(e.Values) > 0, q.Child("values"), e.Values, "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector")
		default:
			r.Invalid(q.Child("operator"), e.Operator, "not a valid selector operator")
		}
	}
	conflicts(list)
	return r.List()
}

// ValidateResourceQuotaUpdate checks a change of a quota: its scopes cannot change, though its selector of
// scopes can.
func ValidateResourceQuotaUpdate(q, old *ResourceQuota) validation.ErrorList {
	var r check.Report
	r.Add(ValidateResourceQuota(q))
	a, b := slices.Sorted(slices.Values(q.Spec.Scopes)), slices.Sorted(slices.Values(old.Spec.Scopes))
	r.If(!slices.Equal(slices.Compact(a), slices.Compact(b)), at("spec", "scopes"), q.Spec.Scopes, validation.ImmutableText)
	return r.List()
}

// ValidateResourceQuotaStatus checks a change of what is used.
func ValidateResourceQuotaStatus(q, _ *ResourceQuota) validation.ErrorList {
	var r check.Report
	for _, part := range []struct {
		field string
		list  ResourceList
	}{{"hard", q.Status.Hard}, {"used", q.Status.Used}} {
		for _, name := range check.Keys(part.list) {
			p := at("status", part.field).Key(string(name))
			r.Add(validateQuotaResource(name, p))
			r.Add(validateQuantity(name, part.list[name], p))
		}
	}
	return r.List()
}

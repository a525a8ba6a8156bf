package corev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// isNative reports whether a resource is the system's own, not an extended one.
func isNative(name ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), ResourceDefaultNamespacePrefix)
}

// IsExtendedResource reports whether name is a resource that a device plugin or driver provides:
// domain-prefixed, counted in whole numbers and never overcommitted.
func IsExtendedResource(name ResourceName) bool {
	return !isNative(name) && !strings.HasPrefix(string(name), DefaultResourceRequestsPrefix) &&
		validation.IsQualifiedName(DefaultResourceRequestsPrefix+string(name)) == nil
}

func overcommits(name ResourceName) bool { return isNative(name) && !isHugePages(name) }

func standardContainerResource(name ResourceName) bool {
	return name == ResourceCPU || name == ResourceMemory || name == ResourceEphemeralStorage || isHugePages(name)
}

// standardQuotaResource are the names without a domain that a quota supports, object counts included.
func standardQuotaResource(name ResourceName) bool {
	switch name {
	case ResourceCPU, ResourceMemory, ResourceEphemeralStorage,
		ResourceRequestsCPU, ResourceRequestsMemory, ResourceRequestsStorage, ResourceRequestsEphemeralStorage,
		ResourceLimitsCPU, ResourceLimitsMemory, ResourceLimitsEphemeralStorage:
		return true
	}
	return countedResource(name) || isHugePages(name) || strings.HasPrefix(string(name), ResourceRequestsHugePagesPrefix)
}

func countedResource(name ResourceName) bool {
	switch name {
	case ResourcePods, ResourceQuotas, ResourceServices, ResourceReplicationControllers, ResourceSecrets,
		ResourceConfigMaps, ResourcePersistentVolumeClaims, ResourceServicesNodePorts, ResourceServicesLoadBalancers:
		return true
	}
	return false
}

// validateResourceName checks the name of any resource.
func validateResourceName(name ResourceName, p *path) validation.ErrorList {
	var r check.Report
	r.Each(p, name, validation.IsQualifiedName(string(name)))
	if r.OK() && !strings.Contains(string(name), "/") && !standardQuotaResource(name) && name != ResourceStorage {
		r.Invalid(p, name, "must be a standard resource type or fully qualified")
	}
	return r.List()
}

// validateContainerResource checks the name of a resource that containers request.
func validateContainerResource(name ResourceName, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateResourceName(name, p))
	if !strings.Contains(string(name), "/") {
		r.If(!standardContainerResource(name), p, name, "must be a standard resource for containers")
	} else if !isNative(name) && !IsExtendedResource(name) {
		r.Invalid(p, name, "does not have the form of an extended resource name")
	}
	return r.List()
}

// validateQuantity checks an amount of a resource: not negative, and whole where only whole units exist.
func validateQuantity(name ResourceName, q resource.Quantity, p *path) validation.ErrorList {
	var r check.Report
	if q.Sign() < 0 {
		r.Invalid(p, q.String(), validation.NegativeText)
	}
	if countedResource(name) || IsExtendedResource(name) {
		if whole := q; !whole.RoundUp(0) {
			r.Invalid(p, q.String(), "must be an integer")
		}
	}
	return r.List()
}

// validateResources checks requests, limits and device claims of a container. claims are the names
// of the pod's resource claims.
func validateResources(req *ResourceRequirements, claims map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	limits, requests := p.Child("limits"), p.Child("requests")
	huge, backed := false, false
	one := func(name ResourceName, q resource.Quantity, f *path) {
		r.Add(validateContainerResource(name, f))
		r.Add(validateQuantity(name, q, f))
		if isHugePages(name) {
			huge = true
			r.Add(validateHugePages(name, q, f))
		}
		backed = backed || name == ResourceCPU || name == ResourceMemory
	}
	for _, name := range check.Keys(req.Limits) {
		one(name, req.Limits[name], limits.Key(string(name)))
	}
	for _, name := range check.Keys(req.Requests) {
		q := req.Requests[name]
		one(name, q, requests.Key(string(name)))
		limit, ok := req.Limits[name]
		switch {
		case !ok && !overcommits(name):
			r.Required(limits, "Limit must be set for non overcommitable resources")
		case ok && !overcommits(name) && !q.Equal(limit):
			r.Invalid(requests, q.String(), "must be equal to "+string(name)+" limit of "+limit.String())
		case ok && q.Cmp(limit) > 0:
			r.Invalid(requests, q.String(), "must be less than or equal to "+string(name)+" limit of "+limit.String())
		}
	}
	if huge && !backed {
		r.Forbidden(p, "HugePages require cpu or memory")
	}
	r.Add(validateClaims(req.Claims, claims, p.Child("claims")))
	return r.List()
}

// validateClaims checks the claims of a container. A claim taken whole leaves no request of it to be taken
// alone.
func validateClaims(list []ResourceClaim, claims map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	seen, requests, whole := map[ResourceClaim]bool{}, map[string]bool{}, map[string]bool{}
	for i, c := range list {
		q := p.Index(i)
		switch {
		case c.Name == "":
			r.Required(q, "")
		case !check.Unique(seen, c) || whole[c.Name] || c.Request == "" && requests[c.Name]:
			r.Duplicate(q, c.Name)
		case !claims[c.Name]:
			r.NotFound(q, c.Name)
		}
		requests[c.Name], whole[c.Name] = true, whole[c.Name] || c.Request == ""
		if c.Request != "" {
			r.Each(q.Child("request"), c.Request, validation.IsDNS1123Label(c.Request))
		}
	}
	return r.List()
}

// ValidateOverhead checks what a runtime needs beside the containers of a pod.
func ValidateOverhead(overhead ResourceList, p *path) validation.ErrorList {
	return validateResources(&ResourceRequirements{Limits: overhead}, nil, p)
}

func validateHugePages(name ResourceName, q resource.Quantity, p *path) validation.ErrorList {
	size, err := resource.Parse(strings.TrimPrefix(string(name), ResourceHugePagesPrefix))
	if err != nil || size.Value() <= 0 {
		return validation.ErrorList{validation.Invalid(p, q.String(), "the name must end in a page size")}
	}
	if q.Value()%size.Value() != 0 {
		return validation.ErrorList{validation.Invalid(p, q.String(), "must be a multiple of the page size "+size.String())}
	}
	return nil
}

// validatePodResources checks the resources of a pod as a whole: they must hold those of its containers.
func validatePodResources(s *PodSpec, p *path) validation.ErrorList {
	var r check.Report
	if s.Resources == nil {
		return nil
	}
	if len(s.Resources.Claims) > 0 {
		r.Forbidden(p.Child("claims"), "claims cannot be set for Resources at pod-level")
	}
	for _, part := range []struct {
		field string
		list  ResourceList
	}{{"limits", s.Resources.Limits}, {"requests", s.Resources.Requests}} {
		for _, name := range check.Keys(part.list) {
			q := p.Child(part.field).Key(string(name))
			if !podLevelResource(name) {
				check.OneOf(&r, q, name, ResourceCPU, ResourceHugePagesPrefix, ResourceMemory)
			}
		}
	}
	plain := ResourceRequirements{Limits: s.Resources.Limits, Requests: s.Resources.Requests}
	r.Add(validateResources(&plain, nil, p))
	sum := containerRequests(s)
	for _, name := range check.Keys(s.Resources.Requests) {
		q := s.Resources.Requests[name]
		if total, ok := sum[name]; ok && podLevelResource(name) && q.Cmp(total) < 0 {
			r.Invalid(p.Child("requests").Key(string(name)), q.String(), "must be greater than or equal to aggregate container requests of "+total.String())
		}
	}
	for i := range slices.Concat(s.Containers, s.InitContainers) {
		c := slices.Concat(s.Containers, s.InitContainers)[i]
		for _, name := range check.Keys(c.Resources.Limits) {
			q, limit := c.Resources.Limits[name], s.Resources.Limits[name]
			if _, ok := s.Resources.Limits[name]; ok && q.Cmp(limit) > 0 {
				r.Invalid(p.Child("limits").Key(string(name)), limit.String(), "must be at least the limit of container "+c.Name+", "+q.String())
			}
		}
	}
	return r.List()
}

package resourcev1

import (
	"encoding/json"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

type path = validation.Path

func at(name string, more ...string) *path { return validation.NewPath(name, more...) }

// ValidateResourceClaim checks a claim to be created.
func ValidateResourceClaim(c *ResourceClaim) validation.ErrorList {
	return validateDevices(&c.Spec.Devices, at("spec", "devices"))
}

// ValidateResourceClaimUpdate checks a change of a claim; its spec stays.
func ValidateResourceClaimUpdate(c, old *ResourceClaim) validation.ErrorList {
	var r check.Report
	check.Immutable(&r, at("spec"), c.Spec, old.Spec)
	if r.OK() {
		r.Add(ValidateResourceClaim(c))
	}
	return r.List()
}

// ValidateResourceClaimTemplate checks a template to be created. Of the metadata of claims it says labels and
// annotations.
func ValidateResourceClaimTemplate(t *ResourceClaimTemplate) validation.ErrorList {
	var r check.Report
	m, p := &t.Spec.ObjectMeta, at("spec", "metadata")
	for _, f := range [...]struct {
		name string
		set  bool
	}{
		{"name", m.Name != ""}, {"generateName", m.GenerateName != ""}, {"namespace", m.Namespace != ""}, {"selfLink", m.SelfLink != ""},
		{"uid", m.UID != ""}, {"resourceVersion", m.ResourceVersion != ""}, {"generation", m.Generation != 0},
		{"creationTimestamp", !m.CreationTimestamp.IsZero()}, {"deletionTimestamp", m.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds != nil}, {"ownerReferences", len(m.OwnerReferences) > 0},
		{"finalizers", len(m.Finalizers) > 0}, {"managedFields", len(m.ManagedFields) > 0},
	} {
		r.ForbidIf(f.set, p.Child(f.name), "cannot be set")
	}
	r.Add(validation.Labels(p.Child("labels"), m.Labels))
	r.Add(validation.Annotations(p.Child("annotations"), m.Annotations))
	r.Add(validateDevices(&t.Spec.Spec.Devices, at("spec", "spec", "devices")))
	return r.List()
}

// ValidateResourceClaimTemplateUpdate checks a change of a template; its spec stays.
func ValidateResourceClaimTemplateUpdate(t, old *ResourceClaimTemplate) validation.ErrorList {
	var r check.Report
	check.Immutable(&r, at("spec"), t.Spec, old.Spec)
	r.Add(ValidateResourceClaimTemplate(t))
	return r.List()
}

func validateDevices(d *DeviceClaim, p *path) validation.ErrorList {
	var r check.Report
	requests := p.Child("requests")
	if n := len(d.Requests); n > DeviceRequestsMaxSize {
		r.TooMany(requests, n, DeviceRequestsMaxSize)
	}
	names := map[string]bool{}
	known := map[string]bool{}
	for i := range d.Requests {
		req, q := &d.Requests[i], requests.Index(i)
		r.Each(q.Child("name"), req.Name, validation.IsDNS1123Label(req.Name))
		if !check.Unique(names, req.Name) {
			r.Duplicate(q, req.Name)
		}
		known[req.Name] = true
		for _, f := range req.FirstAvailable {
			known[req.Name+"/"+f.Name] = true
		}
		r.Add(validateRequest(req, q))
	}
	constraints := p.Child("constraints")
	if n := len(d.Constraints); n > DeviceConstraintsMaxSize {
		r.TooMany(constraints, n, DeviceConstraintsMaxSize)
	}
	for i := range d.Constraints {
		c, q := &d.Constraints[i], constraints.Index(i)
		r.Add(validateNames(c.Requests, known, q.Child("requests")))
		// The first attribute counts if both are set.
		switch {
		case c.MatchAttribute != nil:
			r.Add(validateFullName(string(*c.MatchAttribute), q.Child("matchAttribute")))
		case c.DistinctAttribute != nil:
			r.Add(validateFullName(string(*c.DistinctAttribute), q.Child("distinctAttribute")))
		default:
			r.Required(q, "exactly one of matchAttribute and distinctAttribute is required")
		}
	}
	configs := p.Child("config")
	if n := len(d.Config); n > DeviceConfigMaxSize {
		r.TooMany(configs, n, DeviceConfigMaxSize)
	}
	for i := range d.Config {
		r.Add(validateNames(d.Config[i].Requests, known, configs.Index(i).Child("requests")))
		r.Add(validateConfig(&d.Config[i].DeviceConfiguration, configs.Index(i)))
	}
	return r.List()
}

func validateNames(list []string, known map[string]bool, p *path) validation.ErrorList {
	var r check.Report
	seen := map[string]bool{}
	for i, n := range list {
		if !check.Unique(seen, n) {
			r.Duplicate(p.Index(i), n)
		}
		for part := range strings.SplitSeq(n, "/") {
			if strings.Count(n, "/") < 2 {
				r.Each(p.Index(i), part, validation.IsDNS1123Label(part))
			}
		}
		r.If(!known[n], p.Index(i), n, "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'")
	}
	return r.List()
}

func validateRequest(req *DeviceRequest, p *path) validation.ErrorList {
	var r check.Report
	switch first := len(req.FirstAvailable) > 0; {
	case req.Exactly == nil && !first:
		r.Required(p, "exactly one of `exactly` or `firstAvailable` is required")
	case req.Exactly != nil && first:
		r.Invalid(p, nil, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set")
	case req.Exactly != nil:
		e, q := req.Exactly, p.Child("exactly")
		r.Add(validateExact(e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations, q))
	default:
		q := p.Child("firstAvailable")
		if n := len(req.FirstAvailable); n > FirstAvailableDeviceRequestMaxSize {
			r.TooMany(q, n, FirstAvailableDeviceRequestMaxSize)
		}
		names := map[string]bool{}
		for i := range req.FirstAvailable {
			f, q := &req.FirstAvailable[i], q.Index(i)
			r.Each(q.Child("name"), f.Name, validation.IsDNS1123Label(f.Name))
			if !check.Unique(names, f.Name) {
				r.Duplicate(q, f.Name)
			}
			r.Add(validateExact(f.DeviceClassName, f.Selectors, f.AllocationMode, f.Count, f.Tolerations, q))
		}
	}
	return r.List()
}

func validateExact(class string, selectors []DeviceSelector, mode DeviceAllocationMode, count int64, tolerations []DeviceToleration, p *path) validation.ErrorList {
	var r check.Report
	r.Name(p.Child("deviceClassName"), class, validation.NameIsSubdomain)
	r.Add(validateSelectors(selectors, p.Child("selectors")))
	switch mode {
	case DeviceAllocationModeAll:
		r.If(count != 0, p.Child("count"), count, "must not be specified when allocationMode is 'All'")
	case DeviceAllocationModeExactCount:
		r.If(count <= 0, p.Child("count"), count, "must be greater than zero")
	default:
		check.OneOf(&r, p.Child("allocationMode"), mode, DeviceAllocationModeAll, DeviceAllocationModeExactCount)
	}
	if n := len(tolerations); n > DeviceTolerationsMaxLength {
		r.TooMany(p.Child("tolerations"), n, DeviceTolerationsMaxLength)
	}
	for i := range tolerations {
		t, q := &tolerations[i], p.Child("tolerations").Index(i)
		if t.Key != "" {
			r.Add(validation.LabelName(q.Child("key"), t.Key))
		}
		switch t.Operator {
		case DeviceTolerationOpExists:
			r.If(t.Value != "", q.Child("value"), t.Value, "must be empty for operator `Exists`")
		case DeviceTolerationOpEqual:
			r.Each(q.Child("value"), t.Value, validation.IsLabelValue(t.Value))
		default:
			check.Chosen(&r, q.Child("operator"), t.Operator, DeviceTolerationOpEqual, DeviceTolerationOpExists)
		}
		if t.Effect != "" {
			check.OneOf(&r, q.Child("effect"), t.Effect, DeviceTaintEffectNoExecute, DeviceTaintEffectNoSchedule, DeviceTaintEffectNone)
		}
	}
	return r.List()
}

func validateSelectors(list []DeviceSelector, p *path) validation.ErrorList {
	var r check.Report
	if n := len(list); n > DeviceSelectorsMaxSize {
		r.TooMany(p, n, DeviceSelectorsMaxSize)
	}
	for i, s := range list {
		q := p.Index(i).Child("cel")
		if s.CEL == nil {
			r.Required(q, "")
			continue
		}
		// An empty expression is none: a compiler would say so too.
		r.If(strings.TrimSpace(s.CEL.Expression) == "", q.Child("expression"), s.CEL.Expression, "must not be empty")
		if len(s.CEL.Expression) > CELSelectorExpressionMaxLength {
			r.TooLong(q.Child("expression"), CELSelectorExpressionMaxLength)
		}
	}
	return r.List()
}

func validateConfig(c *DeviceConfiguration, p *path) validation.ErrorList {
	var r check.Report
	if c.Opaque == nil {
		r.Required(p.Child("opaque"), "")
		return r.List()
	}
	q := p.Child("opaque")
	r.Add(ValidateDriverName(c.Opaque.Driver, q.Child("driver")))
	raw := c.Opaque.Parameters.Raw
	var object map[string]any
	switch f := q.Child("parameters"); {
	case len(raw) == 0:
		r.Required(f, "")
	case len(raw) > OpaqueParametersMaxLength:
		r.TooLong(f, OpaqueParametersMaxLength)
	case json.Unmarshal(raw, &object) != nil:
		r.Invalid(f, "<value omitted>", "must be a valid JSON object")
	}
	return r.List()
}

// ValidateDriverName checks the name of a driver: a DNS subdomain of at most DriverNameMaxLength bytes.
func ValidateDriverName(name string, p *path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p, name)
	if len(name) > DriverNameMaxLength {
		r.TooLong(p, DriverNameMaxLength)
	}
	if name != "" {
		r.Each(p, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
	}
	return r.List()
}

// validateFullName checks domain/identifier.
func validateFullName(name string, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validateQualified(name, p))
	r.If(!strings.Contains(name, "/"), p, name, "a fully qualified name must be a domain and a name separated by a slash")
	return r.List()
}

// validateQualified checks a C identifier, optionally behind a domain and a slash.
func validateQualified(name string, p *path) validation.ErrorList {
	var r check.Report
	domain, id, ok := strings.Cut(name, "/")
	if !ok {
		id = name
	} else {
		if domain == "" {
			r.Invalid(p, "", "the domain must not be empty")
		} else {
			r.Each(p, domain, validation.IsDNS1123Subdomain(domain))
		}
		if len(domain) > DeviceMaxDomainLength {
			r.TooLong(p, DeviceMaxDomainLength)
		}
	}
	if id == "" && ok {
		r.Invalid(p, "", "the name must not be empty")
	} else {
		r.Each(p, id, validation.IsCIdentifier(id))
	}
	if len(id) > DeviceMaxIDLength {
		r.TooLong(p, DeviceMaxIDLength)
	}
	return r.List()
}

// ValidateDeviceClass checks a class to be stored. Expressions must be there; whether they compile is for
// package celcheck, which has the compiler.
func ValidateDeviceClass(c *DeviceClass) validation.ErrorList {
	var r check.Report
	p := at("spec")
	r.Add(validateSelectors(c.Spec.Selectors, p.Child("selectors")))
	if n := len(c.Spec.Config); n > DeviceConfigMaxSize {
		r.TooMany(p.Child("config"), n, DeviceConfigMaxSize)
	}
	for i := range c.Spec.Config {
		r.Add(validateConfig(&c.Spec.Config[i].DeviceConfiguration, p.Child("config").Index(i)))
	}
	if n := c.Spec.ExtendedResourceName; n != nil {
		q := p.Child("extendedResourceName")
		r.If(!corev1.IsExtendedResource(corev1.ResourceName(*n)), q, *n, "must be a valid extended resource name")
	}
	return r.List()
}

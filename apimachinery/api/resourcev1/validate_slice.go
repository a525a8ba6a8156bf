package resourcev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateResourceSlice checks a slice to be created.
func ValidateResourceSlice(s *ResourceSlice) validation.ErrorList {
	var r check.Report
	spec, p := &s.Spec, at("spec")
	r.Add(ValidateDriverName(spec.Driver, p.Child("driver")))
	r.Add(validatePool(&spec.Pool, p.Child("pool")))
	set := 0
	if spec.NodeName != nil {
		set++
		if *spec.NodeName == "" {
			set--
			r.Invalid(p.Child("nodeName"), "", "must be either unset or set to a non-empty string")
		} else {
			r.Each(p.Child("nodeName"), *spec.NodeName, validation.IsDNS1123Subdomain(*spec.NodeName))
		}
	}
	if spec.NodeSelector != nil {
		set++
		r.Add(corev1.ValidateNodeSelector(spec.NodeSelector, p.Child("nodeSelector")))
		r.If(len(spec.NodeSelector.NodeSelectorTerms) != 1, p.Child("nodeSelector", "nodeSelectorTerms"), spec.NodeSelector, "must have exactly one node selector term")
	}
	if spec.AllNodes != nil {
		if *spec.AllNodes {
			set++
		} else {
			r.Invalid(p.Child("allNodes"), false, "must be either unset or set to true")
		}
	}
	if d := spec.PerDeviceNodeSelection; d != nil {
		if *d {
			set++
		} else {
			r.Invalid(p.Child("perDeviceNodeSelection"), false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	switch {
	case set == 0:
		r.Required(p, one)
	case set > 1:
		r.Invalid(p, nil, one+", but multiple fields are set")
	}
	r.If(len(spec.SharedCounters) > 0 && len(spec.Devices) > 0, p, "", "only one of `sharedCounters` or `devices` is allowed")
	devices := p.Child("devices")
	if n := len(spec.Devices); n > ResourceSliceMaxDevices {
		r.TooMany(devices, n, ResourceSliceMaxDevices)
	}
	names := map[string]bool{}
	for i := range spec.Devices {
		r.Add(validateDevice(&spec.Devices[i], devices.Index(i)))
		r.Add(validateDeviceNode(&spec.Devices[i], spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection, devices.Index(i)))
		if !check.Unique(names, spec.Devices[i].Name) {
			r.Duplicate(devices.Index(i), spec.Devices[i].Name)
		}
	}
	sets := p.Child("sharedCounters")
	if n := len(spec.SharedCounters); n > ResourceSliceMaxCounterSets {
		r.TooMany(sets, n, ResourceSliceMaxCounterSets)
	}
	clear(names)
	for i := range spec.SharedCounters {
		c, q := &spec.SharedCounters[i], sets.Index(i)
		r.Name(q.Child("name"), c.Name, validation.NameIsLabel)
		if !check.Unique(names, c.Name) {
			r.Duplicate(q, c.Name)
		}
		r.Add(validateCounters(c.Counters, q.Child("counters")))
	}
	return r.List()
}

func validatePool(pool *ResourcePool, p *path) validation.ErrorList {
	var r check.Report
	if pool.Name == "" {
		r.Required(p.Child("name"), "")
	} else {
		if len(pool.Name) > PoolNameMaxLength {
			r.TooLong(p.Child("name"), PoolNameMaxLength)
		}
		r.Add(ValidatePoolName(pool.Name, p.Child("name")))
	}
	r.If(pool.ResourceSliceCount <= 0, p.Child("resourceSliceCount"), pool.ResourceSliceCount, "must be greater than zero")
	r.If(pool.Generation < 0, p.Child("generation"), pool.Generation, validation.NegativeText)
	return r.List()
}

// ValidatePoolName checks DNS subdomains joined by slashes.
func ValidatePoolName(name string, p *path) validation.ErrorList {
	var r check.Report
	for from, i := 0, 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			r.Each(p, name[from:i], validation.IsDNS1123Subdomain(name[from:i]))
			from = i + 1
		}
	}
	return r.List()
}

func validateDevice(d *Device, p *path) validation.ErrorList {
	var r check.Report
	r.Each(p.Child("name"), d.Name, validation.IsDNS1123Label(d.Name))
	if n := len(d.Attributes) + len(d.Capacity); n > ResourceSliceMaxAttributesAndCapacitiesPerDevice {
		r.TooMany(p, n, ResourceSliceMaxAttributesAndCapacitiesPerDevice)
	}
	for _, name := range check.Keys(d.Attributes) {
		a := d.Attributes[name]
		r.Add(validateQualified(string(name), p.Child("attributes")))
		r.Add(validateAttribute(&a, p.Child("attributes").Key(string(name))))
	}
	shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for _, name := range check.Keys(d.Capacity) {
		q := p.Child("capacity").Key(string(name))
		r.Add(validateQualified(string(name), p.Child("capacity")))
		r.ForbidIf(d.Capacity[name].RequestPolicy != nil && !shared, q.Child("requestPolicy"), "allowMultipleAllocations must be true")
	}
	r.Add(validateConsumption(d.ConsumesCounters, p.Child("consumesCounters")))
	r.Add(validateBinding(d.BindingConditions, d.BindingFailureConditions, p))
	if n := len(d.Taints); n > DeviceTaintsMaxLength {
		r.TooMany(p.Child("taints"), n, DeviceTaintsMaxLength)
	}
	for i := range d.Taints {
		r.Add(ValidateDeviceTaint(&d.Taints[i], p.Child("taints").Index(i)))
	}
	return r.List()
}

// ValidateDeviceTaint checks a taint of devices.
func ValidateDeviceTaint(t *DeviceTaint, p *path) validation.ErrorList {
	var r check.Report
	r.Add(validation.LabelName(p.Child("key"), t.Key))
	r.Each(p.Child("value"), t.Value, validation.IsLabelValue(t.Value))
	check.Chosen(&r, p.Child("effect"), t.Effect, DeviceTaintEffectNoSchedule, DeviceTaintEffectNoExecute, DeviceTaintEffectNone)
	return r.List()
}

// validateDeviceNode checks where a device can be used from, which it says itself if its slice leaves it to
// its devices.
func validateDeviceNode(d *Device, itself bool, p *path) validation.ErrorList {
	var r check.Report
	if !itself {
		r.If(d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil, p, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")
		return r.List()
	}
	set := 0
	if n := d.NodeName; n != nil {
		if *n == "" {
			r.Invalid(p.Child("nodeName"), "", "must not be empty")
		} else {
			set++
			r.Each(p.Child("nodeName"), *n, validation.IsDNS1123Subdomain(*n))
		}
	}
	if d.NodeSelector != nil {
		set++
		r.Add(corev1.ValidateNodeSelector(d.NodeSelector, p.Child("nodeSelector")))
	}
	if all := d.AllNodes; all != nil {
		if *all {
			set++
		} else {
			r.Invalid(p.Child("allNodes"), false, "must be either unset or set to true")
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	if set == 0 {
		r.Required(p, one)
	}
	r.If(set > 1, p, nil, one)
	return r.List()
}

const (
	maxConsumedSets      = 2
	maxBindingConditions = 4
)

// validateConsumption checks what a device takes of shared counters.
func validateConsumption(list []DeviceCounterConsumption, p *path) validation.ErrorList {
	var r check.Report
	if n := len(list); n > maxConsumedSets {
		r.TooMany(p, n, maxConsumedSets)
		return r.List()
	}
	names := map[string]bool{}
	for i := range list {
		c, q := &list[i], p.Index(i)
		r.Name(q.Child("counterSet"), c.CounterSet, validation.NameIsLabel)
		if c.CounterSet != "" && !check.Unique(names, c.CounterSet) {
			r.Duplicate(q, c.CounterSet)
		}
		r.Add(validateCounters(c.Counters, q.Child("counters")))
	}
	return r.List()
}

// validateCounters checks that there are counters, with names that are labels.
func validateCounters(counters map[string]Counter, p *path) validation.ErrorList {
	var r check.Report
	if len(counters) == 0 {
		r.Required(p, "")
	}
	for _, name := range check.Keys(counters) {
		r.Each(p, name, validation.IsDNS1123Label(name))
	}
	return r.List()
}

// validateBinding checks the conditions that a pod waits for before it is bound, and those that give up
// waiting: both or none.
func validateBinding(wait, fail []string, p *path) validation.ErrorList {
	var r check.Report
	r.If(len(wait) > 0 && len(fail) == 0, p.Child("bindingFailureConditions"), nil, "bindingFailureConditions are required to use bindingConditions")
	r.If(len(wait) == 0 && len(fail) > 0, p.Child("bindingConditions"), nil, "bindingConditions are required to use bindingFailureConditions")
	for _, f := range [...]struct {
		name string
		list []string
	}{{"bindingConditions", wait}, {"bindingFailureConditions", fail}} {
		q := p.Child(f.name)
		long := len(f.list) > maxBindingConditions
		if long {
			r.TooMany(q, len(f.list), maxBindingConditions)
		}
		seen := map[string]bool{}
		for i, c := range f.list {
			if !check.Unique(seen, c) {
				r.Duplicate(q.Index(i), c)
			} else if !long {
				r.Each(q.Index(i), c, validation.IsQualifiedName(c))
			}
		}
	}
	for i, c := range fail {
		r.If(slices.Contains(wait, c), p.Child("bindingFailureConditions").Index(i), c, "bindingFailureConditions must not overlap with bindingConditions")
	}
	return r.List()
}

func validateAttribute(a *DeviceAttribute, p *path) validation.ErrorList {
	var r check.Report
	n := 0
	for _, set := range []bool{
		a.IntValue != nil, a.BoolValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.IntValues != nil, a.BoolValues != nil, a.StringValues != nil, a.VersionValues != nil,
	} {
		if set {
			n++
		}
	}
	switch {
	case n == 0:
		r.Invalid(p, "", "exactly one value must be specified")
	case n > 1:
		r.Invalid(p, a, "exactly one value must be specified")
	}
	for _, f := range []struct {
		name string
		v    *string
	}{{"string", a.StringValue}, {"version", a.VersionValue}} {
		if f.v != nil && len(*f.v) > DeviceAttributeMaxValueLength {
			r.TooLong(p.Child(f.name), DeviceAttributeMaxValueLength)
		}
	}
	const notSemantic = "must be a string compatible with semver.org spec 2.0.0"
	if v := a.VersionValue; v != nil {
		r.If(!isSemanticVersion(*v), p.Child("version"), *v, notSemantic)
	}
	for i, v := range a.VersionValues {
		r.If(!isSemanticVersion(v), p.Child("versions").Index(i), v, notSemantic)
	}
	return r.List()
}

// isSemanticVersion reports whether v is MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD] as semver.org defines it:
// numbers have no leading zeros.
func isSemanticVersion(v string) bool {
	v, build, built := strings.Cut(v, "+")
	core, pre, early := strings.Cut(v, "-")
	numbers := strings.Split(core, ".")
	return len(numbers) == 3 && !slices.ContainsFunc(numbers, func(n string) bool { return !versionNumber(n) }) &&
		(!early || identifiers(pre, true)) && (!built || identifiers(build, false))
}

func versionNumber(n string) bool {
	return n == "0" || n != "" && n[0] != '0' && strings.Trim(n, "0123456789") == ""
}

// identifiers checks the parts after the numbers; of a prerelease, parts of digits are numbers.
func identifiers(list string, numbers bool) bool {
	for part := range strings.SplitSeq(list, ".") {
		if digits := strings.Trim(part, "0123456789") == ""; part == "" || numbers && digits && !versionNumber(part) {
			return false
		}
		for _, c := range []byte(part) {
			if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
				return false
			}
		}
	}
	return true
}

// ValidateResourceSliceUpdate checks a change of a slice; its driver, pool and node are immutable.
func ValidateResourceSliceUpdate(s, old *ResourceSlice) validation.ErrorList {
	var r check.Report
	r.Add(ValidateResourceSlice(s))
	p := at("spec")
	check.Immutable(&r, p.Child("driver"), s.Spec.Driver, old.Spec.Driver)
	check.Immutable(&r, p.Child("pool", "name"), s.Spec.Pool.Name, old.Spec.Pool.Name)
	check.Immutable(&r, p.Child("nodeName"), s.Spec.NodeName, old.Spec.NodeName)
	return r.List()
}

// ValidateResourceClaimStatus checks a change of a claim's status: an allocation cannot be changed, only
// removed, and the consumers in reservedFor are unique.
func ValidateResourceClaimStatus(c, old *ResourceClaim) validation.ErrorList {
	var r check.Report
	p := at("status")
	reserved := p.Child("reservedFor")
	if n := len(c.Status.ReservedFor); n > ResourceClaimReservedForMaxSize {
		r.TooMany(reserved, n, ResourceClaimReservedForMaxSize)
	}
	seen := map[string]bool{}
	for i, ref := range c.Status.ReservedFor {
		q := reserved.Index(i)
		r.NonEmpty(q.Child("resource"), ref.Resource)
		r.NonEmpty(q.Child("name"), ref.Name)
		r.NonEmpty(q.Child("uid"), string(ref.UID))
		if ref.UID != "" && !check.Unique(seen, string(ref.UID)) {
			r.Duplicate(q.Child("uid"), ref.UID)
		}
	}
	r.ForbidIf(len(c.Status.ReservedFor) > 0 && c.Status.Allocation == nil, reserved, "may not be specified when `allocated` is not set")
	if old.Status.Allocation != nil && c.Status.Allocation != nil {
		check.Immutable(&r, p.Child("allocation"), c.Status.Allocation, old.Status.Allocation)
	} else if a := c.Status.Allocation; a != nil {
		if n := len(a.Devices.Results); n > AllocationResultsMaxSize {
			r.TooMany(p.Child("allocation", "devices", "results"), n, AllocationResultsMaxSize)
		}
		for i := range a.Devices.Results {
			d, q := &a.Devices.Results[i], p.Child("allocation", "devices", "results").Index(i)
			r.NonEmpty(q.Child("request"), d.Request)
			r.Add(ValidateDriverName(d.Driver, q.Child("driver")))
			r.NonEmpty(q.Child("pool"), d.Pool)
			r.NonEmpty(q.Child("device"), d.Device)
		}
		if a.NodeSelector != nil {
			r.Add(corev1.ValidateNodeSelector(a.NodeSelector, p.Child("allocation", "nodeSelector")))
		}
	}
	return r.List()
}

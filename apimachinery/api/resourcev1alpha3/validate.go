package resourcev1alpha3

import (
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// DefaultResourcePoolStatusRequest sets the limit.
func DefaultResourcePoolStatusRequest(r *ResourcePoolStatusRequest) {
	if r.Spec.Limit == nil {
		r.Spec.Limit = new(LimitDefault)
	}
}

// ValidateResourcePoolStatusRequest checks a request to be created.
func ValidateResourcePoolStatusRequest(request *ResourcePoolStatusRequest) validation.ErrorList {
	var r check.Report
	s, p := &request.Spec, validation.NewPath("spec")
	validateDriver(&r, s.Driver, p.Child("driver"))
	if s.PoolName != nil {
		validatePool(&r, *s.PoolName, p.Child("poolName"))
	}
	if q := p.Child("limit"); s.Limit == nil {
		r.Required(q, "")
	} else {
		r.If(*s.Limit > LimitMax, q, *s.Limit, fmt.Sprintf("must be less than or equal to %d", LimitMax))
		atLeast(&r, s.Limit, 1, q)
	}
	return r.List()
}

func validateDriver(r *check.Report, name string, p *check.Path) {
	if name == "" {
		r.Required(p, "")
		return
	}
	r.Each(p, name, validation.IsDNS1123SubdomainCaseless(name))
}

func validatePool(r *check.Report, name string, p *check.Path) {
	if len(name) > resourcev1.PoolNameMaxLength {
		r.TooLong(p, resourcev1.PoolNameMaxLength)
	}
	i := 0
	for part := range strings.SplitSeq(name, "/") {
		segment := fmt.Sprintf("segment %d: ", i)
		i++
		if part == "" {
			r.Invalid(p, name, segment+"must not be empty")
			continue
		}
		for _, text := range validation.IsDNS1123Subdomain(part) {
			r.Invalid(p, part, segment+text)
		}
	}
}

// atLeast reports a number that is set and below low.
func atLeast(r *check.Report, n *int32, low int32, p *check.Path) {
	r.If(n != nil && *n < low, p, n, fmt.Sprintf("must be greater than or equal to %d", low))
}

// ValidateResourcePoolStatusRequestUpdate checks a change of a request: its spec stays.
func ValidateResourcePoolStatusRequestUpdate(request, old *ResourcePoolStatusRequest) validation.ErrorList {
	var r check.Report
	if !check.Same(&request.Spec, &old.Spec) {
		r.Invalid(validation.NewPath("spec"), nil, validation.ImmutableText)
	}
	return r.List()
}

// ValidateResourcePoolStatusRequestStatus checks a change of a request's status, which stays once it is set.
func ValidateResourcePoolStatusRequestStatus(request, old *ResourcePoolStatusRequest) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("status")
	if old.Status != nil {
		check.Immutable(&r, p, request.Status, old.Status)
	}
	s := request.Status
	if s == nil || old.Status != nil && check.Same(s, old.Status) {
		return r.List()
	}
	if old.Status == nil {
		r.Add(metav1.ValidateConditions(s.Conditions, p.Child("conditions")))
	}
	if s.PoolCount == nil {
		r.Required(p.Child("poolCount"), "")
	}
	atLeast(&r, s.PoolCount, 0, p.Child("poolCount"))
	validatePools(&r, s.Pools, p.Child("pools"))
	q := p.Child("conditions")
	if n := len(s.Conditions); n > MaxConditions {
		r.TooMany(q, n, MaxConditions)
		return r.List()
	}
	seen := map[string]bool{}
	for i, c := range s.Conditions {
		if !check.Unique(seen, c.Type) {
			r.Duplicate(q.Index(i), c)
		}
	}
	return r.List()
}

func validatePools(r *check.Report, pools []PoolStatus, p *check.Path) {
	if n := len(pools); n > int(LimitMax) {
		r.TooMany(p, n, int(LimitMax))
		return
	}
	for i := range pools {
		pool, p := &pools[i], p.Index(i)
		validateDriver(r, pool.Driver, p.Child("driver"))
		if q := p.Child("poolName"); pool.PoolName == "" {
			r.Required(q, "")
		} else {
			validatePool(r, pool.PoolName, q)
		}
		// Upstream's check of a required number refuses 0.
		if q := p.Child("generation"); pool.Generation == 0 {
			r.Required(q, "")
		} else {
			r.If(pool.Generation < 0, q, pool.Generation, "must be greater than or equal to 0")
		}
		atLeast(r, pool.ResourceSliceCount, 1, p.Child("resourceSliceCount"))
		atLeast(r, pool.TotalDevices, 0, p.Child("totalDevices"))
		atLeast(r, pool.AllocatedDevices, 0, p.Child("allocatedDevices"))
		atLeast(r, pool.AvailableDevices, 0, p.Child("availableDevices"))
		atLeast(r, pool.UnavailableDevices, 0, p.Child("unavailableDevices"))
		if name := pool.NodeName; name != nil {
			r.Each(p.Child("nodeName"), *name, validation.IsDNS1123Subdomain(*name))
		}
		if text := pool.ValidationError; text != nil && len(*text) > ValidationErrorMaxLength {
			r.TooLong(p.Child("validationError"), ValidationErrorMaxLength)
		}
	}
}

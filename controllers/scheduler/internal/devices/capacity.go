package devices

import (
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// consumed is what a request for capacity takes of a device, rounded by the device's policies. It is false if
// the device does not have a capacity that is requested.
func consumed(want *resourcev1.CapacityRequirements, d *device) (amounts, bool) {
	if want != nil {
		for name := range want.Requests {
			if _, ok := d.Capacity[name]; !ok {
				return nil, false
			}
		}
	}
	out := amounts{}
	for name, c := range d.Capacity {
		var ask *resource.Quantity
		if want != nil {
			if q, ok := want.Requests[name]; ok {
				ask = &q
			}
		}
		out[name] = rounded(ask, &c)
	}
	return out, true
}

// rounded is what a request for a capacity takes; a nil one asks for the default.
func rounded(ask *resource.Quantity, c *resourcev1.DeviceCapacity) resource.Quantity {
	p := c.RequestPolicy
	switch {
	case ask == nil && p != nil && p.Default != nil:
		return *p.Default
	case ask == nil:
		return c.Value
	case p == nil:
		return *ask
	case p.ValidRange != nil && p.ValidRange.Min != nil:
		return inRange(*ask, p.ValidRange)
	}
	for _, v := range p.ValidValues {
		if ask.Cmp(v) <= 0 {
			return v
		}
	}
	return *ask
}

// inRange rounds up to the least amount of a range.
func inRange(ask resource.Quantity, r *resourcev1.CapacityRequestPolicyRange) resource.Quantity {
	if ask.Cmp(*r.Min) < 0 {
		return *r.Min
	}
	if r.Step == nil {
		return ask
	}
	least, step := r.Min.Value(), r.Step.Value()
	if step <= 0 {
		return ask
	}
	steps := (ask.Value() - least + step - 1) / step
	return resource.NewQuantity(least+step*steps, resource.BinarySI)
}

// forbidden reports whether a policy does not allow an amount.
func forbidden(q resource.Quantity, p *resourcev1.CapacityRequestPolicy) bool {
	switch {
	case p == nil || p.Default != nil && q.Equal(*p.Default):
		return false
	case p.ValidRange != nil:
		r := p.ValidRange
		if r.Max != nil && q.Cmp(*r.Max) > 0 {
			return true
		}
		return r.Step != nil && r.Min != nil && r.Step.Value() > 0 && (q.Value()-r.Min.Value())%r.Step.Value() != 0
	case len(p.ValidValues) > 0:
		for _, v := range p.ValidValues {
			if q.Cmp(v) == 0 {
				return false
			}
		}
		return true
	}
	return false
}

// fits reports whether a device has what a request takes, beside what is taken already.
func fits(take amounts, d *device, taken ...amounts) bool {
	for name, q := range take {
		c := d.Capacity[name]
		if forbidden(q, c.RequestPolicy) {
			return false
		}
		for _, t := range taken {
			q.Add(t[name])
		}
		if q.Cmp(c.Value) > 0 {
			return false
		}
	}
	return true
}

package devices

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
)

// request is a request of a claim, or an alternative of one.
type request struct {
	name, sub   string // sub is the name of an alternative, empty for a request without
	class       *resourcev1.DeviceClass
	selectors   []resourcev1.DeviceSelector
	mode        resourcev1.DeviceAllocationMode
	n           int64
	admin       bool
	tolerations []resourcev1.DeviceToleration
	capacity    *resourcev1.CapacityRequirements
	// all are the devices of a request for all of them.
	all []*device
}

// full is the name by which results and constraints refer to the request.
func (r *request) full() string {
	if r.sub == "" {
		return r.name
	}
	return r.name + "/" + r.sub
}

// wanted is a request with its alternatives, of which chosen is the one that was found.
type wanted struct {
	alternatives []*request
	chosen       int
}

// least is the smallest number of devices that serve the request.
func (w *wanted) least() (n int64) {
	for i, r := range w.alternatives {
		if i == 0 || r.n < n {
			n = r.n
		}
	}
	return n
}

// requestsOf reads the requests of a claim.
func (s *search) requestsOf(c *resourcev1.ResourceClaim) (out []*wanted, err error) {
	for i := range c.Spec.Devices.Requests {
		q := &c.Spec.Devices.Requests[i]
		w := &wanted{}
		if e := q.Exactly; e != nil {
			w.alternatives = append(w.alternatives, &request{name: q.Name, selectors: e.Selectors, mode: e.AllocationMode, n: e.Count,
				admin: isTrue(e.AdminAccess), tolerations: e.Tolerations, capacity: e.Capacity})
			err = s.resolve(c, w.alternatives[0], e.DeviceClassName)
		}
		for j := range q.FirstAvailable {
			f := &q.FirstAvailable[j]
			r := &request{name: q.Name, sub: f.Name, selectors: f.Selectors, mode: f.AllocationMode, n: f.Count, tolerations: f.Tolerations, capacity: f.Capacity}
			w.alternatives = append(w.alternatives, r)
			if err == nil {
				err = s.resolve(c, r, f.DeviceClassName)
			}
		}
		switch {
		case err != nil:
			return nil, err
		case len(w.alternatives) == 0:
			return nil, fmt.Errorf("claim %s, request %s: unknown request type", c.Key(), q.Name)
		}
		out = append(out, w)
	}
	return out, nil
}

// resolve finds the class of a request, and all devices of a request for all.
func (s *search) resolve(c *resourcev1.ResourceClaim, r *request, class string) error {
	failed := func(text string, args ...any) error {
		return fmt.Errorf("claim %s, request %s: %w", c.Key(), r.full(), fmt.Errorf(text, args...))
	}
	for i, sel := range r.selectors {
		if sel.CEL == nil {
			return failed("selector #%d: CEL expression empty (unsupported selector type?)", i)
		}
	}
	if r.class = s.Classes(class); r.class == nil {
		return failed("could not retrieve device class %s", class)
	}
	switch r.mode {
	case resourcev1.DeviceAllocationModeExactCount:
		return nil
	case resourcev1.DeviceAllocationModeAll:
	default:
		return failed("unsupported count mode %s", r.mode)
	}
	for _, p := range s.pools {
		switch {
		case p.incomplete:
			return failed("asks for all devices, but resource pool %s/%s is currently being updated", p.id.driver, p.id.pool)
		case p.invalid != "":
			return failed("asks for all devices, but resource pool %s/%s is currently invalid", p.id.driver, p.id.pool)
		}
		for _, d := range p.devices {
			ok, err := s.selects(c, r, d)
			if err != nil {
				return err
			}
			if take, has := consumed(r.capacity, d); ok && has && s.hasRoom(d, take) {
				r.all = append(r.all, d)
			}
		}
	}
	r.n = int64(len(r.all))
	return nil
}

// selects reports whether the selectors of a request and of its class select a device, and the node has
// access to it.
func (s *search) selects(c *resourcev1.ResourceClaim, r *request, d *device) (bool, error) {
	for i, sel := range r.class.Spec.Selectors {
		if sel.CEL == nil {
			return false, fmt.Errorf("class %s: selector #%d: CEL expression empty (unsupported selector type?)", r.class.Name, i)
		}
		if ok, err := s.Selectors.matches(s.Inventory, d, sel.CEL.Expression); err != nil {
			return false, fmt.Errorf("class %s: selector #%d: %w", r.class.Name, i, err)
		} else if !ok {
			return false, nil
		}
	}
	for i, sel := range r.selectors {
		if ok, err := s.Selectors.matches(s.Inventory, d, sel.CEL.Expression); err != nil {
			return false, fmt.Errorf("claim %s: selector #%d: %w", c.Key(), i, err)
		} else if !ok {
			return false, nil
		}
	}
	return !isTrue(d.slice.Spec.PerDeviceNodeSelection) || s.Inventory.matches(s.node, d.NodeName, d.AllNodes, d.NodeSelector), nil
}

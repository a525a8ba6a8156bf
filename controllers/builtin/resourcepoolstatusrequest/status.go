package resourcepoolstatusrequest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/ptr"
)

// pools are those that a request selects, by name. Slices and claims may be added in any order.
type pools struct {
	spec      *resourcev1alpha3.ResourcePoolStatusRequestSpec
	of        map[string]*pool
	allocated map[string]int32
}

// pool is what the slices of its highest generation say.
type pool struct {
	generation int64
	slices     int32
	expected   int64
	devices    int32
	nodes      map[string]bool
}

func newPools(spec *resourcev1alpha3.ResourcePoolStatusRequestSpec) *pools {
	return &pools{spec: spec, of: map[string]*pool{}, allocated: map[string]int32{}}
}

// slice adds a slice of the driver.
func (p *pools) slice(s *resourcev1.ResourceSlice) {
	of := &s.Spec.Pool
	if p.spec.PoolName != nil && *p.spec.PoolName != of.Name {
		return
	}
	one := p.of[of.Name]
	switch {
	case one == nil || one.generation < of.Generation:
		one = &pool{generation: of.Generation, expected: of.ResourceSliceCount, nodes: map[string]bool{}}
		p.of[of.Name] = one
	case one.generation > of.Generation:
		return
	}
	one.slices++
	one.devices += int32(len(s.Spec.Devices)) // at most 128 each
	one.nodes[ptr.Deref(s.Spec.NodeName)] = true
}

// claim adds the devices that a claim has.
func (p *pools) claim(c *resourcev1.ResourceClaim) {
	if c.Status.Allocation == nil {
		return
	}
	for i := range c.Status.Allocation.Devices.Results {
		if result := &c.Status.Allocation.Devices.Results[i]; result.Driver == p.spec.Driver {
			p.allocated[result.Pool]++
		}
	}
}

// status returns the status of the request, nil if a pool that would be in it is incomplete.
func (p *pools) status(now metav1.Time) *resourcev1alpha3.ResourcePoolStatusRequestStatus {
	names := slices.Sorted(maps.Keys(p.of))
	out := &resourcev1alpha3.ResourcePoolStatusRequestStatus{PoolCount: new(int32(len(names)))}
	limit := resourcev1alpha3.LimitDefault
	if p.spec.Limit != nil {
		limit = *p.spec.Limit
	}
	for _, name := range names[:min(len(names), int(limit))] {
		one := p.of[name]
		if int64(one.slices) < one.expected {
			return nil
		}
		status := resourcev1alpha3.PoolStatus{Driver: p.spec.Driver, PoolName: name, Generation: one.generation, ResourceSliceCount: &one.slices,
			TotalDevices: &one.devices, AllocatedDevices: new(p.allocated[name]), UnavailableDevices: new(int32(0))}
		status.AvailableDevices = new(max(0, one.devices-p.allocated[name]))
		for node := range one.nodes {
			if len(one.nodes) == 1 && node != "" {
				status.NodeName = &node
			}
		}
		out.Pools = append(out.Pools, status)
	}
	metav1.SetCondition(&out.Conditions, metav1.Condition{Type: resourcev1alpha3.Complete, Status: metav1.ConditionTrue, LastTransitionTime: now,
		Reason: "CalculationComplete", Message: fmt.Sprintf("Calculated status for %d pools", len(out.Pools))})
	return out
}

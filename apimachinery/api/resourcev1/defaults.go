package resourcev1

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// DefaultResourceClaim fills the unset fields of a claim.
func DefaultResourceClaim(c *ResourceClaim) {
	defaultClaimSpec(&c.Spec)
	if a := c.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			defaultTolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

// DefaultResourceClaimTemplate fills the unset fields of the claims made from it.
func DefaultResourceClaimTemplate(t *ResourceClaimTemplate) { defaultClaimSpec(&t.Spec.Spec) }

// DefaultResourceSlice stamps taints of devices with the time they were added.
func DefaultResourceSlice(s *ResourceSlice) {
	for i := range s.Spec.Devices {
		taints := s.Spec.Devices[i].Taints
		for j := range taints {
			if taints[j].TimeAdded == nil {
				taints[j].TimeAdded = new(metav1.Time{Time: metav1.Now().Truncated().Time})
			}
		}
	}
}

func defaultClaimSpec(s *ResourceClaimSpec) {
	for i := range s.Devices.Requests {
		r := &s.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			defaultAllocation(&e.AllocationMode, &e.Count)
			defaultTolerations(e.Tolerations)
		}
		for j := range r.FirstAvailable {
			f := &r.FirstAvailable[j]
			defaultAllocation(&f.AllocationMode, &f.Count)
			defaultTolerations(f.Tolerations)
		}
	}
}

func defaultAllocation(mode *DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = DeviceAllocationModeExactCount
	}
	if *mode == DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func defaultTolerations(list []DeviceToleration) {
	for i := range list {
		if list[i].Operator == "" {
			list[i].Operator = DeviceTolerationOpEqual
		}
	}
}

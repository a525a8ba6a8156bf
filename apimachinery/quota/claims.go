package quota

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// claimed is the storage of a claim in whole bytes: what it requests or, if that is more, what has been
// allocated for it.
func claimed(c *corev1.PersistentVolumeClaim) resource.Quantity {
	storage := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if allocated, ok := c.Status.AllocatedResources[corev1.ResourceStorage]; ok && allocated.Cmp(storage) > 0 {
		storage = allocated
	}
	storage.RoundUp(0)
	return storage
}

// devices returns the number of devices that a claim may get, by device class: of alternatives the largest
// number for each class, of a request for all devices the greatest number that a claim can have.
func devices(c *resourcev1.ResourceClaim) map[string]int64 {
	number := func(mode resourcev1.DeviceAllocationMode, count int64) int64 {
		switch mode {
		case resourcev1.DeviceAllocationModeExactCount:
			return count
		case resourcev1.DeviceAllocationModeAll:
			return resourcev1.AllocationResultsMaxSize
		}
		return 0
	}
	all := map[string]int64{}
	for i := range c.Spec.Devices.Requests {
		r := &c.Spec.Devices.Requests[i]
		largest := map[string]int64{}
		for j := range r.FirstAvailable {
			s := &r.FirstAvailable[j]
			largest[s.DeviceClassName] = max(largest[s.DeviceClassName], number(s.AllocationMode, s.Count))
		}
		if e := r.Exactly; e != nil && len(r.FirstAvailable) == 0 {
			largest[e.DeviceClassName] = number(e.AllocationMode, e.Count)
		}
		for class, n := range largest {
			all[class] += n
		}
	}
	return all
}

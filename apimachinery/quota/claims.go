package quota

import (
	"maps"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Claims computes the usage of the ResourceClaims of a namespace, which depends on other objects.
type Claims struct {
	// Classes are the device classes of the cluster.
	Classes []*resourcev1.DeviceClass
	// Pod returns a pod of the namespace, or nil if there is none or it cannot be read: claims are then
	// charged in full.
	Pod func(name string) *corev1.Pod
	// Others returns the claims of the namespace, and false if they cannot be read.
	Others func() ([]*resourcev1.ResourceClaim, bool)
}

// Usage returns that of the function Usage, and what quotas of extended resources count: the devices of each
// class, as the implicit extended resource of the class and as the one that the class names. What a pod is
// charged itself is left out, if the claim has been made for its extended resources.
func (k *Claims) Usage(c *resourcev1.ResourceClaim) corev1.ResourceList {
	used := Usage(resourcev1.GroupVersion.WithResource("resourceclaims").GroupResource().String(), c)
	if pod := k.madeFor(c); pod != nil {
		return k.extend(used, Usage("pods", pod))
	}
	return k.extend(used, nil)
}

// Extend adds to the sum of what the function Usage returns for claims, none of which is for a pod as
// [IsForPod] says, what Usage adds for each of them.
func (k *Claims) Extend(sum corev1.ResourceList) corev1.ResourceList { return k.extend(sum, nil) }

// extend returns used and the extended resources of its devices, without what a pod is charged.
func (k *Claims) extend(used, charged corev1.ResourceList) corev1.ResourceList {
	more := corev1.ResourceList{}
	for name, n := range used {
		if class, ok := strings.CutSuffix(string(name), corev1.ResourceClaimsPerClass); ok {
			more[corev1.ResourceName(corev1.ResourceImplicitExtendedClaimsPerClass+class)] = n
		}
	}
	for _, class := range k.Classes {
		if q, ok := more[corev1.ResourceName(corev1.ResourceImplicitExtendedClaimsPerClass+class.Name)]; ok && class.Spec.ExtendedResourceName != nil {
			name := corev1.ResourceName(corev1.DefaultResourceRequestsPrefix + *class.Spec.ExtendedResourceName)
			q.Add(more[name])
			more[name] = q
		}
	}
	for name, n := range charged {
		if q, ok := more[name]; ok {
			q.Sub(n)
			more[name] = q
		}
	}
	out := maps.Clone(used)
	maps.DeleteFunc(more, func(_ corev1.ResourceName, q resource.Quantity) bool { return q.Sign() <= 0 })
	maps.Copy(out, more)
	return out
}

// IsForPod reports whether a claim says that it has been made for the extended resources of a pod, so that
// its usage depends on the pod.
func IsForPod(c *resourcev1.ResourceClaim) bool { return extendedOwner(c) != nil }

// madeFor returns the pod for whose extended resources the claim has been made; nil if there is none. A pod
// has one such claim: the one in its status or, until that is written, the oldest.
func (k *Claims) madeFor(c *resourcev1.ResourceClaim) *corev1.Pod {
	owner := extendedOwner(c)
	if owner == nil {
		return nil
	}
	pod := k.Pod(owner.Name)
	if pod == nil || pod.UID != owner.UID {
		return nil
	}
	if s := pod.Status.ExtendedResourceClaimStatus; s != nil {
		if s.ResourceClaimName != c.Name {
			return nil
		}
		return pod
	}
	others, ok := k.Others()
	if !ok {
		return nil
	}
	for _, other := range others {
		if o := extendedOwner(other); o == nil || o.UID != pod.UID {
			continue
		}
		if age := other.CreationTimestamp.Compare(c.CreationTimestamp.Time); age < 0 || age == 0 && other.Name < c.Name {
			return nil
		}
	}
	return pod
}

// extendedOwner returns the reference to the pod for whose extended resources a claim says that it has been
// made; nil if it does not.
func extendedOwner(c *resourcev1.ResourceClaim) *metav1.OwnerReference {
	owner := metav1.ControllerOf(c)
	if c.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" || owner == nil || owner.Kind != "Pod" || owner.APIVersion != "v1" {
		return nil
	}
	return owner
}

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

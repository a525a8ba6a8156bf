// Package resourcev1alpha3 holds ResourcePoolStatusRequest (resource.k8s.io/v1alpha3). Being alpha, it is no
// part of api.Scheme(): a server that is to serve it, and a client that is to use it, add it to a scheme of
// their own.
package resourcev1alpha3

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// ResourcePoolStatusRequest requests one count of the devices in the pools of a driver. When its status is
// set it is answered and does not change any more; for newer numbers, create another one.
type ResourcePoolStatusRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Pools to count. Cannot be changed.
	Spec ResourcePoolStatusRequestSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Answer; unset until the pools have been counted, then constant. Populated by the system.
	Status *ResourcePoolStatusRequestStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourcePoolStatusRequestList is a list of ResourcePoolStatusRequest objects.
type ResourcePoolStatusRequestList = metav1.List[*ResourcePoolStatusRequest]

// ResourcePoolStatusRequestSpec selects pools.
type ResourcePoolStatusRequestSpec struct {
	// Name of the driver whose pools are counted, as in spec.driver of its ResourceSlices.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Name of the only pool to count; all pools of the driver if unset. It consists of DNS subdomains
	// separated by slashes.
	PoolName *string `json:"poolName,omitempty" protobuf:"bytes,2,opt,name=poolName"`
	// Greatest number of pools in the status, 1 to 1000. Defaults to 100.
	Limit *int32 `json:"limit,omitempty" default:"100" protobuf:"varint,3,opt,name=limit"`
}

// Bounds of fields of a ResourcePoolStatusRequest.
const (
	// LimitDefault and LimitMax are the default and the maximum of spec.limit.
	LimitDefault int32 = 100
	LimitMax     int32 = 1000
	// MaxConditions is the greatest number of conditions.
	MaxConditions = 10
	// ValidationErrorMaxLength is the greatest length of the validationError of a pool, in bytes.
	ValidationErrorMaxLength = 256
)

// ResourcePoolStatusRequestStatus is the answer to a request.
type ResourcePoolStatusRequestStatus struct {
	// Number of pools that match the request, also of those beyond its limit.
	PoolCount *int32 `json:"poolCount,omitempty" protobuf:"varint,6,opt,name=poolCount" openapi:"required"`
	// Matching pools, sorted by driver and name, as many as spec.limit allows.
	Pools []PoolStatus `json:"pools,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=pools"`
	// Conditions of the request, at most 10. One of Complete and Failed is True.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,3,rep,name=conditions"`
}

// PoolStatus has the numbers of devices of a pool.
type PoolStatus struct {
	// Name of the driver of the pool.
	Driver string `json:"driver,omitempty" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Name of the pool, unique per driver.
	PoolName string `json:"poolName,omitempty" protobuf:"bytes,2,opt,name=poolName" openapi:"required"`
	// Highest generation of the ResourceSlices of the pool, which is the one that was counted.
	Generation int64 `json:"generation" protobuf:"varint,9,opt,name=generation" openapi:"required"`
	// Number of ResourceSlices of that generation. May be unset together with validationError.
	ResourceSliceCount *int32 `json:"resourceSliceCount,omitempty" protobuf:"varint,8,opt,name=resourceSliceCount"`
	// Number of devices in the pool. May be unset together with validationError.
	TotalDevices *int32 `json:"totalDevices,omitempty" protobuf:"varint,4,opt,name=totalDevices"`
	// Number of allocations to claims. May be unset together with validationError.
	AllocatedDevices *int32 `json:"allocatedDevices,omitempty" protobuf:"varint,5,opt,name=allocatedDevices"`
	// Number of devices left: the total without those allocated and unavailable. May be unset together with
	// validationError.
	AvailableDevices *int32 `json:"availableDevices,omitempty" protobuf:"varint,6,opt,name=availableDevices"`
	// Number of devices that are not allocated and cannot be. May be unset together with validationError.
	UnavailableDevices *int32 `json:"unavailableDevices,omitempty" protobuf:"varint,7,opt,name=unavailableDevices"`
	// Name of the node of all devices of the pool; unset if they are not of one node.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,3,opt,name=nodeName"`
	// Why the numbers are unknown, for example because slices of the pool are missing; at most 256 bytes.
	ValidationError *string `json:"validationError,omitempty" protobuf:"bytes,10,opt,name=validationError"`
}

// The types of conditions of a request.
const (
	// Complete is True when the pools have been counted.
	Complete = "Complete"
	// Failed is True when they could not be.
	Failed = "Failed"
)

// Answered returns the condition that ends the request, nil if there is none.
func (r *ResourcePoolStatusRequest) Answered() *metav1.Condition {
	if r.Status == nil {
		return nil
	}
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == Complete || c.Type == Failed {
			return c
		}
	}
	return nil
}

// Package resourcev1 holds dynamic resource allocation (resource.k8s.io/v1).
package resourcev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AllocatedDeviceStatus is the status of an allocated device, as reported by its driver.
type AllocatedDeviceStatus struct {
	// Name of the driver of the device, a DNS subdomain.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Name of the pool of the device.
	Pool string `json:"pool" protobuf:"bytes,2,opt,name=pool" openapi:"required"`
	// Name of the device within its pool.
	Device string `json:"device" protobuf:"bytes,3,opt,name=device" openapi:"required"`
	// Identifier of the share of the device, if it is allocated to several claims; that of the allocation.
	ShareID *string `json:"shareID,omitempty" protobuf:"bytes,7,opt,name=shareID"`
	// Conditions of the device; at most 8.
	Conditions []metav1.Condition `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Arbitrary driver-specific data, a JSON object; at most 10 KiB.
	Data *metav1.RawExtension `json:"data,omitempty" protobuf:"bytes,5,opt,name=data"`
	// Network configuration of the device, if it is a network interface.
	NetworkData *NetworkDeviceData `json:"networkData,omitempty" protobuf:"bytes,6,opt,name=networkData"`
}

// AllocationResult describes what was allocated for a claim.
type AllocationResult struct {
	// Allocated devices and their configuration.
	Devices DeviceAllocationResult `json:"devices,omitempty" protobuf:"bytes,1,opt,name=devices"`
	// Nodes from which the devices are accessible; all nodes if unset.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,3,opt,name=nodeSelector"`
	// When the devices were allocated; set only if a device has binding conditions.
	AllocationTimestamp *metav1.Time `json:"allocationTimestamp,omitempty" protobuf:"bytes,5,opt,name=allocationTimestamp"`
}

// CELDeviceSelector selects devices by a CEL expression.
type CELDeviceSelector struct {
	// CEL expression that must evaluate to true for a device to match; at most 10 KiB. It can use
	// device.driver, device.attributes, device.capacity and device.allowMultipleAllocations; an evaluation
	// error aborts the allocation.
	Expression string `json:"expression" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// CapacityRequestPolicy describes which amounts of a capacity can be requested; at most one of validValues
// and validRange is set.
type CapacityRequestPolicy struct {
	// Amount consumed by a request that does not specify one; must be allowed by validValues or validRange.
	Default *resource.Quantity `json:"default" protobuf:"bytes,1,opt,name=default"`
	// Amounts that can be consumed, in ascending order; at most 10. A request is rounded up to the next one.
	ValidValues []resource.Quantity `json:"validValues,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=validValues"`
	// Range of the amounts that can be consumed.
	ValidRange *CapacityRequestPolicyRange `json:"validRange,omitempty" protobuf:"bytes,4,opt,name=validRange"`
}

// CapacityRequestPolicyRange is a range of amounts that can be requested.
type CapacityRequestPolicyRange struct {
	// Minimum amount; a smaller request is rounded up to it.
	Min *resource.Quantity `json:"min,omitempty" protobuf:"bytes,1,opt,name=min" openapi:"required"`
	// Maximum amount; a larger request cannot be satisfied by the device. Limited only by the capacity if
	// unset.
	Max *resource.Quantity `json:"max,omitempty" protobuf:"bytes,2,opt,name=max"`
	// Step of the amounts; a request is rounded up to min plus a multiple of it. Any amount is allowed if
	// unset.
	Step *resource.Quantity `json:"step,omitempty" protobuf:"bytes,3,opt,name=step"`
}

// CapacityRequirements describes the capacity required of a device.
type CapacityRequirements struct {
	// Required amount of each capacity; a device that lacks one, or has less, does not match.
	Requests map[QualifiedName]resource.Quantity `json:"requests,omitempty" protobuf:"bytes,1,rep,name=requests"`
}

// Counter is an amount of a resource that devices share.
type Counter struct {
	// Available or consumed amount.
	Value resource.Quantity `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
}

// CounterSet is a named set of counters from which devices can consume.
type CounterSet struct {
	// Name of the set, unique within the pool.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Counters by name, which is a DNS label; at most 32.
	Counters map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=" openapi:"required"`
}

// Device describes a device of a pool and its properties.
type Device struct {
	// Name of the device, unique within the pool; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Attributes of the device, for selectors and constraints; at most 32 together with capacity.
	Attributes map[QualifiedName]DeviceAttribute `json:"attributes,omitempty" protobuf:"bytes,2,rep,name=attributes"`
	// Capacities of the device by name; a name without a domain is in the domain of the driver.
	Capacity map[QualifiedName]DeviceCapacity `json:"capacity,omitempty" protobuf:"bytes,3,rep,name=capacity"`
	// Counters of the pool's sharedCounters that the device consumes while it is allocated, of at most 2
	// sets.
	ConsumesCounters []DeviceCounterConsumption `json:"consumesCounters,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=consumesCounters"`
	// Name of the node that has access to the device; only with perDeviceNodeSelection.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,5,opt,name=nodeName"`
	// Selects the nodes that have access to the device, with a single term; only with perDeviceNodeSelection.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,6,opt,name=nodeSelector"`
	// Whether all nodes have access to the device; only with perDeviceNodeSelection.
	AllNodes *bool `json:"allNodes,omitempty" protobuf:"varint,7,opt,name=allNodes"`
	// Taints of the device, which claims must tolerate; at most 16.
	Taints []DeviceTaint `json:"taints,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=taints"`
	// Whether an allocation of the device limits the claim to the node chosen for its pod.
	BindsToNode *bool `json:"bindsToNode,omitempty" protobuf:"varint,9,opt,name=bindsToNode"`
	// Types of conditions that must be true in the status of the device before the pod is bound; at most 4.
	BindingConditions []string `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=bindingConditions"`
	// Types of conditions of which one being true makes the binding fail, so that the devices are
	// deallocated; at most 4.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,11,rep,name=bindingFailureConditions"`
	// Whether the device can be allocated to several claims or requests, each consuming some of its capacity.
	AllowMultipleAllocations *bool `json:"allowMultipleAllocations,omitempty" protobuf:"varint,12,opt,name=allowMultipleAllocations"`
	// Allocatable resources of the node, such as cpu and memory, that the device consumes.
	NodeAllocatableResourceMappings map[corev1.ResourceName]NodeAllocatableResourceMapping `json:"nodeAllocatableResourceMappings,omitempty" protobuf:"bytes,13,rep,name=nodeAllocatableResourceMappings"`
}

// DeviceAllocationConfiguration is configuration that applies to allocated devices.
type DeviceAllocationConfiguration struct {
	// Origin of the configuration: FromClass or FromClaim.
	Source AllocationConfigSource `json:"source" protobuf:"bytes,1,opt,name=" openapi:"required,enum=FromClaim|FromClass"`
	// Requests that the configuration applies to, a subrequest as REQUEST/SUBREQUEST; all requests if empty.
	Requests            []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,3,opt,name="`
}

// DeviceAllocationResult lists the devices allocated for a claim.
type DeviceAllocationResult struct {
	// Allocated devices; a request may have several.
	Results []DeviceRequestAllocationResult `json:"results,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=results"`
	// Configuration from classes and claim, classes first; a later entry for the same driver takes
	// precedence.
	Config []DeviceAllocationConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
}

// DeviceAttribute is the value of an attribute of a device; exactly one of its fields is set.
type DeviceAttribute struct {
	// Integer value.
	IntValue *int64 `json:"int,omitempty" protobuf:"varint,2,opt,name=int"`
	// Boolean value.
	BoolValue *bool `json:"bool,omitempty" protobuf:"varint,3,opt,name=bool"`
	// String value; at most 64 bytes.
	StringValue *string `json:"string,omitempty" protobuf:"bytes,4,opt,name=string"`
	// Semantic version, according to semver.org 2.0.0; at most 64 bytes.
	VersionValue *string `json:"version,omitempty" protobuf:"bytes,5,opt,name=version"`
	// List of integers.
	IntValues []int64 `json:"ints,omitempty" listType:"atomic" protobuf:"varint,6,rep,name=ints"`
	// List of booleans.
	BoolValues []bool `json:"bools,omitempty" listType:"atomic" protobuf:"varint,7,rep,name=bools"`
	// List of strings, each at most 64 bytes.
	StringValues []string `json:"strings,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=strings"`
	// List of semantic versions, each at most 64 bytes.
	VersionValues []string `json:"versions,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=versions"`
}

// DeviceCapacity describes one capacity of a device.
type DeviceCapacity struct {
	// Total amount; if the device is allocated several times, the amounts consumed do not exceed it.
	Value resource.Quantity `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
	// Which amounts can be requested; only for devices that allow multiple allocations.
	RequestPolicy *CapacityRequestPolicy `json:"requestPolicy,omitempty" protobuf:"bytes,2,opt,name=requestPolicy"`
}

// DeviceClaim describes the devices that a claim requests.
type DeviceClaim struct {
	// Requests for devices; either all or none of them are satisfied. At most 32.
	Requests []DeviceRequest `json:"requests" listType:"atomic" protobuf:"bytes,1,rep,name="`
	// Constraints that the devices of different requests must satisfy together.
	Constraints []DeviceConstraint `json:"constraints,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=constraints"`
	// Configuration for the drivers; it does not affect the allocation.
	Config []DeviceClaimConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=config"`
}

// DeviceClaimConfiguration is configuration for the devices of some requests of a claim.
type DeviceClaimConfiguration struct {
	// Requests that the configuration applies to, a subrequest as REQUEST/SUBREQUEST; all requests if empty.
	Requests            []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,2,opt,name="`
}

// DeviceClass describes a class of devices that claims can request.
type DeviceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Selectors and configuration of the class.
	Spec DeviceClassSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// DeviceClassConfiguration is configuration for all devices allocated through a class.
type DeviceClassConfiguration struct {
	DeviceConfiguration `json:",inline" protobuf:"bytes,1,opt,name=deviceConfiguration"`
}

// DeviceClassSpec describes a class of devices.
type DeviceClassSpec struct {
	// Selectors that a device of the class must all match.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=selectors"`
	// Configuration for the drivers of devices allocated through the class.
	Config []DeviceClassConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
	// Name of an extended resource; pods that request it are allocated devices of this class. Of several
	// classes with the name, the one created last applies, then the first by name.
	ExtendedResourceName *string `json:"extendedResourceName,omitempty" protobuf:"bytes,4,opt,name=extendedResourceName"`
}

// DeviceConfiguration is configuration for a driver.
type DeviceConfiguration struct {
	// Driver-specific configuration.
	Opaque *OpaqueDeviceConfiguration `json:"opaque,omitempty" protobuf:"bytes,1,opt,name=opaque"`
}

// DeviceConstraint is a constraint on the devices of several requests; exactly one of matchAttribute and
// distinctAttribute is set.
type DeviceConstraint struct {
	// Requests that the constraint applies to, a subrequest as REQUEST/SUBREQUEST; all requests of the claim
	// if empty.
	Requests []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	// Fully qualified name of an attribute that must have the same value on all the devices; a device without
	// it does not match.
	MatchAttribute *FullyQualifiedName `json:"matchAttribute,omitempty" protobuf:"bytes,2,opt,name=matchAttribute"`
	// Fully qualified name of an attribute that must have a different value on each of the devices.
	DistinctAttribute *FullyQualifiedName `json:"distinctAttribute,omitempty" protobuf:"bytes,3,opt,name=distinctAttribute"`
}

// DeviceCounterConsumption describes what a device consumes from a counter set.
type DeviceCounterConsumption struct {
	// Name of the set in sharedCounters.
	CounterSet string `json:"counterSet" protobuf:"bytes,1,opt,name=counterSet" openapi:"required"`
	// Consumed amounts by counter.
	Counters map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=counters" openapi:"required"`
}

// DeviceRequest is a request for devices; exactly one of exactly and firstAvailable is set.
type DeviceRequest struct {
	// Name of the request, used by constraints, configuration and containers; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Request without alternatives.
	Exactly *ExactDeviceRequest `json:"exactly,omitempty" protobuf:"bytes,2,opt,name="`
	// Alternatives in order of preference; the first that can be satisfied is chosen.
	FirstAvailable []DeviceSubRequest `json:"firstAvailable,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
}

// DeviceRequestAllocationResult describes a device allocated for a request.
type DeviceRequestAllocationResult struct {
	// Name of the request, or REQUEST/SUBREQUEST for an alternative of firstAvailable.
	Request string `json:"request" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the driver that prepares the device on the node.
	Driver string `json:"driver" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the pool of the device.
	Pool string `json:"pool" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Name of the device within its pool.
	Device string `json:"device" protobuf:"bytes,4,opt,name=" openapi:"required"`
	// Whether the device was allocated for administrative access, regardless of other allocations.
	AdminAccess *bool `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	// Tolerations of the request when the device was allocated; they apply to taints added later.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// Binding conditions of the device when it was allocated.
	BindingConditions []string `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=bindingConditions"`
	// Binding failure conditions of the device when it was allocated.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=bindingFailureConditions"`
	// Identifier of this share of the device, if it can be allocated several times.
	ShareID *types.UID `json:"shareID,omitempty" protobuf:"bytes,9,opt,name=shareID"`
	// Capacity of the device that this share consumes, rounded according to its request policy.
	ConsumedCapacity map[QualifiedName]resource.Quantity `json:"consumedCapacity,omitempty" protobuf:"bytes,10,rep,name=consumedCapacity"`
}

// DeviceSelector selects devices.
type DeviceSelector struct {
	// CEL expression that devices must match.
	CEL *CELDeviceSelector `json:"cel,omitempty" protobuf:"bytes,1,opt,name=cel"`
}

// DeviceSubRequest is one of the alternatives of a request.
type DeviceSubRequest struct {
	// Name of the alternative, unique within the request; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Name of the device class; required.
	DeviceClassName string `json:"deviceClassName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Selectors that a device must match in addition to those of its class.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
	// How the number of devices is determined: ExactCount (the default) by count, All to allocate all
	// matching devices, which fails if one of them is allocated already.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" protobuf:"bytes,4,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	// Number of devices, if allocationMode is ExactCount; defaults to 1.
	Count int64 `json:"count,omitempty" protobuf:"varint,5,opt,name=count"`
	// Taints of devices that the alternative tolerates; at most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// Capacity required of each device.
	Capacity *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// DeviceTaint is a taint of a device. Claims that do not tolerate it cannot be allocated the device.
type DeviceTaint struct {
	// Key of the taint, a label key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Value of the taint, a label value.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// Effect on claims that do not tolerate the taint: None, NoSchedule to prevent allocation, or NoExecute
	// to evict pods that use the device, too.
	Effect DeviceTaintEffect `json:"effect" protobuf:"bytes,3,opt,name=" openapi:"required,enum=NoExecute|NoSchedule|None"`
	// When the taint was added, from which tolerationSeconds is counted; set by the server if unset.
	TimeAdded *metav1.Time `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// DeviceToleration tolerates taints of devices.
type DeviceToleration struct {
	// Key of the tolerated taints; if empty, operator must be Exists and all keys match.
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// Relation of the taint's value to value: Equal (the default), or Exists to match any value.
	Operator DeviceTolerationOperator `json:"operator,omitempty" default:"Equal" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists"`
	// Value of the tolerated taints; must be empty if operator is Exists.
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// Effect of the tolerated taints: NoSchedule or NoExecute; all effects if empty.
	Effect DeviceTaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|None"`
	// Seconds a NoExecute taint is tolerated; forever if unset, not at all if zero or negative.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// Tolerates reports whether the toleration matches the taint, for however long. Whether the effect matters is
// for the caller to say.
func (t *DeviceToleration) Tolerates(taint *DeviceTaint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case DeviceTolerationOpExists:
		return true
	case "", DeviceTolerationOpEqual:
		return t.Value == taint.Value
	}
	return false
}

// ExactDeviceRequest is a request for devices of one class.
type ExactDeviceRequest struct {
	// Name of the device class; required.
	DeviceClassName string `json:"deviceClassName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Selectors that a device must match in addition to those of its class.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
	// How the number of devices is determined: ExactCount (the default) by count, All to allocate all
	// matching devices, which fails if one of them is allocated already.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" protobuf:"bytes,3,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	// Number of devices, if allocationMode is ExactCount; defaults to 1.
	Count int64 `json:"count,omitempty" protobuf:"varint,4,opt,name=count"`
	// Request administrative access, regardless of other allocations; allowed only in namespaces labelled for
	// it.
	AdminAccess *bool `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	// Taints of devices that the request tolerates; at most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// Capacity required of each device.
	Capacity *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// NetworkDeviceData is the configuration of an allocated network interface.
type NetworkDeviceData struct {
	// Name of the interface in the pod; at most 256 bytes.
	InterfaceName string `json:"interfaceName,omitempty" protobuf:"bytes,1,opt,name=interfaceName"`
	// IP addresses of the interface in CIDR notation; at most 16.
	IPs []string `json:"ips,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ips"`
	// Hardware address of the interface, such as its MAC address; at most 128 bytes.
	HardwareAddress string `json:"hardwareAddress,omitempty" protobuf:"bytes,3,opt,name=hardwareAddress"`
}

// NodeAllocatableResourceMapping maps a device to the allocatable node resource that it consumes.
type NodeAllocatableResourceMapping struct {
	// Capacity of the device whose consumed amount is counted; the device counts as one if unset.
	CapacityKey *QualifiedName `json:"capacityKey,omitempty" protobuf:"bytes,1,opt,name=capacityKey"`
	// Amount of the node resource per unit; defaults to 1.
	AllocationMultiplier *resource.Quantity `json:"allocationMultiplier,omitempty" protobuf:"bytes,2,opt,name=allocationMultiplier"`
}

// OpaqueDeviceConfiguration is driver-specific configuration.
type OpaqueDeviceConfiguration struct {
	// Name of the driver that the configuration is intended for.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Arbitrary JSON object, which should have apiVersion and kind; at most 10 KiB.
	Parameters metav1.RawExtension `json:"parameters" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaim requests devices and records their allocation.
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requested devices. Cannot be changed.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ResourceClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceClaimConsumerReference identifies a consumer of a claim, usually a pod.
type ResourceClaimConsumerReference struct {
	// API group of the consumer; empty for the core group.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=apiGroup"`
	// Plural name of the consumer's resource, such as pods.
	Resource string `json:"resource" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Name of the consumer, in the namespace of the claim.
	Name string `json:"name" protobuf:"bytes,4,opt,name=" openapi:"required"`
	// UID of the consumer; another object of the same name does not inherit the reservation.
	UID types.UID `json:"uid" protobuf:"bytes,5,opt,name=" openapi:"required"`
}

// ResourceClaimSpec describes what is requested; it cannot be changed.
type ResourceClaimSpec struct {
	// Requested devices.
	Devices DeviceClaim `json:"devices" protobuf:"bytes,1,opt,name="`
}

// ResourceClaimStatus is the allocation of a claim and its use.
type ResourceClaimStatus struct {
	// Allocated devices; unset while nothing is allocated.
	Allocation *AllocationResult `json:"allocation,omitempty" protobuf:"bytes,1,opt,name=allocation"`
	// Consumers that may use the claim, at most 256; a pod can start only if it is listed.
	ReservedFor []ResourceClaimConsumerReference `json:"reservedFor,omitempty" patchStrategy:"merge" patchMergeKey:"uid" listType:"map" listMapKey:"uid" protobuf:"bytes,2,rep,name=reservedFor"`
	// Status of the allocated devices, as reported by their drivers.
	Devices []AllocatedDeviceStatus `json:"devices,omitempty" listType:"map" listMapKey:"driver,device,pool,shareID" protobuf:"bytes,4,rep,name=devices"`
}

// ResourceClaimTemplate is the template of claims that are created for pods.
type ResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Metadata and spec of the claims. Cannot be changed.
	Spec ResourceClaimTemplateSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaimTemplateSpec holds the metadata and spec of the claims to create.
type ResourceClaimTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Devices that each claim requests.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourcePool describes the pool that a slice belongs to.
type ResourcePool struct {
	// Name of the pool, unique for the driver; often the name of the node.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Generation of the pool, incremented when it changes. Slices of older generations are ignored.
	Generation int64 `json:"generation" protobuf:"varint,2,opt,name=" openapi:"required"`
	// Number of slices of this generation in the pool; no devices are allocated until all of them exist.
	ResourceSliceCount int64 `json:"resourceSliceCount" protobuf:"varint,3,opt,name=" openapi:"required"`
}

// ResourceSlice publishes devices of a pool that a driver manages.
type ResourceSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Devices of the slice and the nodes that have access to them.
	Spec ResourceSliceSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceSliceSpec describes the devices of a slice. Exactly one of nodeName, nodeSelector, allNodes and
// perDeviceNodeSelection is set.
type ResourceSliceSpec struct {
	// Name of the driver that publishes the slice. Cannot be changed.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Pool that the devices belong to.
	Pool ResourcePool `json:"pool" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Name of the node that has access to the devices. Cannot be changed.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,3,opt,name=nodeName"`
	// Selects the nodes that have access to the devices, with a single term.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,4,opt,name=nodeSelector"`
	// Whether all nodes have access to the devices.
	AllNodes *bool `json:"allNodes,omitempty" protobuf:"varint,5,opt,name=allNodes"`
	// Devices of the slice; at most 128, or 64 if any of them has taints or consumes counters.
	Devices []Device `json:"devices,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name="`
	// Whether each device specifies the nodes that have access to it.
	PerDeviceNodeSelection *bool `json:"perDeviceNodeSelection,omitempty" protobuf:"varint,7,opt,name="`
	// Counters that devices of the pool share; a slice that has them must not have devices.
	SharedCounters []CounterSet `json:"sharedCounters,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name="`
}

// DeviceClassList is a list of DeviceClass objects.
type DeviceClassList = metav1.List[*DeviceClass]

// ResourceClaimList is a list of ResourceClaim objects.
type ResourceClaimList = metav1.List[*ResourceClaim]

// ResourceClaimTemplateList is a list of ResourceClaimTemplate objects.
type ResourceClaimTemplateList = metav1.List[*ResourceClaimTemplate]

// ResourceSliceList is a list of ResourceSlice objects.
type ResourceSliceList = metav1.List[*ResourceSlice]

// AllocationConfigSource enumerates the values of DeviceAllocationConfiguration.Source.
type AllocationConfigSource string

const (
	AllocationConfigSourceClaim AllocationConfigSource = "FromClaim"
	AllocationConfigSourceClass AllocationConfigSource = "FromClass"
)

// DeviceAllocationMode enumerates the values of DeviceSubRequest.AllocationMode and
// ExactDeviceRequest.AllocationMode.
type DeviceAllocationMode string

const (
	DeviceAllocationModeAll        DeviceAllocationMode = "All"
	DeviceAllocationModeExactCount DeviceAllocationMode = "ExactCount"
)

// DeviceTaintEffect enumerates the values of DeviceTaint.Effect and DeviceToleration.Effect.
type DeviceTaintEffect string

const (
	DeviceTaintEffectNoExecute  DeviceTaintEffect = "NoExecute"
	DeviceTaintEffectNoSchedule DeviceTaintEffect = "NoSchedule"
	DeviceTaintEffectNone       DeviceTaintEffect = "None"
)

// DeviceTolerationOperator enumerates the values of DeviceToleration.Operator.
type DeviceTolerationOperator string

const (
	DeviceTolerationOpEqual  DeviceTolerationOperator = "Equal"
	DeviceTolerationOpExists DeviceTolerationOperator = "Exists"
)

// FullyQualifiedName is the type of DeviceConstraint.MatchAttribute and DeviceConstraint.DistinctAttribute.
type FullyQualifiedName string

// QualifiedName is the type of CapacityRequirements.Requests, Device.Attributes and other fields.
type QualifiedName string

// Well-known names and values.
const (
	AllocatedDeviceStatusDataMaxLength                  = 10240
	AllocatedDeviceStatusMaxConditions                  = 8
	NetworkDeviceDataHardwareAddressMaxLength           = 128
	NetworkDeviceDataInterfaceNameMaxLength             = 256
	NetworkDeviceDataMaxIPs                             = 16
	PoolNameMaxLength                                   = 253
	ResourceDeviceClassPrefix                           = "deviceclass.resource.kubernetes.io/"
	AllocationResultsMaxSize                            = 32
	BindingConditionsMaxSize                            = 4
	BindingFailureConditionsMaxSize                     = 4
	CELSelectorExpressionMaxCost                        = 1000000
	CELSelectorExpressionMaxLength                      = 10240
	DeviceAttributeMaxValueLength                       = 64
	DeviceConfigMaxSize                                 = 32
	DeviceConstraintsMaxSize                            = 32
	DeviceMaxDomainLength                               = 63
	DeviceMaxIDLength                                   = 32
	DeviceRequestsMaxSize                               = 32
	DeviceSelectorsMaxSize                              = 32
	DeviceTaintsMaxLength                               = 16
	DeviceTolerationsMaxLength                          = 16
	DriverNameMaxLength                                 = 63
	FirstAvailableDeviceRequestMaxSize                  = 8
	OpaqueParametersMaxLength                           = 10240
	ResourceClaimReservedForMaxSize                     = 256
	ResourceSliceMaxAttributeValuesPerDevice            = 48
	ResourceSliceMaxAttributesAndCapacitiesPerDevice    = 32
	ResourceSliceMaxCounterSets                         = 8
	ResourceSliceMaxCountersPerCounterSet               = 32
	ResourceSliceMaxCountersPerDeviceCounterConsumption = 32
	ResourceSliceMaxDeviceCounterConsumptionsPerDevice  = 2
	ResourceSliceMaxDevices                             = 128
	ResourceSliceMaxDevicesWithAdvancedFeatures         = 64
	ResourceSliceMaxSharedCapacity                      = 128
	DRAAdminNamespaceLabelKey                           = "resource.kubernetes.io/admin-access"
	ExtendedResourceClaimAnnotation                     = "resource.kubernetes.io/extended-resource-claim"
	Finalizer                                           = "resource.kubernetes.io/delete-protection"
	PodResourceClaimAnnotation                          = "resource.kubernetes.io/pod-claim-name"
	ResourceSliceSelectorDriver                         = "spec.driver"
	ResourceSliceSelectorNodeName                       = "spec.nodeName"
	SubresourceBinding                                  = "binding"
	SubresourceDriver                                   = "driver"
	VerbPrefixArbitraryNode                             = "arbitrary-node:"
	VerbPrefixAssociatedNode                            = "associated-node:"
)

// Package resourcev1 holds dynamic resource allocation (resource.k8s.io/v1).
package resourcev1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// AllocatedDeviceStatus is what a driver says about a device in use.
type AllocatedDeviceStatus struct {
	// Driver of the device, as in the allocation; a DNS subdomain that the driver's vendor owns.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	// Pool of the device; with driver and device it names one device of the cluster.
	Pool string `json:"pool" protobuf:"bytes,2,opt,name=pool" openapi:"required"`
	// Name of the device within its pool.
	Device string `json:"device" protobuf:"bytes,3,opt,name=device" openapi:"required"`
	// Which share of a device that several claims use; set exactly when the allocation has one.
	ShareID *string `json:"shareID,omitempty" protobuf:"bytes,7,opt,name=shareID"`
	// What the driver found out about the device; at most 8, by type.
	Conditions []metav1.Condition `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	// Any JSON object of the driver's choice; at most 10 KiB.
	Data *metav1.RawExtension `json:"data,omitempty" protobuf:"bytes,5,opt,name=data"`
	// Addresses the device got; for network interfaces.
	NetworkData *NetworkDeviceData `json:"networkData,omitempty" protobuf:"bytes,6,opt,name=networkData"`
}

// AllocationResult is what was allocated for a claim.
type AllocationResult struct {
	// What was chosen for each request.
	Devices DeviceAllocationResult `json:"devices,omitempty" protobuf:"bytes,1,opt,name=devices"`
	// Nodes from which the devices can be used; all nodes unless set.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,3,opt,name=nodeSelector"`
	// When the scheduler chose; kept only with device binding conditions.
	AllocationTimestamp *metav1.Time `json:"allocationTimestamp,omitempty" protobuf:"bytes,5,opt,name=allocationTimestamp"`
}

// CELDeviceSelector selects devices by an expression.
type CELDeviceSelector struct {
	// CEL that must be true for the device; at most 10 KiB. It sees device.driver, device.attributes,
	// device.capacity and device.allowMultipleAllocations; an error while it runs ends the attempt to
	// allocate.
	Expression string `json:"expression" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// CapacityRequestPolicy is how much of a capacity can be asked for.
type CapacityRequestPolicy struct {
	// Amount taken by a request that does not say how much; it satisfies validValues or validRange.
	Default *resource.Quantity `json:"default" protobuf:"bytes,1,opt,name=default"`
	// Amounts that can be had, rising, at most 10; a request gets the next one up. Excludes validRange.
	ValidValues []resource.Quantity `json:"validValues,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=validValues"`
	// Bounds and step of what can be had. Excludes validValues.
	ValidRange *CapacityRequestPolicyRange `json:"validRange,omitempty" protobuf:"bytes,4,opt,name=validRange"`
}

// CapacityRequestPolicyRange is a range of amounts, with steps.
type CapacityRequestPolicyRange struct {
	// Least amount; a smaller request gets this much.
	Min *resource.Quantity `json:"min,omitempty" protobuf:"bytes,1,opt,name=min" openapi:"required"`
	// Greatest amount; a larger request is refused by this device. No bound but the capacity unless set.
	Max *resource.Quantity `json:"max,omitempty" protobuf:"bytes,2,opt,name=max"`
	// Requests are rounded up to min plus a multiple of this; any amount from min up unless set.
	Step *resource.Quantity `json:"step,omitempty" protobuf:"bytes,3,opt,name=step"`
}

// CapacityRequirements is how much of a device's capacity is asked for.
type CapacityRequirements struct {
	// Least amount of each capacity; a device without the capacity, or with less, does not fit.
	Requests map[QualifiedName]resource.Quantity `json:"requests,omitempty" protobuf:"bytes,1,rep,name=requests"`
}

// Counter is an amount that devices share.
type Counter struct {
	// How much there is, or how much is taken.
	Value resource.Quantity `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
}

// CounterSet is amounts that devices share.
type CounterSet struct {
	// How devices refer to the set; unique within the pool.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// The amounts, by name; at most 32 over all sets of a slice.
	Counters map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=" openapi:"required"`
}

// Device is one device of a pool.
type Device struct {
	// Unique within the pool; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Properties that selectors and constraints compare; together with capacity at most 32.
	Attributes map[QualifiedName]DeviceAttribute `json:"attributes,omitempty" protobuf:"bytes,2,rep,name=attributes"`
	// Amounts the device has, by name; names without a domain are in the driver's.
	Capacity map[QualifiedName]DeviceCapacity `json:"capacity,omitempty" protobuf:"bytes,3,rep,name=capacity"`
	// What the device takes from sharedCounters of its pool while it is allocated.
	ConsumesCounters []DeviceCounterConsumption `json:"consumesCounters,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=consumesCounters"`
	// The one node that has the device; only with perDeviceNodeSelection.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,5,opt,name=nodeName"`
	// Nodes that can reach the device, one term; only with perDeviceNodeSelection.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,6,opt,name=nodeSelector"`
	// Every node can reach the device; only with perDeviceNodeSelection.
	AllNodes *bool `json:"allNodes,omitempty" protobuf:"varint,7,opt,name=allNodes"`
	// Keep away claims without a matching toleration; at most 16 over a device.
	Taints []DeviceTaint `json:"taints,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=taints"`
	// Once allocated, the claim can be used only on the node its pod was scheduled to.
	BindsToNode *bool `json:"bindsToNode,omitempty" protobuf:"varint,9,opt,name=bindsToNode"`
	// Condition types that must be true in the claim's status before the pod is bound; at most 4.
	BindingConditions []string `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=bindingConditions"`
	// Condition types of which one true gives the allocation up; at most 4.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,11,rep,name=bindingFailureConditions"`
	// Several claims can hold the device at once, each with its share of the capacity.
	AllowMultipleAllocations *bool `json:"allowMultipleAllocations,omitempty" protobuf:"varint,12,opt,name=allowMultipleAllocations"`
	// What using the device takes from the node's cpu, memory and other allocatable resources.
	NodeAllocatableResourceMappings map[corev1.ResourceName]NodeAllocatableResourceMapping `json:"nodeAllocatableResourceMappings,omitempty" protobuf:"bytes,13,rep,name=nodeAllocatableResourceMappings"`
}

// DeviceAllocationConfiguration is configuration that goes with an allocation.
type DeviceAllocationConfiguration struct {
	// FromClass or FromClaim: whose configuration this was.
	Source AllocationConfigSource `json:"source" protobuf:"bytes,1,opt,name=" openapi:"required,enum=FromClaim|FromClass"`
	// Requests of the claim it applies to, a subrequest as request/subrequest; all of them if empty.
	Requests            []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,3,opt,name="`
}

// DeviceAllocationResult is the devices allocated for a claim.
type DeviceAllocationResult struct {
	// One entry per device; several for a request that got several.
	Results []DeviceRequestAllocationResult `json:"results,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=results"`
	// Configuration of class and claim together, class first; a later entry for the same driver wins.
	Config []DeviceAllocationConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
}

// DeviceAttribute is a property of a device; one of its fields is set.
type DeviceAttribute struct {
	// A number.
	IntValue *int64 `json:"int,omitempty" protobuf:"varint,2,opt,name=int"`
	// True or false.
	BoolValue *bool `json:"bool,omitempty" protobuf:"varint,3,opt,name=bool"`
	// A text; at most 64 bytes.
	StringValue *string `json:"string,omitempty" protobuf:"bytes,4,opt,name=string"`
	// A semantic version 2.0.0; at most 64 bytes.
	VersionValue *string `json:"version,omitempty" protobuf:"bytes,5,opt,name=version"`
	// Several numbers.
	IntValues []int64 `json:"ints,omitempty" listType:"atomic" protobuf:"varint,6,rep,name=ints"`
	// Several truth values.
	BoolValues []bool `json:"bools,omitempty" listType:"atomic" protobuf:"varint,7,rep,name=bools"`
	// Several texts; each at most 64 bytes.
	StringValues []string `json:"strings,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=strings"`
	// Several semantic versions; each at most 64 bytes.
	VersionValues []string `json:"versions,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=versions"`
}

// DeviceCapacity is an amount a device has.
type DeviceCapacity struct {
	// The whole amount; shares of it add up to at most this.
	Value resource.Quantity `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
	// How requests are rounded and bounded; only for devices that allow several allocations.
	RequestPolicy *CapacityRequestPolicy `json:"requestPolicy,omitempty" protobuf:"bytes,2,opt,name=requestPolicy"`
}

// DeviceClaim is the devices a claim asks for.
type DeviceClaim struct {
	// Devices to allocate, at most 32; all of them or none are.
	Requests []DeviceRequest `json:"requests" listType:"atomic" protobuf:"bytes,1,rep,name="`
	// Conditions between the devices of different requests.
	Constraints []DeviceConstraint `json:"constraints,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=constraints"`
	// Parameters handed to the drivers; they have no say in what is allocated.
	Config []DeviceClaimConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=config"`
}

// DeviceClaimConfiguration is configuration for requests of a claim.
type DeviceClaimConfiguration struct {
	// Requests it applies to, a subrequest as request/subrequest; all of them if empty.
	Requests            []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,2,opt,name="`
}

// DeviceClass is a kind of devices, by selectors and configuration.
type DeviceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which devices are of the class, and their configuration.
	Spec DeviceClassSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// DeviceClassConfiguration is configuration for all devices of a class.
type DeviceClassConfiguration struct {
	DeviceConfiguration `json:",inline" protobuf:"bytes,1,opt,name=deviceConfiguration"`
}

// DeviceClassSpec is what devices a class has.
type DeviceClassSpec struct {
	// All of them must hold for a device to be of this class.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=selectors"`
	// Parameters handed to the drivers of devices that are allocated through this class.
	Config []DeviceClassConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
	// Pods that ask for this extended resource get devices of this class.
	ExtendedResourceName *string `json:"extendedResourceName,omitempty" protobuf:"bytes,4,opt,name=extendedResourceName"`
}

// DeviceConfiguration is configuration for a driver.
type DeviceConfiguration struct {
	// Parameters that are not looked at on the way to the driver.
	Opaque *OpaqueDeviceConfiguration `json:"opaque,omitempty" protobuf:"bytes,1,opt,name=opaque"`
}

// DeviceConstraint is what devices of several requests must have in common, or not.
type DeviceConstraint struct {
	// Requests it ties together, a subrequest as request/subrequest; all of the claim if empty.
	Requests []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	// Attribute, with its domain, that has the same value on all the devices; one that lacks it does not fit.
	MatchAttribute *FullyQualifiedName `json:"matchAttribute,omitempty" protobuf:"bytes,2,opt,name=matchAttribute"`
	// Attribute, with its domain, that has a different value on each of the devices.
	DistinctAttribute *FullyQualifiedName `json:"distinctAttribute,omitempty" protobuf:"bytes,3,opt,name=distinctAttribute"`
}

// DeviceCounterConsumption is what a device takes from shared amounts.
type DeviceCounterConsumption struct {
	// Name of the set in the pool's sharedCounters.
	CounterSet string `json:"counterSet" protobuf:"bytes,1,opt,name=counterSet" openapi:"required"`
	// How much is taken of each counter of the set.
	Counters map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=counters" openapi:"required"`
}

// DeviceRequest asks for devices: exactly some, or the first of several that can be had.
type DeviceRequest struct {
	// How constraints, configuration and containers refer to the request; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// The request itself. Excludes firstAvailable.
	Exactly *ExactDeviceRequest `json:"exactly,omitempty" protobuf:"bytes,2,opt,name="`
	// Ways to meet the request, best first; the first that can be had is taken. Excludes exactly.
	FirstAvailable []DeviceSubRequest `json:"firstAvailable,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
}

// DeviceRequestAllocationResult is one device allocated for a request.
type DeviceRequestAllocationResult struct {
	// The request it is for; request/subrequest if it was one of firstAvailable.
	Request string `json:"request" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Driver that prepares the device on the node.
	Driver string `json:"driver" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Pool of the device.
	Pool string `json:"pool" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Name of the device within its pool.
	Device string `json:"device" protobuf:"bytes,4,opt,name=" openapi:"required"`
	// Allocated for monitoring, beside whoever uses the device.
	AdminAccess *bool `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	// Tolerations of the request at the time, for evictions by taints that come later.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// Copied from the device: what must be true before the pod is bound.
	BindingConditions []string `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=bindingConditions"`
	// Copied from the device: what gives the allocation up.
	BindingFailureConditions []string `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=bindingFailureConditions"`
	// Tells apart the shares of one device that several claims hold.
	ShareID *types.UID `json:"shareID,omitempty" protobuf:"bytes,9,opt,name=shareID"`
	// How much of the device's capacity this share takes, rounded as its policy says.
	ConsumedCapacity map[QualifiedName]resource.Quantity `json:"consumedCapacity,omitempty" protobuf:"bytes,10,rep,name=consumedCapacity"`
}

// DeviceSelector selects devices.
type DeviceSelector struct {
	// The expression that decides.
	CEL *CELDeviceSelector `json:"cel,omitempty" protobuf:"bytes,1,opt,name=cel"`
}

// DeviceSubRequest is one of several ways to meet a request.
type DeviceSubRequest struct {
	// Unique among the alternatives of the request; a DNS label.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Class the device is of; must be set.
	DeviceClassName string `json:"deviceClassName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// What the device must satisfy beyond the selectors of its class.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
	// ExactCount, the default, or All devices of the pool that fit.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" protobuf:"bytes,4,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	// How many devices, with ExactCount; 1 unless set.
	Count int64 `json:"count,omitempty" protobuf:"varint,5,opt,name=count"`
	// Taints that do not matter to this alternative; at most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// How much of each capacity is needed.
	Capacity *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// DeviceTaint keeps claims away from a device that do not tolerate it.
type DeviceTaint struct {
	// Name of the taint; a label key.
	Key string `json:"key" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Value to compare with a toleration's; a label value.
	Value string `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	// None, NoSchedule (no new claims) or NoExecute (pods that use the device are evicted too).
	Effect DeviceTaintEffect `json:"effect" protobuf:"bytes,3,opt,name=" openapi:"required,enum=NoExecute|NoSchedule|None"`
	// When the taint came, for tolerationSeconds; filled in if left out.
	TimeAdded *metav1.Time `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// DeviceToleration lets a claim use devices with a taint.
type DeviceToleration struct {
	// Taint it is about; all taints if empty, with operator Exists.
	Key string `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	// Exists, or Equal, which is the default, to compare values.
	Operator DeviceTolerationOperator `json:"operator,omitempty" default:"Equal" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists"`
	// Value of the taint; empty with Exists.
	Value string `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	// Effect of the taint; any if empty.
	Effect DeviceTaintEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|None"`
	// How long a NoExecute taint is borne; for ever unless set, not at all at 0 and below.
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// ExactDeviceRequest asks for devices of a class.
type ExactDeviceRequest struct {
	// Class the device is of; must be set.
	DeviceClassName string `json:"deviceClassName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// What the device must satisfy beyond the selectors of its class.
	Selectors []DeviceSelector `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
	// ExactCount, the default, or All devices of the pool that fit.
	AllocationMode DeviceAllocationMode `json:"allocationMode,omitempty" protobuf:"bytes,3,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	// How many devices, with ExactCount; 1 unless set.
	Count int64 `json:"count,omitempty" protobuf:"varint,4,opt,name=count"`
	// Ask for access beside other users; only in namespaces labelled for it.
	AdminAccess *bool `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	// Taints that do not matter to this request; at most 16.
	Tolerations []DeviceToleration `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	// How much of each capacity is needed.
	Capacity *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// NetworkDeviceData is addresses of a network device.
type NetworkDeviceData struct {
	// Name of the interface inside the pod; at most 256 bytes.
	InterfaceName string `json:"interfaceName,omitempty" protobuf:"bytes,1,opt,name=interfaceName"`
	// Addresses in CIDR form; at most 16.
	IPs []string `json:"ips,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ips"`
	// Link-layer address; at most 128 bytes.
	HardwareAddress string `json:"hardwareAddress,omitempty" protobuf:"bytes,3,opt,name=hardwareAddress"`
}

// NodeAllocatableResourceMapping says what a device takes from a node's own resources.
type NodeAllocatableResourceMapping struct {
	// Capacity of the device of which the consumed amount counts; the device as one unless set.
	CapacityKey *QualifiedName `json:"capacityKey,omitempty" protobuf:"bytes,1,opt,name=capacityKey"`
	// Amount of the node's resource for one unit; 1 unless set.
	AllocationMultiplier *resource.Quantity `json:"allocationMultiplier,omitempty" protobuf:"bytes,2,opt,name=allocationMultiplier"`
}

// OpaqueDeviceConfiguration is configuration that only the driver understands.
type OpaqueDeviceConfiguration struct {
	// Driver the parameters are for; others ignore them.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Any JSON object, best with apiVersion and kind; at most 10 KiB.
	Parameters metav1.RawExtension `json:"parameters" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaim asks for devices and stands for those it got.
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The devices wanted; cannot change.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// What there is; written by the system.
	Status ResourceClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceClaimConsumerReference names who uses a claim.
type ResourceClaimConsumerReference struct {
	// Group of the consumer; empty for the core group, so for pods.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=apiGroup"`
	// Plural name of the consumer's resource, such as pods.
	Resource string `json:"resource" protobuf:"bytes,3,opt,name=" openapi:"required"`
	// Name of the consumer in the claim's namespace.
	Name string `json:"name" protobuf:"bytes,4,opt,name=" openapi:"required"`
	// Which object of that name; a new one does not inherit the reservation.
	UID types.UID `json:"uid" protobuf:"bytes,5,opt,name=" openapi:"required"`
}

// ResourceClaimSpec is what a claim asks for; it cannot change.
type ResourceClaimSpec struct {
	// The devices asked for.
	Devices DeviceClaim `json:"devices" protobuf:"bytes,1,opt,name="`
}

// ResourceClaimStatus is what a claim has got, and who uses it.
type ResourceClaimStatus struct {
	// Set once devices are reserved; taken away when nobody needs the claim any more.
	Allocation *AllocationResult `json:"allocation,omitempty" protobuf:"bytes,1,opt,name=allocation"`
	// Who may use the claim, at most 256; pods start only while they are in it.
	ReservedFor []ResourceClaimConsumerReference `json:"reservedFor,omitempty" patchStrategy:"merge" patchMergeKey:"uid" listType:"map" listMapKey:"uid" protobuf:"bytes,2,rep,name=reservedFor"`
	// What drivers say about the allocated devices.
	Devices []AllocatedDeviceStatus `json:"devices,omitempty" listType:"map" listMapKey:"driver,device,pool,shareID" protobuf:"bytes,4,rep,name=devices"`
}

// ResourceClaimTemplate describes claims to make for pods.
type ResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Labels, annotations and spec for claims; cannot change.
	Spec ResourceClaimTemplateSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaimTemplateSpec is metadata and spec of claims to make.
type ResourceClaimTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The devices wanted by each claim.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourcePool is the pool a slice is part of.
type ResourcePool struct {
	// Unique for the driver; often the node's name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Counts changes; only slices of the highest generation are looked at.
	Generation int64 `json:"generation" protobuf:"varint,2,opt,name=" openapi:"required"`
	// How many slices of this generation make up the pool; until all are there nothing is allocated.
	ResourceSliceCount int64 `json:"resourceSliceCount" protobuf:"varint,3,opt,name=" openapi:"required"`
}

// ResourceSlice is some devices of a driver.
type ResourceSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The devices, and which nodes can use them.
	Spec ResourceSliceSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceSliceSpec is devices, and which nodes can use them.
type ResourceSliceSpec struct {
	// Driver that publishes the slice; cannot change.
	Driver string `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Pool the devices are in.
	Pool ResourcePool `json:"pool" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// The one node that has the devices. One of nodeName, nodeSelector, allNodes and perDeviceNodeSelection
	// is set; cannot change.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,3,opt,name=nodeName"`
	// Nodes that can reach the devices, one term.
	NodeSelector *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,4,opt,name=nodeSelector"`
	// Every node can reach the devices.
	AllNodes *bool `json:"allNodes,omitempty" protobuf:"varint,5,opt,name=allNodes"`
	// The devices; at most 128, or 64 when one has taints or uses counters.
	Devices []Device `json:"devices,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name="`
	// Each device says itself which nodes can reach it.
	PerDeviceNodeSelection *bool `json:"perDeviceNodeSelection,omitempty" protobuf:"varint,7,opt,name="`
	// Amounts that devices of the pool share; a slice that has them has no devices.
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

// AllocationConfigSource is what DeviceAllocationConfiguration.Source can be.
type AllocationConfigSource string

// The values of AllocationConfigSource.
const (
	AllocationConfigSourceClaim AllocationConfigSource = "FromClaim"
	AllocationConfigSourceClass AllocationConfigSource = "FromClass"
)

// DeviceAllocationMode is what DeviceSubRequest.AllocationMode and ExactDeviceRequest.AllocationMode can be.
type DeviceAllocationMode string

// The values of DeviceAllocationMode.
const (
	DeviceAllocationModeAll        DeviceAllocationMode = "All"
	DeviceAllocationModeExactCount DeviceAllocationMode = "ExactCount"
)

// DeviceTaintEffect is what DeviceTaint.Effect and DeviceToleration.Effect can be.
type DeviceTaintEffect string

// The values of DeviceTaintEffect.
const (
	DeviceTaintEffectNoExecute  DeviceTaintEffect = "NoExecute"
	DeviceTaintEffectNoSchedule DeviceTaintEffect = "NoSchedule"
	DeviceTaintEffectNone       DeviceTaintEffect = "None"
)

// DeviceTolerationOperator is what DeviceToleration.Operator can be.
type DeviceTolerationOperator string

// The values of DeviceTolerationOperator.
const (
	DeviceTolerationOpEqual  DeviceTolerationOperator = "Equal"
	DeviceTolerationOpExists DeviceTolerationOperator = "Exists"
)

// FullyQualifiedName is what DeviceConstraint.MatchAttribute and DeviceConstraint.DistinctAttribute can be.
type FullyQualifiedName string

// QualifiedName is what CapacityRequirements.Requests, Device.Attributes and others can be.
type QualifiedName string

// Well-known names and values of this group.
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

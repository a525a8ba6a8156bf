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
	Driver      string               `json:"driver" protobuf:"bytes,1,opt,name=driver" openapi:"required"`
	Pool        string               `json:"pool" protobuf:"bytes,2,opt,name=pool" openapi:"required"`
	Device      string               `json:"device" protobuf:"bytes,3,opt,name=device" openapi:"required"`
	ShareID     *string              `json:"shareID,omitempty" protobuf:"bytes,7,opt,name=shareID"`
	Conditions  []metav1.Condition   `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,4,rep,name=conditions"`
	Data        *metav1.RawExtension `json:"data,omitempty" protobuf:"bytes,5,opt,name=data"`
	NetworkData *NetworkDeviceData   `json:"networkData,omitempty" protobuf:"bytes,6,opt,name=networkData"`
}

// AllocationResult is what was allocated for a claim.
type AllocationResult struct {
	Devices             DeviceAllocationResult `json:"devices,omitempty" protobuf:"bytes,1,opt,name=devices"`
	NodeSelector        *corev1.NodeSelector   `json:"nodeSelector,omitempty" protobuf:"bytes,3,opt,name=nodeSelector"`
	AllocationTimestamp *metav1.Time           `json:"allocationTimestamp,omitempty" protobuf:"bytes,5,opt,name=allocationTimestamp"`
}

// CELDeviceSelector selects devices by an expression.
type CELDeviceSelector struct {
	Expression string `json:"expression" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// CapacityRequestPolicy is how much of a capacity can be asked for.
type CapacityRequestPolicy struct {
	Default     *resource.Quantity          `json:"default" protobuf:"bytes,1,opt,name=default"`
	ValidValues []resource.Quantity         `json:"validValues,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=validValues"`
	ValidRange  *CapacityRequestPolicyRange `json:"validRange,omitempty" protobuf:"bytes,4,opt,name=validRange"`
}

// CapacityRequestPolicyRange is a range of amounts, with steps.
type CapacityRequestPolicyRange struct {
	Min  *resource.Quantity `json:"min,omitempty" protobuf:"bytes,1,opt,name=min" openapi:"required"`
	Max  *resource.Quantity `json:"max,omitempty" protobuf:"bytes,2,opt,name=max"`
	Step *resource.Quantity `json:"step,omitempty" protobuf:"bytes,3,opt,name=step"`
}

// CapacityRequirements is how much of a device's capacity is asked for.
type CapacityRequirements struct {
	Requests map[QualifiedName]resource.Quantity `json:"requests,omitempty" protobuf:"bytes,1,rep,name=requests"`
}

// Counter is an amount that devices share.
type Counter struct {
	Value resource.Quantity `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
}

// CounterSet is amounts that devices share.
type CounterSet struct {
	Name     string             `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Counters map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=" openapi:"required"`
}

// Device is one device of a pool.
type Device struct {
	Name                            string                                                 `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Attributes                      map[QualifiedName]DeviceAttribute                      `json:"attributes,omitempty" protobuf:"bytes,2,rep,name=attributes"`
	Capacity                        map[QualifiedName]DeviceCapacity                       `json:"capacity,omitempty" protobuf:"bytes,3,rep,name=capacity"`
	ConsumesCounters                []DeviceCounterConsumption                             `json:"consumesCounters,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=consumesCounters"`
	NodeName                        *string                                                `json:"nodeName,omitempty" protobuf:"bytes,5,opt,name=nodeName"`
	NodeSelector                    *corev1.NodeSelector                                   `json:"nodeSelector,omitempty" protobuf:"bytes,6,opt,name=nodeSelector"`
	AllNodes                        *bool                                                  `json:"allNodes,omitempty" protobuf:"varint,7,opt,name=allNodes"`
	Taints                          []DeviceTaint                                          `json:"taints,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=taints"`
	BindsToNode                     *bool                                                  `json:"bindsToNode,omitempty" protobuf:"varint,9,opt,name=bindsToNode"`
	BindingConditions               []string                                               `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,10,rep,name=bindingConditions"`
	BindingFailureConditions        []string                                               `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,11,rep,name=bindingFailureConditions"`
	AllowMultipleAllocations        *bool                                                  `json:"allowMultipleAllocations,omitempty" protobuf:"varint,12,opt,name=allowMultipleAllocations"`
	NodeAllocatableResourceMappings map[corev1.ResourceName]NodeAllocatableResourceMapping `json:"nodeAllocatableResourceMappings,omitempty" protobuf:"bytes,13,rep,name=nodeAllocatableResourceMappings"`
}

// DeviceAllocationConfiguration is configuration that goes with an allocation.
type DeviceAllocationConfiguration struct {
	Source              AllocationConfigSource `json:"source" protobuf:"bytes,1,opt,name=" openapi:"required,enum=FromClaim|FromClass"`
	Requests            []string               `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,3,opt,name="`
}

// DeviceAllocationResult is the devices allocated for a claim.
type DeviceAllocationResult struct {
	Results []DeviceRequestAllocationResult `json:"results,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=results"`
	Config  []DeviceAllocationConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
}

// DeviceAttribute is a property of a device; one of its fields is set.
type DeviceAttribute struct {
	IntValue      *int64   `json:"int,omitempty" protobuf:"varint,2,opt,name=int"`
	BoolValue     *bool    `json:"bool,omitempty" protobuf:"varint,3,opt,name=bool"`
	StringValue   *string  `json:"string,omitempty" protobuf:"bytes,4,opt,name=string"`
	VersionValue  *string  `json:"version,omitempty" protobuf:"bytes,5,opt,name=version"`
	IntValues     []int64  `json:"ints,omitempty" listType:"atomic" protobuf:"varint,6,rep,name=ints"`
	BoolValues    []bool   `json:"bools,omitempty" listType:"atomic" protobuf:"varint,7,rep,name=bools"`
	StringValues  []string `json:"strings,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=strings"`
	VersionValues []string `json:"versions,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=versions"`
}

// DeviceCapacity is an amount a device has.
type DeviceCapacity struct {
	Value         resource.Quantity      `json:"value" protobuf:"bytes,1,opt,name=value" openapi:"required"`
	RequestPolicy *CapacityRequestPolicy `json:"requestPolicy,omitempty" protobuf:"bytes,2,opt,name=requestPolicy"`
}

// DeviceClaim is the devices a claim asks for.
type DeviceClaim struct {
	Requests    []DeviceRequest            `json:"requests" listType:"atomic" protobuf:"bytes,1,rep,name="`
	Constraints []DeviceConstraint         `json:"constraints,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=constraints"`
	Config      []DeviceClaimConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=config"`
}

// DeviceClaimConfiguration is configuration for requests of a claim.
type DeviceClaimConfiguration struct {
	Requests            []string `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	DeviceConfiguration `json:",inline" protobuf:"bytes,2,opt,name="`
}

// DeviceClass is a kind of devices, by selectors and configuration.
type DeviceClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
	Spec DeviceClassSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// DeviceClassConfiguration is configuration for all devices of a class.
type DeviceClassConfiguration struct {
	DeviceConfiguration `json:",inline" protobuf:"bytes,1,opt,name=deviceConfiguration"`
}

// DeviceClassSpec is what devices a class has.
type DeviceClassSpec struct {
	Selectors            []DeviceSelector           `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=selectors"`
	Config               []DeviceClassConfiguration `json:"config,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=config"`
	ExtendedResourceName *string                    `json:"extendedResourceName,omitempty" protobuf:"bytes,4,opt,name=extendedResourceName"`
}

// DeviceConfiguration is configuration for a driver.
type DeviceConfiguration struct {
	Opaque *OpaqueDeviceConfiguration `json:"opaque,omitempty" protobuf:"bytes,1,opt,name=opaque"`
}

// DeviceConstraint is what devices of several requests must have in common, or not.
type DeviceConstraint struct {
	Requests          []string            `json:"requests,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=requests"`
	MatchAttribute    *FullyQualifiedName `json:"matchAttribute,omitempty" protobuf:"bytes,2,opt,name=matchAttribute"`
	DistinctAttribute *FullyQualifiedName `json:"distinctAttribute,omitempty" protobuf:"bytes,3,opt,name=distinctAttribute"`
}

// DeviceCounterConsumption is what a device takes from shared amounts.
type DeviceCounterConsumption struct {
	CounterSet string             `json:"counterSet" protobuf:"bytes,1,opt,name=counterSet" openapi:"required"`
	Counters   map[string]Counter `json:"counters,omitempty" protobuf:"bytes,2,rep,name=counters" openapi:"required"`
}

// DeviceRequest asks for devices: exactly some, or the first of several that can be had.
type DeviceRequest struct {
	Name           string              `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Exactly        *ExactDeviceRequest `json:"exactly,omitempty" protobuf:"bytes,2,opt,name="`
	FirstAvailable []DeviceSubRequest  `json:"firstAvailable,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
}

// DeviceRequestAllocationResult is one device allocated for a request.
type DeviceRequestAllocationResult struct {
	Request                  string                              `json:"request" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Driver                   string                              `json:"driver" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Pool                     string                              `json:"pool" protobuf:"bytes,3,opt,name=" openapi:"required"`
	Device                   string                              `json:"device" protobuf:"bytes,4,opt,name=" openapi:"required"`
	AdminAccess              *bool                               `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	Tolerations              []DeviceToleration                  `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	BindingConditions        []string                            `json:"bindingConditions,omitempty" listType:"atomic" protobuf:"bytes,7,rep,name=bindingConditions"`
	BindingFailureConditions []string                            `json:"bindingFailureConditions,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name=bindingFailureConditions"`
	ShareID                  *types.UID                          `json:"shareID,omitempty" protobuf:"bytes,9,opt,name=shareID"`
	ConsumedCapacity         map[QualifiedName]resource.Quantity `json:"consumedCapacity,omitempty" protobuf:"bytes,10,rep,name=consumedCapacity"`
}

// DeviceSelector selects devices.
type DeviceSelector struct {
	CEL *CELDeviceSelector `json:"cel,omitempty" protobuf:"bytes,1,opt,name=cel"`
}

// DeviceSubRequest is one of several ways to meet a request.
type DeviceSubRequest struct {
	Name            string                `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	DeviceClassName string                `json:"deviceClassName" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Selectors       []DeviceSelector      `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name="`
	AllocationMode  DeviceAllocationMode  `json:"allocationMode,omitempty" protobuf:"bytes,4,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	Count           int64                 `json:"count,omitempty" protobuf:"varint,5,opt,name=count"`
	Tolerations     []DeviceToleration    `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	Capacity        *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// DeviceTaint keeps claims away from a device that do not tolerate it.
type DeviceTaint struct {
	Key       string            `json:"key" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Value     string            `json:"value,omitempty" protobuf:"bytes,2,opt,name=value"`
	Effect    DeviceTaintEffect `json:"effect" protobuf:"bytes,3,opt,name=" openapi:"required,enum=NoExecute|NoSchedule|None"`
	TimeAdded *metav1.Time      `json:"timeAdded,omitempty" protobuf:"bytes,4,opt,name=timeAdded"`
}

// DeviceToleration lets a claim use devices with a taint.
type DeviceToleration struct {
	Key               string                   `json:"key,omitempty" protobuf:"bytes,1,opt,name=key"`
	Operator          DeviceTolerationOperator `json:"operator,omitempty" default:"Equal" protobuf:"bytes,2,opt,name=operator" openapi:"enum=Equal|Exists"`
	Value             string                   `json:"value,omitempty" protobuf:"bytes,3,opt,name=value"`
	Effect            DeviceTaintEffect        `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect" openapi:"enum=NoExecute|NoSchedule|None"`
	TolerationSeconds *int64                   `json:"tolerationSeconds,omitempty" protobuf:"varint,5,opt,name=tolerationSeconds"`
}

// ExactDeviceRequest asks for devices of a class.
type ExactDeviceRequest struct {
	DeviceClassName string                `json:"deviceClassName" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Selectors       []DeviceSelector      `json:"selectors,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
	AllocationMode  DeviceAllocationMode  `json:"allocationMode,omitempty" protobuf:"bytes,3,opt,name=allocationMode" openapi:"enum=All|ExactCount"`
	Count           int64                 `json:"count,omitempty" protobuf:"varint,4,opt,name=count"`
	AdminAccess     *bool                 `json:"adminAccess,omitempty" protobuf:"varint,5,opt,name=adminAccess"`
	Tolerations     []DeviceToleration    `json:"tolerations,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=tolerations"`
	Capacity        *CapacityRequirements `json:"capacity,omitempty" protobuf:"bytes,7,opt,name=capacity"`
}

// NetworkDeviceData is addresses of a network device.
type NetworkDeviceData struct {
	InterfaceName   string   `json:"interfaceName,omitempty" protobuf:"bytes,1,opt,name=interfaceName"`
	IPs             []string `json:"ips,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ips"`
	HardwareAddress string   `json:"hardwareAddress,omitempty" protobuf:"bytes,3,opt,name=hardwareAddress"`
}

// NodeAllocatableResourceMapping says what a device takes from a node's own resources.
type NodeAllocatableResourceMapping struct {
	CapacityKey          *QualifiedName     `json:"capacityKey,omitempty" protobuf:"bytes,1,opt,name=capacityKey"`
	AllocationMultiplier *resource.Quantity `json:"allocationMultiplier,omitempty" protobuf:"bytes,2,opt,name=allocationMultiplier"`
}

// OpaqueDeviceConfiguration is configuration that only the driver understands.
type OpaqueDeviceConfiguration struct {
	Driver     string              `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Parameters metav1.RawExtension `json:"parameters" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaim asks for devices and stands for those it got.
type ResourceClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// What there is; written by the system.
	Status ResourceClaimStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ResourceClaimConsumerReference names who uses a claim.
type ResourceClaimConsumerReference struct {
	APIGroup string    `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=apiGroup"`
	Resource string    `json:"resource" protobuf:"bytes,3,opt,name=" openapi:"required"`
	Name     string    `json:"name" protobuf:"bytes,4,opt,name=" openapi:"required"`
	UID      types.UID `json:"uid" protobuf:"bytes,5,opt,name=" openapi:"required"`
}

// ResourceClaimSpec is what a claim asks for; it cannot change.
type ResourceClaimSpec struct {
	Devices DeviceClaim `json:"devices" protobuf:"bytes,1,opt,name="`
}

// ResourceClaimStatus is what a claim has got, and who uses it.
type ResourceClaimStatus struct {
	Allocation  *AllocationResult                `json:"allocation,omitempty" protobuf:"bytes,1,opt,name=allocation"`
	ReservedFor []ResourceClaimConsumerReference `json:"reservedFor,omitempty" patchStrategy:"merge" patchMergeKey:"uid" listType:"map" listMapKey:"uid" protobuf:"bytes,2,rep,name=reservedFor"`
	Devices     []AllocatedDeviceStatus          `json:"devices,omitempty" listType:"map" listMapKey:"driver,device,pool,shareID" protobuf:"bytes,4,rep,name=devices"`
}

// ResourceClaimTemplate describes claims to make for pods.
type ResourceClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
	Spec ResourceClaimTemplateSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceClaimTemplateSpec is metadata and spec of claims to make.
type ResourceClaimTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
	Spec ResourceClaimSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourcePool is the pool a slice is part of.
type ResourcePool struct {
	Name               string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Generation         int64  `json:"generation" protobuf:"varint,2,opt,name=" openapi:"required"`
	ResourceSliceCount int64  `json:"resourceSliceCount" protobuf:"varint,3,opt,name=" openapi:"required"`
}

// ResourceSlice is some devices of a driver.
type ResourceSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
	Spec ResourceSliceSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
}

// ResourceSliceSpec is devices, and which nodes can use them.
type ResourceSliceSpec struct {
	Driver                 string               `json:"driver" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Pool                   ResourcePool         `json:"pool" protobuf:"bytes,2,opt,name=" openapi:"required"`
	NodeName               *string              `json:"nodeName,omitempty" protobuf:"bytes,3,opt,name=nodeName"`
	NodeSelector           *corev1.NodeSelector `json:"nodeSelector,omitempty" protobuf:"bytes,4,opt,name=nodeSelector"`
	AllNodes               *bool                `json:"allNodes,omitempty" protobuf:"varint,5,opt,name=allNodes"`
	Devices                []Device             `json:"devices,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name="`
	PerDeviceNodeSelection *bool                `json:"perDeviceNodeSelection,omitempty" protobuf:"varint,7,opt,name="`
	SharedCounters         []CounterSet         `json:"sharedCounters,omitempty" listType:"atomic" protobuf:"bytes,8,rep,name="`
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

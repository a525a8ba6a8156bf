// Package resourcev1beta2 holds DeviceTaintRule (resource.k8s.io/v1beta2), the only kind of the version that
// has no stable one. Being beta, it is no part of api.Scheme(): a server that is to serve it, and a client
// that is to use it, add it to a scheme of their own.
package resourcev1beta2

import (
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// DeviceTaintRule adds a taint to all devices that its selector matches, as if their drivers had published
// it.
type DeviceTaintRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Devices and their taint.
	Spec DeviceTaintRuleSpec `json:"spec" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Progress of the eviction of pods; populated by the system.
	Status DeviceTaintRuleStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// DeviceTaintRuleList is a list of DeviceTaintRule objects.
type DeviceTaintRuleList = metav1.List[*DeviceTaintRule]

// DeviceTaintRuleSpec specifies devices and their taint.
type DeviceTaintRuleSpec struct {
	// Devices that get the taint: those that match all of its fields. An empty selector matches all devices;
	// none are matched if it is unset.
	DeviceSelector *DeviceTaintSelector `json:"deviceSelector,omitempty" protobuf:"bytes,1,opt,name=deviceSelector"`
	// Taint of the devices. When its effect changes, timeAdded is set to the current time unless the same
	// write changes it.
	Taint resourcev1.DeviceTaint `json:"taint,omitempty" protobuf:"bytes,2,opt,name=taint" openapi:"required"`
}

// DeviceTaintSelector selects devices by their names; what is unset matches all.
type DeviceTaintSelector struct {
	// Name of the driver, as in spec.driver of its ResourceSlices.
	Driver *string `json:"driver,omitempty" protobuf:"bytes,2,opt,name=driver"`
	// Name of the pool. Pools of different drivers may have the same name.
	Pool *string `json:"pool,omitempty" protobuf:"bytes,3,opt,name=pool"`
	// Name of the device in its pool.
	Device *string `json:"device,omitempty" protobuf:"bytes,4,opt,name=device"`
}

// Matches reports whether the selector, which may be nil, selects a device.
func (s *DeviceTaintSelector) Matches(driver, pool, device string) bool {
	matches := func(want *string, have string) bool { return want == nil || *want == have }
	return s != nil && matches(s.Driver, driver) && matches(s.Pool, pool) && matches(s.Device, device)
}

// DeviceTaintRuleStatus is the progress of the eviction that a rule causes.
type DeviceTaintRuleStatus struct {
	// Conditions of the rule; at most 8. EvictionInProgress is True while there are pods to be evicted, and
	// its message has their number and that of evicted ones. For the effect None it is set once for each
	// change of the spec, and its message has what NoExecute would do.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// MaxConditions is the greatest number of conditions of a rule.
const MaxConditions = 8

// EvictionInProgress is the type of the condition of a rule.
const EvictionInProgress = "EvictionInProgress"

// Package coordinationv1 holds Lease (coordination.k8s.io/v1).
package coordinationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Lease says who holds something, and until when.
type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The holder and the times.
	Spec LeaseSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// LeaseSpec is who holds a lease.
type LeaseSpec struct {
	// The holder; nobody if empty.
	HolderIdentity *string `json:"holderIdentity,omitempty" protobuf:"bytes,1,opt,name=holderIdentity"`
	// Seconds after the last renewal when others may take it.
	LeaseDurationSeconds *int32 `json:"leaseDurationSeconds,omitempty" protobuf:"varint,2,opt,name=leaseDurationSeconds"`
	// When the holder took it.
	AcquireTime *metav1.MicroTime `json:"acquireTime,omitempty" protobuf:"bytes,3,opt,name=acquireTime"`
	// When the holder last renewed it.
	RenewTime *metav1.MicroTime `json:"renewTime,omitempty" protobuf:"bytes,4,opt,name=renewTime"`
	// How often the holder changed.
	LeaseTransitions *int32 `json:"leaseTransitions,omitempty" protobuf:"varint,5,opt,name=leaseTransitions"`
	// How the holder is chosen, in coordinated elections.
	Strategy *CoordinatedLeaseStrategy `json:"strategy,omitempty" protobuf:"bytes,6,opt,name=strategy"`
	// Who should take it next, in coordinated elections.
	PreferredHolder *string `json:"preferredHolder,omitempty" protobuf:"bytes,7,opt,name=preferredHolder"`
}

// LeaseList is a list of Lease objects.
type LeaseList = metav1.List[*Lease]

// CoordinatedLeaseStrategy is what LeaseSpec.Strategy can be.
type CoordinatedLeaseStrategy string

// The values of CoordinatedLeaseStrategy.
const (
	OldestEmulationVersion CoordinatedLeaseStrategy = "OldestEmulationVersion"
)

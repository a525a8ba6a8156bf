// Package coordinationv1 holds Lease (coordination.k8s.io/v1).
package coordinationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Lease records the holder of a lock or leadership, or the last heartbeat of a component.
type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Holder of the lease and its times.
	Spec LeaseSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// LeaseSpec describes the holder of a lease.
type LeaseSpec struct {
	// Identity of the current holder; empty if the lease is not held. In coordinated leader election, the
	// name of the elected LeaseCandidate.
	HolderIdentity *string `json:"holderIdentity,omitempty" protobuf:"bytes,1,opt,name=holderIdentity"`
	// Seconds that candidates must wait before they take over the lease, counted from when they last observed
	// a change of renewTime.
	LeaseDurationSeconds *int32 `json:"leaseDurationSeconds,omitempty" protobuf:"varint,2,opt,name=leaseDurationSeconds"`
	// When the current holder acquired the lease.
	AcquireTime *metav1.MicroTime `json:"acquireTime,omitempty" protobuf:"bytes,3,opt,name=acquireTime"`
	// When the current holder last renewed the lease.
	RenewTime *metav1.MicroTime `json:"renewTime,omitempty" protobuf:"bytes,4,opt,name=renewTime"`
	// Number of times the lease has passed from one holder to another.
	LeaseTransitions *int32 `json:"leaseTransitions,omitempty" protobuf:"varint,5,opt,name=leaseTransitions"`
	// Strategy for choosing the holder, in coordinated leader election; unset if the lease is not
	// coordinated.
	Strategy *CoordinatedLeaseStrategy `json:"strategy,omitempty" protobuf:"bytes,6,opt,name=strategy"`
	// Identity of the candidate for which the holder should release the lease, in coordinated leader
	// election. Requires strategy.
	PreferredHolder *string `json:"preferredHolder,omitempty" protobuf:"bytes,7,opt,name=preferredHolder"`
}

// LeaseList is a list of Lease objects.
type LeaseList = metav1.List[*Lease]

// CoordinatedLeaseStrategy enumerates the values of LeaseSpec.Strategy.
type CoordinatedLeaseStrategy string

const (
	OldestEmulationVersion CoordinatedLeaseStrategy = "OldestEmulationVersion"
)

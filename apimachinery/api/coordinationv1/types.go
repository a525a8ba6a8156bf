// Package coordinationv1 holds Lease (coordination.k8s.io/v1).
package coordinationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type Lease struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              LeaseSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type LeaseSpec struct {
	HolderIdentity       *string                   `json:"holderIdentity,omitempty" protobuf:"bytes,1,opt,name=holderIdentity"`
	LeaseDurationSeconds *int32                    `json:"leaseDurationSeconds,omitempty" protobuf:"varint,2,opt,name=leaseDurationSeconds"`
	AcquireTime          *metav1.MicroTime         `json:"acquireTime,omitempty" protobuf:"bytes,3,opt,name=acquireTime"`
	RenewTime            *metav1.MicroTime         `json:"renewTime,omitempty" protobuf:"bytes,4,opt,name=renewTime"`
	LeaseTransitions     *int32                    `json:"leaseTransitions,omitempty" protobuf:"varint,5,opt,name=leaseTransitions"`
	Strategy             *CoordinatedLeaseStrategy `json:"strategy,omitempty" protobuf:"bytes,6,opt,name=strategy"`
	PreferredHolder      *string                   `json:"preferredHolder,omitempty" protobuf:"bytes,7,opt,name=preferredHolder"`
}

// LeaseList is a list of Lease objects.
type LeaseList = metav1.List[*Lease]

type CoordinatedLeaseStrategy string

// The values of CoordinatedLeaseStrategy.
const (
	OldestEmulationVersion CoordinatedLeaseStrategy = "OldestEmulationVersion"
)

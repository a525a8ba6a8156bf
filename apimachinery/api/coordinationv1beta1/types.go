// Package coordinationv1beta1 holds LeaseCandidate (coordination.k8s.io/v1beta1). Being beta, it is no part
// of api.Scheme(): a server that is to serve it, and a client that is to use it, add it to a scheme of their
// own.
package coordinationv1beta1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// LeaseCandidate makes a process eligible for a Lease that the API server gives to one of its candidates:
// coordinated leader election. Its name is the identity of the holder of the Lease if it is elected.
type LeaseCandidate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Lease, versions and sign of life of the candidate.
	Spec LeaseCandidateSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// LeaseCandidateList is a list of LeaseCandidate objects.
type LeaseCandidateList = metav1.List[*LeaseCandidate]

// LeaseCandidateSpec describes a candidate.
type LeaseCandidateSpec struct {
	// Name of the Lease, in the same namespace. Cannot be changed.
	LeaseName string `json:"leaseName" protobuf:"bytes,1,opt,name=leaseName" openapi:"required"`
	// When the server last requested a sign of life. The candidate responds by setting renewTime.
	PingTime *metav1.MicroTime `json:"pingTime,omitempty" protobuf:"bytes,2,opt,name=pingTime"`
	// When the candidate last gave a sign of life. A candidate is deleted 30 minutes after it.
	RenewTime *metav1.MicroTime `json:"renewTime,omitempty" protobuf:"bytes,3,opt,name=renewTime"`
	// Semantic version of the program, without a leading "v".
	BinaryVersion string `json:"binaryVersion" protobuf:"bytes,4,opt,name=binaryVersion" openapi:"required"`
	// Semantic version that the program emulates, at most binaryVersion. Required with the strategy
	// OldestEmulationVersion.
	EmulationVersion string `json:"emulationVersion,omitempty" protobuf:"bytes,5,opt,name=emulationVersion"`
	// Strategy for choosing the holder. If candidates differ in it, that of the newest binaryVersion counts.
	// Strategies other than OldestEmulationVersion have a name with a domain, and a controller of their own.
	Strategy coordinationv1.CoordinatedLeaseStrategy `json:"strategy,omitempty" protobuf:"bytes,6,opt,name=strategy" openapi:"required"`
}

// Pinged reports whether the server has requested a sign of life since the last one.
func (c *LeaseCandidate) Pinged() bool {
	s := &c.Spec
	return s.PingTime != nil && (s.RenewTime == nil || s.RenewTime.Before(s.PingTime.Time))
}

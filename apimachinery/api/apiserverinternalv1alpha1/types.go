// Package apiserverinternalv1alpha1 holds StorageVersion (internal.apiserver.k8s.io/v1alpha1). Being alpha,
// it is no part of api.Scheme(): a server that is to serve it, and a client that is to use it, add it to a
// scheme of their own.
package apiserverinternalv1alpha1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// StorageVersion has the versions in which the servers of a cluster store a resource. Its name is
// <group>.<resource>, with core for the group without a name.
type StorageVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Has no fields.
	Spec StorageVersionSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
	// What the servers have reported.
	Status StorageVersionStatus `json:"status" protobuf:"bytes,3,opt,name=status"`
}

// StorageVersionList is a list of StorageVersion objects.
type StorageVersionList = metav1.List[*StorageVersion]

// StorageVersionSpec has no fields.
type StorageVersionSpec struct{}

// StorageVersionStatus is what the servers have reported about a resource.
type StorageVersionStatus struct {
	// Reports of servers, at most one of each.
	StorageVersions []ServerStorageVersion `json:"storageVersions,omitempty" listType:"map" listMapKey:"apiServerID" protobuf:"bytes,1,opt,name=storageVersions"`
	// Version in which all servers store objects; unset if they differ or none has reported.
	CommonEncodingVersion *string `json:"commonEncodingVersion,omitempty" protobuf:"bytes,2,opt,name=commonEncodingVersion"`
	// Conditions of the resource. AllEncodingVersionsEqual is True while commonEncodingVersion is set.
	Conditions []StorageVersionCondition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,3,opt,name=conditions"`
}

// ServerStorageVersion is the report of one server.
type ServerStorageVersion struct {
	// Name of the lease in kube-system by which the server says that it runs.
	APIServerID string `json:"apiServerID,omitempty" protobuf:"bytes,1,opt,name=apiServerID" openapi:"required"`
	// apiVersion in which the server stores objects.
	EncodingVersion string `json:"encodingVersion,omitempty" protobuf:"bytes,2,opt,name=encodingVersion" openapi:"required"`
	// Each apiVersion in which the server can read stored objects, among them encodingVersion.
	DecodableVersions []string `json:"decodableVersions,omitempty" listType:"set" protobuf:"bytes,3,opt,name=decodableVersions" openapi:"required"`
	// Each apiVersion at which the server serves the resource, all of them in decodableVersions.
	ServedVersions []string `json:"servedVersions,omitempty" listType:"set" protobuf:"bytes,4,opt,name=servedVersions"`
}

// StorageVersionConditionType enumerates the types of conditions.
type StorageVersionConditionType string

// AllEncodingVersionsEqual says whether all servers store objects in the same version.
const AllEncodingVersionsEqual StorageVersionConditionType = "AllEncodingVersionsEqual"

// StorageVersionCondition is an observation about a resource.
type StorageVersionCondition struct {
	// Type of the condition.
	Type StorageVersionConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status metav1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// metadata.generation on which the condition is based.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,3,opt,name=observedGeneration"`
	// When the status, or the common version, last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Reason of the last transition, in CamelCase.
	Reason string `json:"reason" protobuf:"bytes,5,opt,name=reason" openapi:"required"`
	// Details about the transition.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message" openapi:"required"`
}

// Report sets the report of a server, and what follows from all reports.
func (s *StorageVersion) Report(of ServerStorageVersion, now metav1.Time) {
	all := s.Status.StorageVersions
	for i := range all {
		if all[i].APIServerID == of.APIServerID {
			all[i] = of
			s.Agree(now)
			return
		}
	}
	s.Status.StorageVersions = append(all, of)
	s.Agree(now)
}

// Agree sets the common version and the condition AllEncodingVersionsEqual by the reports.
func (s *StorageVersion) Agree(now metav1.Time) {
	before := s.Status.CommonEncodingVersion
	s.Status.CommonEncodingVersion = common(s.Status.StorageVersions)
	next := StorageVersionCondition{Type: AllEncodingVersionsEqual, Status: metav1.ConditionFalse, ObservedGeneration: s.Generation, LastTransitionTime: now,
		Reason: "CommonEncodingVersionUnset", Message: "Common encoding version unset"}
	after := s.Status.CommonEncodingVersion
	if after != nil {
		next.Status, next.Reason, next.Message = metav1.ConditionTrue, "CommonEncodingVersionSet", "Common encoding version set"
	}
	for i := range s.Status.Conditions {
		c := &s.Status.Conditions[i]
		if c.Type != next.Type {
			continue
		}
		if replaced := before != nil && after != nil && *before != *after; c.Status == next.Status && !replaced {
			next.LastTransitionTime = c.LastTransitionTime
		}
		*c = next
		return
	}
	s.Status.Conditions = append(s.Status.Conditions, next)
}

// common returns the version in which all servers store objects, nil if there is none.
func common(all []ServerStorageVersion) *string {
	for i := range all {
		if all[i].EncodingVersion != all[0].EncodingVersion {
			return nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	return new(all[0].EncodingVersion)
}

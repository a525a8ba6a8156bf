// Package apiregistrationv1 holds APIService (apiregistration.k8s.io/v1).
package apiregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// APIService says who serves a version of a group; it is named version.group.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which version of which group it is, and who serves it.
	Spec APIServiceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status APIServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// APIServiceCondition is one fact about an API service.
type APIServiceCondition struct {
	// Name of the fact.
	Type APIServiceConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// APIServiceSpec is who serves a version, and how it is ranked.
type APIServiceSpec struct {
	// Who serves the version; the API server itself unless set.
	Service *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	// Group that is served.
	Group string `json:"group,omitempty" protobuf:"bytes,2,opt,name=group"`
	// Version that is served; the object's name is VERSION.GROUP.
	Version string `json:"version,omitempty" protobuf:"bytes,3,opt,name=version"`
	// Do not check the service's certificate; excludes caBundle.
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty" protobuf:"varint,4,opt,name=insecureSkipTLSVerify"`
	// PEM certificates of who may sign the service's; those of the system unless set.
	CABundle []byte `json:"caBundle,omitempty" listType:"atomic" protobuf:"bytes,5,opt,name=caBundle"`
	// Rank of the group in discovery, highest first; a group takes the highest of its versions. 1 to 20000.
	GroupPriorityMinimum int32 `json:"groupPriorityMinimum" protobuf:"varint,7,opt,name=groupPriorityMinimum" openapi:"required"`
	// Rank of the version within its group, highest first; equal ones go by their names, v2 before v1 before
	// v1beta1. 1 to 1000.
	VersionPriority int32 `json:"versionPriority" protobuf:"varint,8,opt,name=versionPriority" openapi:"required"`
}

// APIServiceStatus is whether a version can be served.
type APIServiceStatus struct {
	// Available says whether requests can be passed on.
	Conditions []APIServiceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// ServiceReference names a port of a service.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
	// Name of the service.
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// Port of the service; 443 unless set.
	Port *int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
}

// APIServiceList is a list of APIService objects.
type APIServiceList = metav1.List[*APIService]

// APIServiceConditionType is what APIServiceCondition.Type can be.
type APIServiceConditionType string

// The values of APIServiceConditionType.
const (
	Available APIServiceConditionType = "Available"
)

// ConditionStatus is what APIServiceCondition.Status can be.
type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

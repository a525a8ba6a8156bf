// Package apiregistrationv1 holds APIService (apiregistration.k8s.io/v1).
package apiregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// APIService registers the server of an API group version; its name is VERSION.GROUP.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Group version and the service that serves it.
	Spec APIServiceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status APIServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// APIServiceCondition describes one aspect of the state of an API service.
type APIServiceCondition struct {
	// Type of the condition, a CamelCase name.
	Type APIServiceConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// APIServiceSpec describes a group version, its server and its priority.
type APIServiceSpec struct {
	// Service that serves the group version; the API server itself if unset.
	Service *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	// API group that is served.
	Group string `json:"group,omitempty" protobuf:"bytes,2,opt,name=group"`
	// API version that is served.
	Version string `json:"version,omitempty" protobuf:"bytes,3,opt,name=version"`
	// Do not verify the certificate of the service; discouraged. Excludes caBundle.
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty" protobuf:"varint,4,opt,name=insecureSkipTLSVerify"`
	// PEM-encoded CA certificates that the service's certificate is verified with; those of the system if
	// unset.
	CABundle []byte `json:"caBundle,omitempty" listType:"atomic" protobuf:"bytes,5,opt,name=caBundle"`
	// Priority of the group in discovery, 1 to 20000, highest first; the group has the highest priority of
	// its versions. Groups of equal priority are ordered by name.
	GroupPriorityMinimum int32 `json:"groupPriorityMinimum" protobuf:"varint,7,opt,name=groupPriorityMinimum" openapi:"required"`
	// Priority of the version within its group, 1 to 1000, highest first. Versions of equal priority are
	// ordered by name: v2 before v1 before v1beta1.
	VersionPriority int32 `json:"versionPriority" protobuf:"varint,8,opt,name=versionPriority" openapi:"required"`
}

// APIServiceStatus is the observed state of an API service.
type APIServiceStatus struct {
	// Conditions of the API service; Available means that the service can be reached.
	Conditions []APIServiceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// ServiceReference identifies a port of a service.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
	// Name of the service.
	Name string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	// Port of the service; defaults to 443.
	Port *int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
}

// APIServiceList is a list of APIService objects.
type APIServiceList = metav1.List[*APIService]

// APIServiceConditionType enumerates the values of APIServiceCondition.Type.
type APIServiceConditionType string

const (
	Available APIServiceConditionType = "Available"
)

// ConditionStatus enumerates the values of APIServiceCondition.Status.
type ConditionStatus string

const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

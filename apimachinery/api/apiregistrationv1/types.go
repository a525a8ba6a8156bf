// Package apiregistrationv1 holds APIService (apiregistration.k8s.io/v1).
package apiregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              APIServiceSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            APIServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type APIServiceCondition struct {
	Type               APIServiceConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Status             ConditionStatus         `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	Reason             string                  `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	Message            string                  `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

type APIServiceSpec struct {
	Service               *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	Group                 string            `json:"group,omitempty" protobuf:"bytes,2,opt,name=group"`
	Version               string            `json:"version,omitempty" protobuf:"bytes,3,opt,name=version"`
	InsecureSkipTLSVerify bool              `json:"insecureSkipTLSVerify,omitempty" protobuf:"varint,4,opt,name=insecureSkipTLSVerify"`
	CABundle              []byte            `json:"caBundle,omitempty" listType:"atomic" protobuf:"bytes,5,opt,name=caBundle"`
	GroupPriorityMinimum  int32             `json:"groupPriorityMinimum" protobuf:"varint,7,opt,name=groupPriorityMinimum" openapi:"required"`
	VersionPriority       int32             `json:"versionPriority" protobuf:"varint,8,opt,name=versionPriority" openapi:"required"`
}

type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

type ServiceReference struct {
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
	Name      string `json:"name,omitempty" protobuf:"bytes,2,opt,name=name"`
	Port      *int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
}

// APIServiceList is a list of APIService objects.
type APIServiceList = metav1.List[*APIService]

type APIServiceConditionType string

// The values of APIServiceConditionType.
const (
	Available APIServiceConditionType = "Available"
)

type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

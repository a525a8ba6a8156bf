// Package v1beta1 has yards as they were.
// +groupName=yard.example.com
// +versionName=v1beta1
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:path=yards,singular=yard,shortName=yd;y,categories=all;ships,scope=Namespaced
// +kubebuilder:deprecatedversion:warning="yard.example.com/v1beta1 is old; use v1"
// +kubebuilder:printcolumn:name="Docks",type=integer,JSONPath=`.spec.docks`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Yard struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              YardSpec `json:"spec,omitempty"`
}

type YardSpec struct {
	Docks int32  `json:"docks,omitempty"`
	Old   string `json:"old,omitempty"`
}

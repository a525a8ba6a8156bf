package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "backup.example.com", Version: "v1"}

// Backup is copied by a Job for each generation of its spec.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              BackupSpec   `json:"spec"`
	Status            BackupStatus `json:"status,omitempty"`
}

// BackupSpec is the desired state.
type BackupSpec struct {
	// Source is the path of what is copied; it cannot change.
	Source string `json:"source"`
	// Keep is how many Jobs are kept, by default 3.
	Keep *int32 `json:"keep,omitempty"`
	// Paused keeps new Jobs from being made.
	Paused bool `json:"paused,omitempty"`
}

// BackupStatus is the observed state.
type BackupStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Job                string             `json:"job,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// BackupList is a list of Backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

func register(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Backup{}, &BackupList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return nil
}

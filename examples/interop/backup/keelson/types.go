package main

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
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

func register(s *scheme.Scheme) error {
	return scheme.Add[*Backup](s, groupVersion, scheme.Kind{Resource: "backups", Namespaced: true,
		Subresources: []scheme.Subresource{{Name: "status", Kind: "Backup", Verbs: []string{"get", "patch", "update"}}}})
}

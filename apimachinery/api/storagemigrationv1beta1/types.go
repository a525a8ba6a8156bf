// Package storagemigrationv1beta1 holds StorageVersionMigration (storagemigration.k8s.io/v1beta1). Being
// beta, it is no part of api.Scheme(): a server that is to serve it, and a client that is to use it, add it
// to a scheme of their own.
package storagemigrationv1beta1

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// StorageVersionMigration requests that all objects of a resource be rewritten, so that they are stored in
// the current storage version.
type StorageVersionMigration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Resource to migrate. Cannot be changed.
	Spec StorageVersionMigrationSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Observed progress of the migration; populated by the system.
	Status StorageVersionMigrationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// StorageVersionMigrationList is a list of StorageVersionMigration objects.
type StorageVersionMigrationList = metav1.List[*StorageVersionMigration]

// StorageVersionMigrationSpec describes what to migrate.
type StorageVersionMigrationSpec struct {
	// Resource whose objects are rewritten, by requests to the API. Cannot be changed.
	Resource metav1.GroupResource `json:"resource" protobuf:"bytes,1,opt,name=resource" openapi:"required"`
}

// StorageVersionMigrationStatus is the observed progress of a migration.
type StorageVersionMigrationStatus struct {
	// Conditions of the migration: Running, then Succeeded or Failed. At most one of them is true; Succeeded
	// and Failed are final.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Resource version at which the migration began: objects with a newer version are stored in the current
	// storage version already. Cannot be changed once set.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
}

// MigrationConditionType enumerates the types of the conditions of a migration.
type MigrationConditionType string

const (
	// MigrationRunning is true while objects are being rewritten, for at most one migration per resource at a
	// time.
	MigrationRunning MigrationConditionType = "Running"
	// MigrationSucceeded and MigrationFailed are final.
	MigrationSucceeded MigrationConditionType = "Succeeded"
	MigrationFailed    MigrationConditionType = "Failed"
)

// Is reports whether a condition of the migration is true.
func (m *StorageVersionMigration) Is(c MigrationConditionType) bool {
	return metav1.ConditionIs(m.Status.Conditions, string(c), metav1.ConditionTrue)
}

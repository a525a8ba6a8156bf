// Package storagemigrationv1beta1 holds StorageVersionMigration (storagemigration.k8s.io/v1beta1). Being
// beta, it is no part of api.Scheme(): a server that is to serve it, and a client that is to know it, add it
// to a scheme of their own.
package storagemigrationv1beta1

import "github.com/keelson-dev/keelson/apimachinery/metav1"

// StorageVersionMigration is an order to write all objects of a resource again, so that all are stored in the
// version that is now the storage version.
type StorageVersionMigration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What to migrate. Cannot change.
	Spec StorageVersionMigrationSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// How far the migration is.
	Status StorageVersionMigrationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// StorageVersionMigrationList is a list of StorageVersionMigration objects.
type StorageVersionMigrationList = metav1.List[*StorageVersionMigration]

// StorageVersionMigrationSpec says what to migrate.
type StorageVersionMigrationSpec struct {
	// The resource whose objects are written again.
	Resource metav1.GroupResource `json:"resource" protobuf:"bytes,1,opt,name=resource" openapi:"required"`
}

// StorageVersionMigrationStatus says how far a migration is.
type StorageVersionMigrationStatus struct {
	// Running, then Succeeded or Failed.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// The version of the resource when its migration began: objects with a newer one are stored as they
	// should be. Cannot change once set.
	ResourceVersion string `json:"resourceVersion,omitempty" protobuf:"bytes,2,opt,name=resourceVersion"`
}

// MigrationConditionType is the type of a condition of a migration.
type MigrationConditionType string

// The conditions of a migration.
const (
	// MigrationRunning is true while objects are written, of one migration per resource at a time.
	MigrationRunning MigrationConditionType = "Running"
	// MigrationSucceeded and MigrationFailed are final.
	MigrationSucceeded MigrationConditionType = "Succeeded"
	MigrationFailed    MigrationConditionType = "Failed"
)

// Is reports whether a condition of the migration is true.
func (m *StorageVersionMigration) Is(c MigrationConditionType) bool {
	return metav1.ConditionIs(m.Status.Conditions, string(c), metav1.ConditionTrue)
}

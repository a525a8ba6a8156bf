package storagemigrationv1beta1

import (
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// ValidateStorageVersionMigration checks a migration to be created.
func ValidateStorageVersionMigration(m *StorageVersionMigration) validation.ErrorList {
	var r check.Report
	p := validation.NewPath("spec", "resource")
	if name := m.Spec.Resource.Resource; name == "" {
		r.Required(p.Child("resource"), "resource is required to be set")
	} else {
		r.Each(p.Child("resource"), name, validation.IsDNS1035Label(name))
	}
	if group := m.Spec.Resource.Group; group != "" {
		r.Each(p.Child("group"), group, validation.IsDNS1123Subdomain(group))
	}
	return r.List()
}

// ValidateStorageVersionMigrationUpdate checks a change of a migration; what it is about stays.
func ValidateStorageVersionMigrationUpdate(m, old *StorageVersionMigration) validation.ErrorList {
	var r check.Report
	r.Add(ValidateStorageVersionMigration(m))
	check.Immutable(&r, validation.NewPath("spec"), &m.Spec, &old.Spec)
	return r.List()
}

// ValidateStorageVersionMigrationStatus checks a change of a migration's status: the version stays once it is
// set, and what is final remains.
func ValidateStorageVersionMigrationStatus(m, old *StorageVersionMigration) validation.ErrorList {
	var r check.Report
	version, p := validation.NewPath("status", "resourceVersion"), validation.NewPath("status", "conditions")
	if now := m.Status.ResourceVersion; now != "" {
		n, err := strconv.ParseUint(now, 10, 64)
		r.If(err != nil || strconv.FormatUint(n, 10) != now, version, now, "resource version is not well formed")
	}
	if before := old.Status.ResourceVersion; before != "" && before != m.Status.ResourceVersion {
		r.Invalid(version, m.Status.ResourceVersion, "field is immutable")
	}
	r.Add(metav1.ValidateConditions(m.Status.Conditions, p))
	succeeded, failed, running := m.Is(MigrationSucceeded), m.Is(MigrationFailed), m.Is(MigrationRunning)
	r.If(succeeded && failed, p, m.Status.Conditions, "Both success and failed conditions cannot be true at the same time")
	r.If(succeeded && running, p, m.Status.Conditions, "Running condition cannot be true when success condition is true")
	r.If(failed && running, p, m.Status.Conditions, "Running condition cannot be true when failed condition is true")
	r.If(old.Is(MigrationSucceeded) && !succeeded, p, m.Status.Conditions, "Success condition cannot be set to false once it is true")
	r.If(old.Is(MigrationFailed) && !failed, p, m.Status.Conditions, "Failed condition cannot be set to false once it is true")
	return r.List()
}

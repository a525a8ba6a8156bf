package crd

import (
	"context"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/registry"
)

// finalizer keeps a deleted definition until its objects are deleted.
const finalizer = "customresourcecleanup.apiextensions.k8s.io"

// Strategy returns how CustomResourceDefinition objects are stored: with the status that a [Controller]
// maintains, and until their custom resources are deleted.
func Strategy() registry.Strategy {
	s := registry.Strategy{Generation: registry.OnSpec, VersionRequired: true, BareFinalizers: true}
	s.PrepareCreate = func(_ context.Context, obj metav1.Object) {
		d := obj.(*definition)
		d.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		addStoredVersion(d)
	}
	s.PrepareUpdate = func(_ context.Context, obj, old metav1.Object) {
		d := obj.(*definition)
		d.Status = old.(*definition).Status
		d.Status.StoredVersions = slices.Clone(d.Status.StoredVersions)
		addStoredVersion(d)
	}
	s.Held = func(obj metav1.Object) bool {
		m := metav1.MetaOf(obj)
		return m.DeletionTimestamp.IsZero() || slices.Contains(m.Finalizers, finalizer)
	}
	s.MarkDeleted = func(obj metav1.Object) {
		d := obj.(*definition)
		d.DeletionGracePeriodSeconds = new(int64(0))
		if !slices.Contains(d.Finalizers, finalizer) {
			d.Finalizers = append(d.Finalizers, finalizer)
		}
		setCondition(&d.Status, condition{
			Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
			Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
		})
	}
	return s
}

// addStoredVersion adds the storage version to the versions objects may be stored in.
func addStoredVersion(d *definition) {
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Storage && !slices.Contains(d.Status.StoredVersions, v.Name) {
			d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
		}
	}
}

package api

import (
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagemigrationv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
)

// Gated are kinds that a server serves only if they are switched on, and that [Scheme] lacks.
type Gated struct {
	schema.GroupVersion
	// Feature is the feature gate of Kubernetes that the kinds need, besides their version.
	Feature string
	// AddToScheme registers the kinds, and AddRules attaches what a server applies to them.
	AddToScheme, AddRules func(*scheme.Scheme) error
}

// AllGated returns all kinds that can be switched on.
func AllGated() []Gated {
	return []Gated{
		{apiserverinternalv1alpha1.GroupVersion, "StorageVersionAPI", apiserverinternalv1alpha1.AddToScheme, apiserverinternalv1alpha1.AddRules},
		{certificatesv1beta1.GroupVersion, "ClusterTrustBundle", certificatesv1beta1.AddToScheme, certificatesv1beta1.AddRules},
		{certificatesv1beta1.GroupVersion, "PodCertificateRequest", certificatesv1beta1.AddRequests, certificatesv1beta1.AddRequestRules},
		{coordinationv1beta1.GroupVersion, "CoordinatedLeaderElection", coordinationv1beta1.AddToScheme, coordinationv1beta1.AddRules},
		{resourcev1alpha3.GroupVersion, "DRAResourcePoolStatus", resourcev1alpha3.AddToScheme, resourcev1alpha3.AddRules},
		{resourcev1beta2.GroupVersion, "DRADeviceTaintRules", resourcev1beta2.AddToScheme, resourcev1beta2.AddRules},
		{schedulingv1alpha2.GroupVersion, "GenericWorkload", schedulingv1alpha2.AddToScheme, schedulingv1alpha2.AddRules},
		{storagemigrationv1beta1.GroupVersion, "StorageVersionMigrator", storagemigrationv1beta1.AddToScheme, storagemigrationv1beta1.AddRules},
	}
}

// Package apidiscoveryv2 holds aggregated discovery documents (apidiscovery.k8s.io/v2).
package apidiscoveryv2

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// APIGroupDiscovery describes an API group and its versions.
type APIGroupDiscovery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Versions of the group, in order of preference.
	Versions []APIVersionDiscovery `json:"versions,omitempty" listType:"map" listMapKey:"version" protobuf:"bytes,2,rep,name=versions"`
}

// APIGroupDiscoveryList lists the API groups of a server.
type APIGroupDiscoveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Groups, in order of priority.
	Items []APIGroupDiscovery `json:"items" protobuf:"bytes,2,rep,name=items" openapi:"required"`
}

// APIResourceDiscovery describes a resource of a version.
type APIResourceDiscovery struct {
	// Plural name of the resource, as used in paths.
	Resource string `json:"resource" protobuf:"bytes,1,opt,name=resource" openapi:"required"`
	// Kind of the returned objects; an empty group or version means that of the enclosing group or version.
	ResponseKind *metav1.GroupVersionKind `json:"responseKind,omitempty" protobuf:"bytes,2,opt,name=responseKind"`
	// Scope of the resource: Cluster or Namespaced.
	Scope ResourceScope `json:"scope" protobuf:"bytes,3,opt,name=scope" openapi:"required"`
	// Lower-case singular name, for command line clients.
	SingularResource string `json:"singularResource" protobuf:"bytes,4,opt,name=singularResource" openapi:"required"`
	// Verbs the resource supports, such as get, list and watch.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,5,rep,name=verbs" openapi:"required"`
	// Short names accepted by command line clients.
	ShortNames []string `json:"shortNames,omitempty" listType:"set" protobuf:"bytes,6,rep,name=shortNames"`
	// Groups of resources that the resource belongs to, such as all.
	Categories []string `json:"categories,omitempty" listType:"set" protobuf:"bytes,7,rep,name=categories"`
	// Subresources of the resource.
	Subresources []APISubresourceDiscovery `json:"subresources,omitempty" listType:"map" listMapKey:"subresource" protobuf:"bytes,8,rep,name=subresources"`
}

// APISubresourceDiscovery describes a subresource of a resource.
type APISubresourceDiscovery struct {
	// Name of the subresource, as used in paths.
	Subresource string `json:"subresource" protobuf:"bytes,1,opt,name=subresource" openapi:"required"`
	// Kind of the returned object; unset if the subresource does not return API objects.
	ResponseKind *metav1.GroupVersionKind `json:"responseKind,omitempty" protobuf:"bytes,2,opt,name=responseKind"`
	// Kinds accepted in requests, if they differ from the returned kind.
	AcceptedTypes []metav1.GroupVersionKind `json:"acceptedTypes,omitempty" listType:"map" listMapKey:"group,version,kind" protobuf:"bytes,3,rep,name=acceptedTypes"`
	// Verbs the subresource supports.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,4,rep,name=verbs" openapi:"required"`
}

// APIVersionDiscovery describes a version of a group and its resources.
type APIVersionDiscovery struct {
	// Name of the version, such as v1.
	Version string `json:"version" protobuf:"bytes,1,opt,name=version" openapi:"required"`
	// Resources of the version.
	Resources []APIResourceDiscovery `json:"resources,omitempty" listType:"map" listMapKey:"resource" protobuf:"bytes,2,rep,name=resources"`
	// Current, or Stale if the server of the version was not reachable and this is an earlier copy.
	Freshness DiscoveryFreshness `json:"freshness,omitempty" protobuf:"bytes,3,opt,name=freshness"`
}

// DiscoveryFreshness enumerates the values of APIVersionDiscovery.Freshness.
type DiscoveryFreshness string

const (
	DiscoveryFreshnessCurrent DiscoveryFreshness = "Current"
	DiscoveryFreshnessStale   DiscoveryFreshness = "Stale"
)

// ResourceScope enumerates the values of APIResourceDiscovery.Scope.
type ResourceScope string

const (
	ScopeCluster   ResourceScope = "Cluster"
	ScopeNamespace ResourceScope = "Namespaced"
)

// Package apidiscoveryv2 holds aggregated discovery documents (apidiscovery.k8s.io/v2).
package apidiscoveryv2

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// APIGroupDiscovery is a group of the API with its versions.
type APIGroupDiscovery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Served versions, preferred one first.
	Versions []APIVersionDiscovery `json:"versions,omitempty" listType:"map" listMapKey:"version" protobuf:"bytes,2,rep,name=versions"`
}

// APIGroupDiscoveryList is all groups of the API.
type APIGroupDiscoveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The groups, in the order of their priority.
	Items []APIGroupDiscovery `json:"items" protobuf:"bytes,2,rep,name=items" openapi:"required"`
}

// APIResourceDiscovery is a resource of a version.
type APIResourceDiscovery struct {
	// Plural name in paths.
	Resource string `json:"resource" protobuf:"bytes,1,opt,name=resource" openapi:"required"`
	// Kind of what is returned; empty group and version mean those of the document.
	ResponseKind *metav1.GroupVersionKind `json:"responseKind,omitempty" protobuf:"bytes,2,opt,name=responseKind"`
	// Cluster or Namespaced.
	Scope ResourceScope `json:"scope" protobuf:"bytes,3,opt,name=scope" openapi:"required"`
	// Name for one object, in lower case, for command lines.
	SingularResource string `json:"singularResource" protobuf:"bytes,4,opt,name=singularResource" openapi:"required"`
	// What can be done, such as get, list and watch.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,5,rep,name=verbs" openapi:"required"`
	// Abbreviations for command lines.
	ShortNames []string `json:"shortNames,omitempty" listType:"set" protobuf:"bytes,6,rep,name=shortNames"`
	// Groups of resources it is part of, such as all.
	Categories []string `json:"categories,omitempty" listType:"set" protobuf:"bytes,7,rep,name=categories"`
	// What lies below each object.
	Subresources []APISubresourceDiscovery `json:"subresources,omitempty" listType:"map" listMapKey:"subresource" protobuf:"bytes,8,rep,name=subresources"`
}

// APISubresourceDiscovery is a subresource of a resource.
type APISubresourceDiscovery struct {
	// Name in paths, without the resource's.
	Subresource string `json:"subresource" protobuf:"bytes,1,opt,name=subresource" openapi:"required"`
	// Kind of what is returned; absent where there is none.
	ResponseKind *metav1.GroupVersionKind `json:"responseKind,omitempty" protobuf:"bytes,2,opt,name=responseKind"`
	// Kinds a request can send, when they differ from what is returned.
	AcceptedTypes []metav1.GroupVersionKind `json:"acceptedTypes,omitempty" listType:"map" listMapKey:"group,version,kind" protobuf:"bytes,3,rep,name=acceptedTypes"`
	// What can be done.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,4,rep,name=verbs" openapi:"required"`
}

// APIVersionDiscovery is a version of a group with its resources.
type APIVersionDiscovery struct {
	// Name of the version, such as v1.
	Version string `json:"version" protobuf:"bytes,1,opt,name=version" openapi:"required"`
	// Its resources.
	Resources []APIResourceDiscovery `json:"resources,omitempty" listType:"map" listMapKey:"resource" protobuf:"bytes,2,rep,name=resources"`
	// Current, or Stale when the server behind it did not answer and this is an older copy.
	Freshness DiscoveryFreshness `json:"freshness,omitempty" protobuf:"bytes,3,opt,name=freshness"`
}

// DiscoveryFreshness is what APIVersionDiscovery.Freshness can be.
type DiscoveryFreshness string

// The values of DiscoveryFreshness.
const (
	DiscoveryFreshnessCurrent DiscoveryFreshness = "Current"
	DiscoveryFreshnessStale   DiscoveryFreshness = "Stale"
)

// ResourceScope is what APIResourceDiscovery.Scope can be.
type ResourceScope string

// The values of ResourceScope.
const (
	ScopeCluster   ResourceScope = "Cluster"
	ScopeNamespace ResourceScope = "Namespaced"
)

// Package discoveryv1 holds EndpointSlice (discovery.k8s.io/v1).
package discoveryv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Endpoint is one place that serves.
type Endpoint struct {
	// Its addresses, which must be interchangeable; clients use the first.
	Addresses []string `json:"addresses" listType:"set" protobuf:"bytes,1,rep,name=addresses" openapi:"required"`
	// Whether it serves.
	Conditions EndpointConditions `json:"conditions,omitempty" protobuf:"bytes,2,opt,name=conditions"`
	// Label under the service's DNS name; for headless services.
	Hostname *string `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	// Object behind it, normally a pod.
	TargetRef *corev1.ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,4,opt,name=targetRef"`
	// Labels from the older version; read only.
	DeprecatedTopology map[string]string `json:"deprecatedTopology,omitempty" protobuf:"bytes,5,rep,name=deprecatedTopology"`
	// Node that the endpoint is on.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,6,opt,name=nodeName"`
	// Zone that the endpoint is in.
	Zone *string `json:"zone,omitempty" protobuf:"bytes,7,opt,name=zone"`
	// Who should use it.
	Hints *EndpointHints `json:"hints,omitempty" protobuf:"bytes,8,opt,name=hints"`
}

// EndpointConditions is whether an endpoint serves.
type EndpointConditions struct {
	// It takes new traffic; unset counts as true.
	Ready *bool `json:"ready,omitempty" protobuf:"varint,1,opt,name="`
	// It answers, even while it is ending.
	Serving *bool `json:"serving,omitempty" protobuf:"varint,2,opt,name="`
	// The endpoint is ending; it may still be serving.
	Terminating *bool `json:"terminating,omitempty" protobuf:"varint,3,opt,name="`
}

// EndpointHints is who should use an endpoint.
type EndpointHints struct {
	// Clients in these zones, at most 8.
	ForZones []ForZone `json:"forZones,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name="`
	// Clients on these nodes, at most 8.
	ForNodes []ForNode `json:"forNodes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
}

// EndpointPort is one port.
type EndpointPort struct {
	// Name of the service's port.
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name="`
	// TCP (the default), UDP or SCTP.
	Protocol *corev1.Protocol `json:"protocol,omitempty" protobuf:"bytes,2,opt,name=" openapi:"enum=SCTP|TCP|UDP"`
	// The number; all ports if unset.
	Port *int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
	// What is spoken there.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name="`
}

// EndpointSlice is some of the addresses behind a service.
type EndpointSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// IPv4, IPv6 or FQDN; cannot change.
	AddressType AddressType `json:"addressType" protobuf:"bytes,4,opt,name=addressType" openapi:"required,enum=FQDN|IPv4|IPv6"`
	// The endpoints, at most 1000.
	Endpoints []Endpoint `json:"endpoints" listType:"atomic" protobuf:"bytes,2,rep,name=endpoints"`
	// The ports, which all the endpoints have.
	Ports []EndpointPort `json:"ports" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

// ForNode names a node whose clients should use an endpoint.
type ForNode struct {
	// Node the clients run on.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// ForZone names a zone whose clients should use an endpoint.
type ForZone struct {
	// Zone the clients run in.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// EndpointSliceList is a list of EndpointSlice objects.
type EndpointSliceList = metav1.List[*EndpointSlice]

// AddressType is what EndpointSlice.AddressType can be.
type AddressType string

// The values of AddressType.
const (
	AddressTypeFQDN AddressType = "FQDN"
	AddressTypeIPv4 AddressType = "IPv4"
	AddressTypeIPv6 AddressType = "IPv6"
)

// Well-known names and values of this group.
const (
	LabelManagedBy   = "endpointslice.kubernetes.io/managed-by"
	LabelServiceName = "kubernetes.io/service-name"
	LabelSkipMirror  = "endpointslice.kubernetes.io/skip-mirror"
)

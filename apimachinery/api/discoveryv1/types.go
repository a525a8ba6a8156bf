// Package discoveryv1 holds EndpointSlice (discovery.k8s.io/v1).
package discoveryv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Endpoint is one backend of a service.
type Endpoint struct {
	// Addresses of the endpoint, of the type addressType, at least 1 and at most 100. IP addresses are in
	// canonical form. Only the first one has a meaning: kube-proxy ignores the others.
	Addresses []string `json:"addresses" listType:"set" protobuf:"bytes,1,rep,name=addresses" openapi:"required"`
	// Conditions of the endpoint.
	Conditions EndpointConditions `json:"conditions,omitempty" protobuf:"bytes,2,opt,name=conditions"`
	// Host name of the endpoint, a DNS label, used for its DNS name below that of a headless service.
	// Endpoints with the same host name are interchangeable.
	Hostname *string `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	// Object that the endpoint represents, usually a pod.
	TargetRef *corev1.ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,4,opt,name=targetRef"`
	// Topology labels of endpoints created through v1beta1. Deprecated: use zone and nodeName. Writes are
	// ignored.
	DeprecatedTopology map[string]string `json:"deprecatedTopology,omitempty" protobuf:"bytes,5,rep,name=deprecatedTopology"`
	// Name of the node that hosts the endpoint.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,6,opt,name=nodeName"`
	// Name of the zone that the endpoint is in.
	Zone *string `json:"zone,omitempty" protobuf:"bytes,7,opt,name=zone"`
	// Which clients should use the endpoint.
	Hints *EndpointHints `json:"hints,omitempty" protobuf:"bytes,8,opt,name=hints"`
}

// EndpointConditions describes whether an endpoint can be used.
type EndpointConditions struct {
	// Whether the endpoint accepts new traffic; unset means true. Normally serving and not terminating,
	// unless the service sets publishNotReadyAddresses.
	Ready *bool `json:"ready,omitempty" protobuf:"varint,1,opt,name="`
	// Whether the endpoint responds to requests, even if it is terminating; unset means true. For a pod, the
	// status of its condition Ready.
	Serving *bool `json:"serving,omitempty" protobuf:"varint,2,opt,name="`
	// Whether the endpoint is terminating; unset means false.
	Terminating *bool `json:"terminating,omitempty" protobuf:"varint,3,opt,name="`
}

// EndpointHints describes which clients should use an endpoint.
type EndpointHints struct {
	// Zones whose clients should use the endpoint; at most 8.
	ForZones []ForZone `json:"forZones,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name="`
	// Nodes whose clients should use the endpoint; at most 8.
	ForNodes []ForNode `json:"forNodes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
}

// EndpointPort is a port of the endpoints.
type EndpointPort struct {
	// Name of the port, that of the port of the service: unique in the slice, empty (the default) or a DNS
	// label.
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name="`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol *corev1.Protocol `json:"protocol,omitempty" protobuf:"bytes,2,opt,name=" openapi:"enum=SCTP|TCP|UDP"`
	// Port number; in slices of a service, its target port.
	Port *int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
	// Application protocol of the port: a standard service name of IANA, kubernetes.io/h2c, kubernetes.io/ws,
	// kubernetes.io/wss, or a name with another prefix.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name="`
}

// EndpointSlice holds a subset of the endpoints of a service.
type EndpointSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Type of the addresses: IPv4, IPv6 or FQDN (deprecated; no component uses it). Cannot be changed.
	AddressType AddressType `json:"addressType" protobuf:"bytes,4,opt,name=addressType" openapi:"required,enum=FQDN|IPv4|IPv6"`
	// Endpoints of the slice; at most 1000.
	Endpoints []Endpoint `json:"endpoints" listType:"atomic" protobuf:"bytes,2,rep,name=endpoints"`
	// Ports that all endpoints of the slice provide, at most 100, with unique names; slices of a service have
	// at least one.
	Ports []EndpointPort `json:"ports" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

// ForNode identifies a node whose clients should use an endpoint.
type ForNode struct {
	// Name of the node.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// ForZone identifies a zone whose clients should use an endpoint.
type ForZone struct {
	// Name of the zone.
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// EndpointSliceList is a list of EndpointSlice objects.
type EndpointSliceList = metav1.List[*EndpointSlice]

// AddressType enumerates the values of EndpointSlice.AddressType.
type AddressType string

const (
	AddressTypeFQDN AddressType = "FQDN"
	AddressTypeIPv4 AddressType = "IPv4"
	AddressTypeIPv6 AddressType = "IPv6"
)

// Well-known names and values.
const (
	LabelManagedBy   = "endpointslice.kubernetes.io/managed-by"
	LabelServiceName = "kubernetes.io/service-name"
	LabelSkipMirror  = "endpointslice.kubernetes.io/skip-mirror"
)

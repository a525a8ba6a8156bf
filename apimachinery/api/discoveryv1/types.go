// Package discoveryv1 holds EndpointSlice (discovery.k8s.io/v1).
package discoveryv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type Endpoint struct {
	Addresses          []string                `json:"addresses" listType:"set" protobuf:"bytes,1,rep,name=addresses" openapi:"required"`
	Conditions         EndpointConditions      `json:"conditions,omitempty" protobuf:"bytes,2,opt,name=conditions"`
	Hostname           *string                 `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	TargetRef          *corev1.ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,4,opt,name=targetRef"`
	DeprecatedTopology map[string]string       `json:"deprecatedTopology,omitempty" protobuf:"bytes,5,rep,name=deprecatedTopology"`
	NodeName           *string                 `json:"nodeName,omitempty" protobuf:"bytes,6,opt,name=nodeName"`
	Zone               *string                 `json:"zone,omitempty" protobuf:"bytes,7,opt,name=zone"`
	Hints              *EndpointHints          `json:"hints,omitempty" protobuf:"bytes,8,opt,name=hints"`
}

type EndpointConditions struct {
	Ready       *bool `json:"ready,omitempty" protobuf:"varint,1,opt,name="`
	Serving     *bool `json:"serving,omitempty" protobuf:"varint,2,opt,name="`
	Terminating *bool `json:"terminating,omitempty" protobuf:"varint,3,opt,name="`
}

type EndpointHints struct {
	ForZones []ForZone `json:"forZones,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name="`
	ForNodes []ForNode `json:"forNodes,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name="`
}

type EndpointPort struct {
	Name        *string          `json:"name,omitempty" protobuf:"bytes,1,opt,name="`
	Protocol    *corev1.Protocol `json:"protocol,omitempty" protobuf:"bytes,2,opt,name=" openapi:"enum=SCTP|TCP|UDP"`
	Port        *int32           `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
	AppProtocol *string          `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name="`
}

type EndpointSlice struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	AddressType       AddressType    `json:"addressType" protobuf:"bytes,4,opt,name=addressType" openapi:"required,enum=FQDN|IPv4|IPv6"`
	Endpoints         []Endpoint     `json:"endpoints" listType:"atomic" protobuf:"bytes,2,rep,name=endpoints"`
	Ports             []EndpointPort `json:"ports" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

type ForNode struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

type ForZone struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=" openapi:"required"`
}

// EndpointSliceList is a list of EndpointSlice objects.
type EndpointSliceList = metav1.List[*EndpointSlice]

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

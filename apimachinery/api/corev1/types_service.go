package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ClientIPConfig configures session affinity based on the client's IP address.
type ClientIPConfig struct {
	// Seconds after which the affinity of an idle client ends, 1 to 86400; defaults to 10800 (3 hours).
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,1,opt,name=timeoutSeconds"`
}

// EndpointAddress is one address of an endpoint.
type EndpointAddress struct {
	// IP address; must not be loopback, link-local or link-local multicast.
	IP string `json:"ip" protobuf:"bytes,1,opt,name=ip" openapi:"required"`
	// Host name of the endpoint.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,3,opt,name=hostname"`
	// Name of the node that hosts the endpoint.
	NodeName *string `json:"nodeName,omitempty" protobuf:"bytes,4,opt,name=nodeName"`
	// Object that the endpoint represents, usually a pod.
	TargetRef *ObjectReference `json:"targetRef,omitempty" protobuf:"bytes,2,opt,name=targetRef"`
}

// EndpointPort is a port of the endpoints.
type EndpointPort struct {
	// Name of the port, that of the service's port; may be empty if there is only one.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Port number at the addresses.
	Port int32 `json:"port" protobuf:"varint,2,opt,name=port" openapi:"required"`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" protobuf:"bytes,3,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Application protocol of the port, such as kubernetes.io/h2c.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,4,opt,name=appProtocol"`
}

// EndpointSubset is a set of addresses with common ports; the endpoints are all their combinations.
type EndpointSubset struct {
	// Addresses that are ready.
	Addresses []EndpointAddress `json:"addresses,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=addresses"`
	// Addresses that are not ready.
	NotReadyAddresses []EndpointAddress `json:"notReadyAddresses,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=notReadyAddresses"`
	// Ports of the addresses.
	Ports []EndpointPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=ports"`
}

// Endpoints lists the endpoints of a service. Deprecated; use EndpointSlice.
type Endpoints struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Sets of addresses with common ports.
	Subsets []EndpointSubset `json:"subsets,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subsets"`
}

// LoadBalancerIngress is one ingress point of a load balancer.
type LoadBalancerIngress struct {
	// IP address, for load balancers that are reached by address.
	IP string `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	// Host name, for load balancers that are reached by name.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	// How traffic to the address is delivered: VIP if the destination is the load balancer's address, Proxy
	// if it is that of the node or pod.
	IPMode *LoadBalancerIPMode `json:"ipMode,omitempty" protobuf:"bytes,3,opt,name=ipMode"`
	// Status of the ports of the ingress point.
	Ports []PortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

// LoadBalancerStatus is the status of a load balancer.
type LoadBalancerStatus struct {
	// Ingress points of the load balancer.
	Ingress []LoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

// PortStatus is the status of a port of a load balancer.
type PortStatus struct {
	// Port number of the service.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Protocol of the port: TCP, UDP or SCTP.
	Protocol Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	// Reason why the port does not work: a CamelCase name, or DOMAIN/NAME for a custom one; unset if the port
	// works.
	Error *string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// Service is a named network endpoint for a set of pods.
type Service struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the service.
	Spec ServiceSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status ServiceStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ServicePort describes a port of a service.
type ServicePort struct {
	// Name of the port, a DNS label; required if there are several ports.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Protocol of the port: TCP (the default), UDP or SCTP.
	Protocol Protocol `json:"protocol,omitempty" default:"TCP" protobuf:"bytes,2,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Application protocol of the port, such as kubernetes.io/h2c or the name of an IANA service.
	AppProtocol *string `json:"appProtocol,omitempty" protobuf:"bytes,6,opt,name=appProtocol"`
	// Port number of the service.
	Port int32 `json:"port" protobuf:"varint,3,opt,name=port" openapi:"required"`
	// Number or name of the port of the pods; the same as port if unset.
	TargetPort intstr.IntOrString `json:"targetPort,omitempty" protobuf:"bytes,4,opt,name=targetPort"`
	// Port number on every node, for the types NodePort and LoadBalancer; allocated by the server if unset.
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,5,opt,name=nodePort"`
}

// ServiceProxyOptions are the query options of a request to the proxy subresource of a service.
type ServiceProxyOptions struct {
	metav1.TypeMeta `json:",inline"`
	// Path of the request to the service.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
}

// ServiceSpec describes the desired behavior of a service.
type ServiceSpec struct {
	// Ports that the service exposes.
	Ports []ServicePort `json:"ports,omitempty" patchStrategy:"merge" patchMergeKey:"port" listType:"map" listMapKey:"port,protocol" protobuf:"bytes,1,rep,name=ports"`
	// Labels of the pods that traffic is routed to; if empty, the endpoints are managed externally. Ignored
	// for the type ExternalName.
	Selector map[string]string `json:"selector,omitempty" mapType:"atomic" protobuf:"bytes,2,rep,name=selector"`
	// IP address of the service, allocated by the server if unset; None for a headless service. The first of
	// clusterIPs.
	ClusterIP string `json:"clusterIP,omitempty" protobuf:"bytes,3,opt,name=clusterIP"`
	// IP addresses of the service, at most one per address family; None for a headless service.
	ClusterIPs []string `json:"clusterIPs,omitempty" listType:"atomic" protobuf:"bytes,18,rep,name=clusterIPs"`
	// How the service is exposed: ClusterIP (the default), NodePort, LoadBalancer or ExternalName.
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,4,opt,name=type" openapi:"enum=ClusterIP|ExternalName|LoadBalancer|NodePort"`
	// IP addresses for which nodes accept traffic of the service; routing traffic to the nodes is not managed
	// by Kubernetes.
	ExternalIPs []string `json:"externalIPs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=externalIPs"`
	// None (the default), or ClientIP to route the connections of a client to the same pod.
	SessionAffinity ServiceAffinity `json:"sessionAffinity,omitempty" protobuf:"bytes,7,opt,name=sessionAffinity" openapi:"enum=ClientIP|None"`
	// Requested IP address of the load balancer; support depends on the implementation. Deprecated.
	LoadBalancerIP string `json:"loadBalancerIP,omitempty" protobuf:"bytes,8,opt,name=loadBalancerIP"`
	// IP ranges of clients that are allowed to use the load balancer, if it supports such a restriction.
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=loadBalancerSourceRanges"`
	// DNS name that the service is an alias of; required for the type ExternalName.
	ExternalName string `json:"externalName,omitempty" protobuf:"bytes,10,opt,name=externalName"`
	// How external traffic is routed: Cluster (the default) to all endpoints; Local only to endpoints on the
	// node that receives it, preserving the client's IP address.
	ExternalTrafficPolicy ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty" protobuf:"bytes,11,opt,name=externalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Port of the nodes at which load balancers check for endpoints on the node; only for the type
	// LoadBalancer with externalTrafficPolicy Local. Cannot be changed once set.
	HealthCheckNodePort int32 `json:"healthCheckNodePort,omitempty" protobuf:"varint,12,opt,name=healthCheckNodePort"`
	// Whether endpoints are treated as ready even if their pods are not.
	PublishNotReadyAddresses bool `json:"publishNotReadyAddresses,omitempty" protobuf:"varint,13,opt,name=publishNotReadyAddresses"`
	// Configuration of session affinity.
	SessionAffinityConfig *SessionAffinityConfig `json:"sessionAffinityConfig,omitempty" protobuf:"bytes,14,opt,name=sessionAffinityConfig"`
	// Address families of the service, IPv4 or IPv6 or both, in order of preference; assigned by the server
	// if unset.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty" listType:"atomic" protobuf:"bytes,19,rep,name=ipFamilies"`
	// Whether the service uses one or two address families: SingleStack (the default), PreferDualStack or
	// RequireDualStack.
	IPFamilyPolicy *IPFamilyPolicy `json:"ipFamilyPolicy,omitempty" protobuf:"bytes,17,opt,name=ipFamilyPolicy" openapi:"enum=PreferDualStack|RequireDualStack|SingleStack"`
	// Whether node ports are allocated for the type LoadBalancer; defaults to true.
	AllocateLoadBalancerNodePorts *bool `json:"allocateLoadBalancerNodePorts,omitempty" protobuf:"varint,20,opt,name=allocateLoadBalancerNodePorts"`
	// Name of the load balancer implementation; the default one if unset. Cannot be changed once set.
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty" protobuf:"bytes,21,opt,name=loadBalancerClass"`
	// How traffic from within the cluster is routed: Cluster (the default) to all endpoints, Local only to
	// endpoints on the client's node.
	InternalTrafficPolicy *ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty" protobuf:"bytes,22,opt,name=internalTrafficPolicy" openapi:"enum=Cluster|Local"`
	// Preference for routing to close endpoints: PreferSameZone, PreferSameNode, or PreferClose (deprecated
	// alias of PreferSameZone).
	TrafficDistribution *string `json:"trafficDistribution,omitempty" protobuf:"bytes,23,opt,name=trafficDistribution"`
}

// ServiceStatus is the observed state of a service.
type ServiceStatus struct {
	// Status of the load balancer.
	LoadBalancer LoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
	// Conditions of the service.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,2,rep,name=conditions"`
}

// SessionAffinityConfig configures session affinity.
type SessionAffinityConfig struct {
	// Configuration of affinity based on the client's IP address.
	ClientIP *ClientIPConfig `json:"clientIP,omitempty" protobuf:"bytes,1,opt,name=clientIP"`
}

// EndpointsList is a list of Endpoints objects.
type EndpointsList = metav1.List[*Endpoints]

// ServiceList is a list of Service objects.
type ServiceList = metav1.List[*Service]

// IPFamily enumerates the values of ServiceSpec.IPFamilies.
type IPFamily string

const (
	IPFamilyUnknown IPFamily = ""
	IPv4Protocol    IPFamily = "IPv4"
	IPv6Protocol    IPFamily = "IPv6"
)

// IPFamilyPolicy enumerates the values of ServiceSpec.IPFamilyPolicy.
type IPFamilyPolicy string

const (
	IPFamilyPolicyPreferDualStack  IPFamilyPolicy = "PreferDualStack"
	IPFamilyPolicyRequireDualStack IPFamilyPolicy = "RequireDualStack"
	IPFamilyPolicySingleStack      IPFamilyPolicy = "SingleStack"
)

// LoadBalancerIPMode enumerates the values of LoadBalancerIngress.IPMode.
type LoadBalancerIPMode string

const (
	LoadBalancerIPModeProxy LoadBalancerIPMode = "Proxy"
	LoadBalancerIPModeVIP   LoadBalancerIPMode = "VIP"
)

// Protocol enumerates the values of ContainerPort.Protocol, EndpointPort.Protocol and other fields.
type Protocol string

const (
	ProtocolSCTP Protocol = "SCTP"
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
)

// ServiceAffinity enumerates the values of ServiceSpec.SessionAffinity.
type ServiceAffinity string

const (
	ServiceAffinityClientIP ServiceAffinity = "ClientIP"
	ServiceAffinityNone     ServiceAffinity = "None"
)

// ServiceExternalTrafficPolicy enumerates the values of ServiceSpec.ExternalTrafficPolicy.
type ServiceExternalTrafficPolicy string

const (
	ServiceExternalTrafficPolicyCluster     ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyLocal       ServiceExternalTrafficPolicy = "Local"
	ServiceExternalTrafficPolicyTypeCluster ServiceExternalTrafficPolicy = "Cluster"
	ServiceExternalTrafficPolicyTypeLocal   ServiceExternalTrafficPolicy = "Local"
)

// ServiceInternalTrafficPolicy enumerates the values of ServiceSpec.InternalTrafficPolicy.
type ServiceInternalTrafficPolicy string

const (
	ServiceInternalTrafficPolicyCluster ServiceInternalTrafficPolicy = "Cluster"
	ServiceInternalTrafficPolicyLocal   ServiceInternalTrafficPolicy = "Local"
)

// ServiceType enumerates the values of ServiceSpec.Type.
type ServiceType string

const (
	ServiceTypeClusterIP    ServiceType = "ClusterIP"
	ServiceTypeExternalName ServiceType = "ExternalName"
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
	ServiceTypeNodePort     ServiceType = "NodePort"
)

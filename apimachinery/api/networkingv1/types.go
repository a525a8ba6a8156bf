// Package networkingv1 holds Ingress, NetworkPolicy, and the service address kinds (networking.k8s.io/v1).
package networkingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// HTTPIngressPath associates a path with a backend.
type HTTPIngressPath struct {
	// Path to match; must begin with a slash for the types Exact and Prefix.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// How the path is matched: Exact, Prefix (path element by path element) or ImplementationSpecific.
	PathType *PathType `json:"pathType" protobuf:"bytes,3,opt,name=pathType" openapi:"required,enum=Exact|ImplementationSpecific|Prefix"`
	// Backend that matching requests are forwarded to.
	Backend IngressBackend `json:"backend" protobuf:"bytes,2,opt,name=backend" openapi:"required"`
}

// HTTPIngressRuleValue lists the paths of a host.
type HTTPIngressRuleValue struct {
	// Paths and their backends; the longest matching path takes precedence.
	Paths []HTTPIngressPath `json:"paths" listType:"atomic" protobuf:"bytes,1,rep,name=paths" openapi:"required"`
}

// IPAddress represents an IP address that is allocated to an object; its name is the address in canonical
// form.
type IPAddress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired state of the address.
	Spec IPAddressSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// IPAddressSpec describes the allocation of an IP address.
type IPAddressSpec struct {
	// Object that the address is allocated to. Cannot be changed.
	ParentRef *ParentReference `json:"parentRef,omitempty" protobuf:"bytes,1,opt,name=parentRef" openapi:"required"`
}

// IPBlock selects the addresses of a network, except for some.
type IPBlock struct {
	// Network in CIDR notation, such as 10.0.0.0/8.
	CIDR string `json:"cidr" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Networks within cidr that are excluded.
	Except []string `json:"except,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=except"`
}

// Ingress routes HTTP requests from outside the cluster to services, by host and path.
type Ingress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired routing rules and TLS configuration.
	Spec IngressSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Where the ingress can be reached; populated by its controller.
	Status IngressStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// IngressBackend is the destination of requests; exactly one of its fields is set.
type IngressBackend struct {
	// Service in the namespace of the ingress.
	Service *IngressServiceBackend `json:"service,omitempty" protobuf:"bytes,4,opt,name=service"`
	// Object of another kind in the namespace of the ingress, supported by the ingress controller.
	Resource *corev1.TypedLocalObjectReference `json:"resource,omitempty" protobuf:"bytes,3,opt,name=resource"`
}

// IngressClass defines a class of ingresses that one controller implements.
type IngressClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Controller of the class and its parameters.
	Spec IngressClassSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// IngressClassParametersReference identifies an object that holds parameters for the controller of a class.
type IngressClassParametersReference struct {
	// API group of the object; the core group if unset.
	APIGroup *string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=aPIGroup"`
	// Kind of the object.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Name of the object.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Whether the object is cluster-scoped or namespaced: Cluster (the default) or Namespace.
	Scope *string `json:"scope" protobuf:"bytes,4,opt,name=scope"`
	// Namespace of the object; required for scope Namespace, otherwise unset.
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,5,opt,name=namespace"`
}

// IngressClassSpec describes the implementation of an ingress class.
type IngressClassSpec struct {
	// Name of the controller that implements the class, domain/path. Cannot be changed.
	Controller string `json:"controller,omitempty" protobuf:"bytes,1,opt,name=controller"`
	// Object with further parameters for the controller.
	Parameters *IngressClassParametersReference `json:"parameters,omitempty" protobuf:"bytes,2,opt,name=parameters"`
}

// IngressLoadBalancerIngress is one entry point of an ingress.
type IngressLoadBalancerIngress struct {
	// IP address, for load balancers that are reached by address.
	IP string `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	// Host name, for load balancers that are reached by name.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	// Status of the ports of the entry point.
	Ports []IngressPortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

// IngressLoadBalancerStatus lists the entry points of an ingress.
type IngressLoadBalancerStatus struct {
	// Entry points of the load balancer.
	Ingress []IngressLoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

// IngressPortStatus is the status of a port of an ingress.
type IngressPortStatus struct {
	// Port number of the entry point.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// Protocol of the port: TCP, UDP or SCTP.
	Protocol corev1.Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	// Reason why the port does not work: a CamelCase name, or DOMAIN/NAME for a custom one; unset if the port
	// works.
	Error *string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// IngressRule routes the requests for a host.
type IngressRule struct {
	// Host name that the rule applies to; a leading *. matches exactly one label. All hosts if unset.
	Host             string `json:"host,omitempty" protobuf:"bytes,1,opt,name=host"`
	IngressRuleValue `json:",inline" protobuf:"bytes,2,opt,name=ingressRuleValue"`
}

// IngressRuleValue holds the routing of a rule.
type IngressRuleValue struct {
	// Backends of HTTP requests, by path.
	HTTP *HTTPIngressRuleValue `json:"http,omitempty" protobuf:"bytes,1,opt,name=http"`
}

// IngressServiceBackend identifies a port of a service.
type IngressServiceBackend struct {
	// Name of the service, in the namespace of the ingress.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Port of the service, by name or number.
	Port ServiceBackendPort `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
}

// IngressSpec describes the routing of an ingress.
type IngressSpec struct {
	// Name of the ingress class, which determines the controller. If unset on creation, the default class, if
	// there is one.
	IngressClassName *string `json:"ingressClassName,omitempty" protobuf:"bytes,4,opt,name=ingressClassName"`
	// Backend of requests that match no rule.
	DefaultBackend *IngressBackend `json:"defaultBackend,omitempty" protobuf:"bytes,1,opt,name=defaultBackend"`
	// TLS certificates by host.
	TLS []IngressTLS `json:"tls,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tls"`
	// Routing rules by host and path; requests that match none go to defaultBackend.
	Rules []IngressRule `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
}

// IngressStatus is the observed state of an ingress.
type IngressStatus struct {
	// Load balancer of the ingress.
	LoadBalancer IngressLoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
}

// IngressTLS is the TLS configuration of some hosts.
type IngressTLS struct {
	// Hosts that the certificate is valid for; if unset, the default of the ingress controller.
	Hosts []string `json:"hosts,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=hosts"`
	// Name of a secret of type kubernetes.io/tls with the certificate and its private key.
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,2,opt,name=secretName"`
}

// NetworkPolicy restricts the network traffic of pods. A pod that no policy selects is not restricted.
type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Selected pods and the traffic allowed for them.
	Spec NetworkPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// NetworkPolicyEgressRule allows outgoing traffic that matches both ports and to.
type NetworkPolicyEgressRule struct {
	// Destination ports; all ports if empty.
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	// Destinations of the traffic; all destinations if empty.
	To []NetworkPolicyPeer `json:"to,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=to"`
}

// NetworkPolicyIngressRule allows incoming traffic that matches both ports and from.
type NetworkPolicyIngressRule struct {
	// Ports of the selected pods that may be accessed; all ports if empty.
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	// Sources of the traffic; all sources if empty.
	From []NetworkPolicyPeer `json:"from,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=from"`
}

// NetworkPolicyPeer selects the other end of traffic: pods, or addresses; ipBlock excludes the other fields.
type NetworkPolicyPeer struct {
	// Selects pods by label: in the namespaces of namespaceSelector if set, otherwise in the namespace of the
	// policy. An empty selector selects all pods.
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty" protobuf:"bytes,1,opt,name=podSelector"`
	// Selects namespaces by label, and in them the pods of podSelector, or all pods if that is unset. An
	// empty selector selects all namespaces.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
	// Range of IP addresses.
	IPBlock *IPBlock `json:"ipBlock,omitempty" protobuf:"bytes,3,opt,name=ipBlock"`
}

// NetworkPolicyPort selects ports of a protocol.
type NetworkPolicyPort struct {
	// Protocol of the traffic: TCP (the default), UDP or SCTP.
	Protocol *corev1.Protocol `json:"protocol,omitempty" protobuf:"bytes,1,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Port number, or name of a port of the pods; all ports if unset.
	Port *intstr.IntOrString `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
	// Last port of a range that begins with port, which must then be a number.
	EndPort *int32 `json:"endPort,omitempty" protobuf:"varint,3,opt,name=endPort"`
}

// NetworkPolicySpec describes the traffic allowed for some pods. Policies are additive: traffic is allowed if
// any policy of the pod allows it.
type NetworkPolicySpec struct {
	// Selects the pods, in the namespace of the policy, that the policy applies to; all of them if empty.
	PodSelector metav1.LabelSelector `json:"podSelector" protobuf:"bytes,1,opt,name=podSelector"`
	// Incoming traffic to allow. If empty and policyTypes includes Ingress, none is allowed.
	Ingress []NetworkPolicyIngressRule `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ingress"`
	// Outgoing traffic to allow. If empty and policyTypes includes Egress, none is allowed.
	Egress []NetworkPolicyEgressRule `json:"egress,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=egress"`
	// Directions of traffic that the policy restricts: Ingress, Egress or both. If unset, Ingress, and Egress
	// if there are egress rules.
	PolicyTypes []PolicyType `json:"policyTypes,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=policyTypes"`
}

// ParentReference identifies the object that an IP address is allocated to.
type ParentReference struct {
	// API group of the object; empty for the core group.
	Group string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	// Plural name of the resource of the object.
	Resource string `json:"resource,omitempty" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
	// Namespace of the object; empty if it is cluster-scoped.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`
	// Name of the object.
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name" openapi:"required"`
}

// ServiceBackendPort identifies a port of a service; exactly one of its fields is set.
type ServiceBackendPort struct {
	// Name of the port.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Number of the port.
	Number int32 `json:"number,omitempty" protobuf:"varint,2,opt,name=number"`
}

// ServiceCIDR defines networks from which cluster IPs of services are allocated.
type ServiceCIDR struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired networks.
	Spec ServiceCIDRSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Observed state of the networks; populated by the system.
	Status ServiceCIDRStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ServiceCIDRSpec defines the networks of a ServiceCIDR.
type ServiceCIDRSpec struct {
	// Networks in CIDR notation: one IPv4, one IPv6, or one of each. Cannot be changed, except that the
	// second one can be added.
	CIDRs []string `json:"cidrs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=cidrs"`
}

// ServiceCIDRStatus is the observed state of a ServiceCIDR.
type ServiceCIDRStatus struct {
	// Conditions of the ServiceCIDR; Ready means that addresses are allocated from it.
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// IPAddressList is a list of IPAddress objects.
type IPAddressList = metav1.List[*IPAddress]

// IngressClassList is a list of IngressClass objects.
type IngressClassList = metav1.List[*IngressClass]

// IngressList is a list of Ingress objects.
type IngressList = metav1.List[*Ingress]

// NetworkPolicyList is a list of NetworkPolicy objects.
type NetworkPolicyList = metav1.List[*NetworkPolicy]

// ServiceCIDRList is a list of ServiceCIDR objects.
type ServiceCIDRList = metav1.List[*ServiceCIDR]

// PathType enumerates the values of HTTPIngressPath.PathType.
type PathType string

const (
	PathTypeExact                  PathType = "Exact"
	PathTypeImplementationSpecific PathType = "ImplementationSpecific"
	PathTypePrefix                 PathType = "Prefix"
)

// PolicyType enumerates the values of NetworkPolicySpec.PolicyTypes.
type PolicyType string

const (
	PolicyTypeEgress  PolicyType = "Egress"
	PolicyTypeIngress PolicyType = "Ingress"
)

// Well-known names and values.
const (
	AnnotationIsDefaultIngressClass               = "ingressclass.kubernetes.io/is-default-class"
	IngressClassParametersReferenceScopeCluster   = "Cluster"
	IngressClassParametersReferenceScopeNamespace = "Namespace"
	LabelIPAddressFamily                          = "ipaddress.kubernetes.io/ip-family"
	LabelManagedBy                                = "ipaddress.kubernetes.io/managed-by"
	ServiceCIDRConditionReady                     = "Ready"
	ServiceCIDRReasonTerminating                  = "Terminating"
)

// Package networkingv1 holds Ingress, NetworkPolicy, and the service address kinds (networking.k8s.io/v1).
package networkingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// HTTPIngressPath sends a path to a backend.
type HTTPIngressPath struct {
	// The path; must begin with a slash.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// Exact, Prefix (by path elements) or ImplementationSpecific.
	PathType *PathType `json:"pathType" protobuf:"bytes,3,opt,name=pathType" openapi:"required,enum=Exact|ImplementationSpecific|Prefix"`
	// Where matching requests go.
	Backend IngressBackend `json:"backend" protobuf:"bytes,2,opt,name=backend" openapi:"required"`
}

// HTTPIngressRuleValue is a list of paths.
type HTTPIngressRuleValue struct {
	// The paths; the longest match counts.
	Paths []HTTPIngressPath `json:"paths" listType:"atomic" protobuf:"bytes,1,rep,name=paths" openapi:"required"`
}

// IPAddress reserves an address for an object.
type IPAddress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Object that holds the address.
	Spec IPAddressSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// IPAddressSpec is who has an address.
type IPAddressSpec struct {
	// The object; cannot change.
	ParentRef *ParentReference `json:"parentRef,omitempty" protobuf:"bytes,1,opt,name=parentRef" openapi:"required"`
}

// IPBlock is a range of addresses.
type IPBlock struct {
	// Range of addresses, such as 10.0.0.0/8.
	CIDR string `json:"cidr" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Ranges inside it that do not belong.
	Except []string `json:"except,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=except"`
}

// Ingress routes HTTP requests from outside to services, by host and path.
type Ingress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Rules by host and path, and certificates.
	Spec IngressSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Where it listens; written by its controller.
	Status IngressStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// IngressBackend is where requests go; one of its fields is set.
type IngressBackend struct {
	// Service in the ingress's namespace; excludes resource.
	Service *IngressServiceBackend `json:"service,omitempty" protobuf:"bytes,4,opt,name=service"`
	// Another object in the namespace that the controller knows.
	Resource *corev1.TypedLocalObjectReference `json:"resource,omitempty" protobuf:"bytes,3,opt,name=resource"`
}

// IngressClass is a kind of ingress, served by one controller.
type IngressClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which controller, with which settings.
	Spec IngressClassSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// IngressClassParametersReference names an object with settings.
type IngressClassParametersReference struct {
	// Group of its kind; the core group unless set.
	APIGroup *string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=aPIGroup"`
	// Kind name in apiGroup.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Which object of the kind.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Cluster (the default) or Namespace.
	Scope *string `json:"scope" protobuf:"bytes,4,opt,name=scope"`
	// Its namespace, for scope Namespace.
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,5,opt,name=namespace"`
}

// IngressClassSpec is who serves a class.
type IngressClassSpec struct {
	// Name of the controller, domain/path; cannot change.
	Controller string `json:"controller,omitempty" protobuf:"bytes,1,opt,name=controller"`
	// Object with further settings.
	Parameters *IngressClassParametersReference `json:"parameters,omitempty" protobuf:"bytes,2,opt,name=parameters"`
}

// IngressLoadBalancerIngress is one address of an ingress.
type IngressLoadBalancerIngress struct {
	// Address, of load balancers known by address.
	IP string `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	// A name instead of an address.
	Hostname string `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	// State of its ports.
	Ports []IngressPortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

// IngressLoadBalancerStatus is the addresses of an ingress.
type IngressLoadBalancerStatus struct {
	// Points at which traffic enters.
	Ingress []IngressLoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

// IngressPortStatus is the state of a port of an ingress.
type IngressPortStatus struct {
	// Port number of the ingress.
	Port int32 `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	// TCP, UDP or SCTP.
	Protocol corev1.Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	// Why the port does not work: a CamelCase reason, or one with a domain as DOMAIN/REASON; absent if it
	// does.
	Error *string `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

// IngressRule is the paths of a host.
type IngressRule struct {
	// Host name, with *. in front for all one level below; all hosts unless set.
	Host             string `json:"host,omitempty" protobuf:"bytes,1,opt,name=host"`
	IngressRuleValue `json:",inline" protobuf:"bytes,2,opt,name=ingressRuleValue"`
}

// IngressRuleValue is what a rule does.
type IngressRuleValue struct {
	// Where HTTP requests go.
	HTTP *HTTPIngressRuleValue `json:"http,omitempty" protobuf:"bytes,1,opt,name=http"`
}

// IngressServiceBackend is a port of a service.
type IngressServiceBackend struct {
	// Service in the ingress' namespace.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Port of the service, by name or number.
	Port ServiceBackendPort `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
}

// IngressSpec is the rules of an ingress.
type IngressSpec struct {
	// Class, and so controller, that serves it; the default class unless set.
	IngressClassName *string `json:"ingressClassName,omitempty" protobuf:"bytes,4,opt,name=ingressClassName"`
	// Where requests go that match no rule.
	DefaultBackend *IngressBackend `json:"defaultBackend,omitempty" protobuf:"bytes,1,opt,name=defaultBackend"`
	// Certificates by host.
	TLS []IngressTLS `json:"tls,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tls"`
	// Where requests go, by host and path; what none matches goes to defaultBackend.
	Rules []IngressRule `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
}

// IngressStatus is where an ingress listens.
type IngressStatus struct {
	// Where the ingress can be reached.
	LoadBalancer IngressLoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
}

// IngressTLS is a certificate for hosts.
type IngressTLS struct {
	// Hosts of the certificate; all hosts of the rules unless set.
	Hosts []string `json:"hosts,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=hosts"`
	// Secret of type kubernetes.io/tls with the certificate and its key.
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,2,opt,name=secretName"`
}

// NetworkPolicy restricts who can talk to pods, and to whom pods can talk.
type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which pods, and what is allowed.
	Spec NetworkPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// NetworkPolicyEgressRule allows traffic to go out.
type NetworkPolicyEgressRule struct {
	// To these ports; all unless set.
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	// To these peers; anywhere unless set.
	To []NetworkPolicyPeer `json:"to,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=to"`
}

// NetworkPolicyIngressRule allows traffic to come in.
type NetworkPolicyIngressRule struct {
	// To these ports; all unless set.
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	// From these peers; anywhere unless set.
	From []NetworkPolicyPeer `json:"from,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=from"`
}

// NetworkPolicyPeer is pods or addresses; ipBlock stands alone.
type NetworkPolicyPeer struct {
	// Pods by label, in the policy's namespace unless namespaces are selected.
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty" protobuf:"bytes,1,opt,name=podSelector"`
	// Namespaces by label; all their pods unless pods are selected.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
	// A range of addresses.
	IPBlock *IPBlock `json:"ipBlock,omitempty" protobuf:"bytes,3,opt,name=ipBlock"`
}

// NetworkPolicyPort is ports of one protocol.
type NetworkPolicyPort struct {
	// TCP (the default), UDP or SCTP.
	Protocol *corev1.Protocol `json:"protocol,omitempty" protobuf:"bytes,1,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	// Number or name; all ports unless set.
	Port *intstr.IntOrString `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
	// Last port of a range that begins with port.
	EndPort *int32 `json:"endPort,omitempty" protobuf:"varint,3,opt,name=endPort"`
}

// NetworkPolicySpec is what is allowed for some pods; policies add up.
type NetworkPolicySpec struct {
	// Which pods of the namespace; all if empty.
	PodSelector metav1.LabelSelector `json:"podSelector" protobuf:"bytes,1,opt,name=podSelector"`
	// What may come in; nothing if empty and Ingress is among the types.
	Ingress []NetworkPolicyIngressRule `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ingress"`
	// What may go out; nothing if empty and Egress is among the types.
	Egress []NetworkPolicyEgressRule `json:"egress,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=egress"`
	// Ingress, Egress or both; Ingress, and Egress if there are such rules, unless set.
	PolicyTypes []PolicyType `json:"policyTypes,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=policyTypes"`
}

// ParentReference names the object that holds an address.
type ParentReference struct {
	// API group of the object; empty for the core group.
	Group string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	// Plural name of its resource.
	Resource string `json:"resource,omitempty" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
	// Its namespace; empty for cluster-scoped ones.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`
	// Its name.
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name" openapi:"required"`
}

// ServiceBackendPort names a port of a service; one of its fields is set.
type ServiceBackendPort struct {
	// Name of the port.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Number of the port.
	Number int32 `json:"number,omitempty" protobuf:"varint,2,opt,name=number"`
}

// ServiceCIDR is a range from which services get addresses.
type ServiceCIDR struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// One range, or one per address family.
	Spec ServiceCIDRSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Whether it is used.
	Status ServiceCIDRStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ServiceCIDRSpec is a range of addresses.
type ServiceCIDRSpec struct {
	// One range for each family; a second may be added.
	CIDRs []string `json:"cidrs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=cidrs"`
}

// ServiceCIDRStatus is the state of a range.
type ServiceCIDRStatus struct {
	// Ready says whether addresses are taken from the range.
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

// PathType is what HTTPIngressPath.PathType can be.
type PathType string

// The values of PathType.
const (
	PathTypeExact                  PathType = "Exact"
	PathTypeImplementationSpecific PathType = "ImplementationSpecific"
	PathTypePrefix                 PathType = "Prefix"
)

// PolicyType is what NetworkPolicySpec.PolicyTypes can be.
type PolicyType string

// The values of PolicyType.
const (
	PolicyTypeEgress  PolicyType = "Egress"
	PolicyTypeIngress PolicyType = "Ingress"
)

// Well-known names and values of this group.
const (
	AnnotationIsDefaultIngressClass               = "ingressclass.kubernetes.io/is-default-class"
	IngressClassParametersReferenceScopeCluster   = "Cluster"
	IngressClassParametersReferenceScopeNamespace = "Namespace"
	LabelIPAddressFamily                          = "ipaddress.kubernetes.io/ip-family"
	LabelManagedBy                                = "ipaddress.kubernetes.io/managed-by"
	ServiceCIDRConditionReady                     = "Ready"
	ServiceCIDRReasonTerminating                  = "Terminating"
)

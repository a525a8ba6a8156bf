// Package networkingv1 holds Ingress, NetworkPolicy, and the service address kinds (networking.k8s.io/v1).
package networkingv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type HTTPIngressPath struct {
	Path     string         `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	PathType *PathType      `json:"pathType" protobuf:"bytes,3,opt,name=pathType" openapi:"required,enum=Exact|ImplementationSpecific|Prefix"`
	Backend  IngressBackend `json:"backend" protobuf:"bytes,2,opt,name=backend" openapi:"required"`
}

type HTTPIngressRuleValue struct {
	Paths []HTTPIngressPath `json:"paths" listType:"atomic" protobuf:"bytes,1,rep,name=paths" openapi:"required"`
}

type IPAddress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              IPAddressSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

type IPAddressSpec struct {
	ParentRef *ParentReference `json:"parentRef,omitempty" protobuf:"bytes,1,opt,name=parentRef" openapi:"required"`
}

type IPBlock struct {
	CIDR   string   `json:"cidr" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Except []string `json:"except,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=except"`
}

type Ingress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              IngressSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            IngressStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type IngressBackend struct {
	Service  *IngressServiceBackend            `json:"service,omitempty" protobuf:"bytes,4,opt,name=service"`
	Resource *corev1.TypedLocalObjectReference `json:"resource,omitempty" protobuf:"bytes,3,opt,name=resource"`
}

type IngressClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              IngressClassSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type IngressClassParametersReference struct {
	APIGroup  *string `json:"apiGroup,omitempty" protobuf:"bytes,1,opt,name=aPIGroup"`
	Kind      string  `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	Name      string  `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	Scope     *string `json:"scope" protobuf:"bytes,4,opt,name=scope"`
	Namespace *string `json:"namespace,omitempty" protobuf:"bytes,5,opt,name=namespace"`
}

type IngressClassSpec struct {
	Controller string                           `json:"controller,omitempty" protobuf:"bytes,1,opt,name=controller"`
	Parameters *IngressClassParametersReference `json:"parameters,omitempty" protobuf:"bytes,2,opt,name=parameters"`
}

type IngressLoadBalancerIngress struct {
	IP       string              `json:"ip,omitempty" protobuf:"bytes,1,opt,name=ip"`
	Hostname string              `json:"hostname,omitempty" protobuf:"bytes,2,opt,name=hostname"`
	Ports    []IngressPortStatus `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=ports"`
}

type IngressLoadBalancerStatus struct {
	Ingress []IngressLoadBalancerIngress `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ingress"`
}

type IngressPortStatus struct {
	Port     int32           `json:"port" protobuf:"varint,1,opt,name=port" openapi:"required"`
	Protocol corev1.Protocol `json:"protocol" protobuf:"bytes,2,opt,name=protocol" openapi:"required,enum=SCTP|TCP|UDP"`
	Error    *string         `json:"error,omitempty" protobuf:"bytes,3,opt,name=error"`
}

type IngressRule struct {
	Host             string `json:"host,omitempty" protobuf:"bytes,1,opt,name=host"`
	IngressRuleValue `json:",inline" protobuf:"bytes,2,opt,name=ingressRuleValue"`
}

type IngressRuleValue struct {
	HTTP *HTTPIngressRuleValue `json:"http,omitempty" protobuf:"bytes,1,opt,name=http"`
}

type IngressServiceBackend struct {
	Name string             `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	Port ServiceBackendPort `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
}

type IngressSpec struct {
	IngressClassName *string         `json:"ingressClassName,omitempty" protobuf:"bytes,4,opt,name=ingressClassName"`
	DefaultBackend   *IngressBackend `json:"defaultBackend,omitempty" protobuf:"bytes,1,opt,name=defaultBackend"`
	TLS              []IngressTLS    `json:"tls,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=tls"`
	Rules            []IngressRule   `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
}

type IngressStatus struct {
	LoadBalancer IngressLoadBalancerStatus `json:"loadBalancer,omitempty" protobuf:"bytes,1,opt,name=loadBalancer"`
}

type IngressTLS struct {
	Hosts      []string `json:"hosts,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=hosts"`
	SecretName string   `json:"secretName,omitempty" protobuf:"bytes,2,opt,name=secretName"`
}

type NetworkPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              NetworkPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type NetworkPolicyEgressRule struct {
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	To    []NetworkPolicyPeer `json:"to,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=to"`
}

type NetworkPolicyIngressRule struct {
	Ports []NetworkPolicyPort `json:"ports,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=ports"`
	From  []NetworkPolicyPeer `json:"from,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=from"`
}

type NetworkPolicyPeer struct {
	PodSelector       *metav1.LabelSelector `json:"podSelector,omitempty" protobuf:"bytes,1,opt,name=podSelector"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
	IPBlock           *IPBlock              `json:"ipBlock,omitempty" protobuf:"bytes,3,opt,name=ipBlock"`
}

type NetworkPolicyPort struct {
	Protocol *corev1.Protocol    `json:"protocol,omitempty" protobuf:"bytes,1,opt,name=protocol" openapi:"enum=SCTP|TCP|UDP"`
	Port     *intstr.IntOrString `json:"port,omitempty" protobuf:"bytes,2,opt,name=port"`
	EndPort  *int32              `json:"endPort,omitempty" protobuf:"varint,3,opt,name=endPort"`
}

type NetworkPolicySpec struct {
	PodSelector metav1.LabelSelector       `json:"podSelector" protobuf:"bytes,1,opt,name=podSelector"`
	Ingress     []NetworkPolicyIngressRule `json:"ingress,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=ingress"`
	Egress      []NetworkPolicyEgressRule  `json:"egress,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=egress"`
	PolicyTypes []PolicyType               `json:"policyTypes,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=policyTypes"`
}

type ParentReference struct {
	Group     string `json:"group,omitempty" protobuf:"bytes,1,opt,name=group"`
	Resource  string `json:"resource,omitempty" protobuf:"bytes,2,opt,name=resource" openapi:"required"`
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`
	Name      string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name" openapi:"required"`
}

type ServiceBackendPort struct {
	Name   string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	Number int32  `json:"number,omitempty" protobuf:"varint,2,opt,name=number"`
}

type ServiceCIDR struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              ServiceCIDRSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            ServiceCIDRStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type ServiceCIDRSpec struct {
	CIDRs []string `json:"cidrs,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=cidrs"`
}

type ServiceCIDRStatus struct {
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

type PathType string

// The values of PathType.
const (
	PathTypeExact                  PathType = "Exact"
	PathTypeImplementationSpecific PathType = "ImplementationSpecific"
	PathTypePrefix                 PathType = "Prefix"
)

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

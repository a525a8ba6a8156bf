// Package rbacv1 holds Role, ClusterRole and their bindings (rbac.authorization.k8s.io/v1).
package rbacv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type AggregationRule struct {
	ClusterRoleSelectors []metav1.LabelSelector `json:"clusterRoleSelectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=clusterRoleSelectors"`
}

type ClusterRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Rules             []PolicyRule     `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
	AggregationRule   *AggregationRule `json:"aggregationRule,omitempty" protobuf:"bytes,3,opt,name=aggregationRule"`
}

type ClusterRoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Subjects          []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	RoleRef           RoleRef   `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

type PolicyRule struct {
	Verbs           []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	APIGroups       []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiGroups"`
	Resources       []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	ResourceNames   []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=resourceNames"`
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=nonResourceURLs"`
}

type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Rules             []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
}

type RoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Subjects          []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	RoleRef           RoleRef   `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

type RoleRef struct {
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	Kind     string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	Name     string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

type Subject struct {
	Kind      string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	APIGroup  string `json:"apiGroup,omitempty" protobuf:"bytes,2,opt,name=apiGroup"`
	Name      string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,4,opt,name=namespace"`
}

// ClusterRoleBindingList is a list of ClusterRoleBinding objects.
type ClusterRoleBindingList = metav1.List[*ClusterRoleBinding]

// ClusterRoleList is a list of ClusterRole objects.
type ClusterRoleList = metav1.List[*ClusterRole]

// RoleBindingList is a list of RoleBinding objects.
type RoleBindingList = metav1.List[*RoleBinding]

// RoleList is a list of Role objects.
type RoleList = metav1.List[*Role]

// Well-known names and values of this group.
const (
	APIGroupAll             = "*"
	AutoUpdateAnnotationKey = "rbac.authorization.kubernetes.io/autoupdate"
	GroupKind               = "Group"
	NonResourceAll          = "*"
	ResourceAll             = "*"
	ServiceAccountKind      = "ServiceAccount"
	UserKind                = "User"
	VerbAll                 = "*"
)

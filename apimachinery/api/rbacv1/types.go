// Package rbacv1 holds Role, ClusterRole and their bindings (rbac.authorization.k8s.io/v1).
package rbacv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// AggregationRule describes how the rules of a cluster role are combined from those of others.
type AggregationRule struct {
	// Selectors of the cluster roles whose rules are included; matching any one of them is enough.
	ClusterRoleSelectors []metav1.LabelSelector `json:"clusterRoleSelectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=clusterRoleSelectors"`
}

// ClusterRole is a set of permissions, granted cluster-wide by a cluster role binding or in one namespace by
// a role binding.
type ClusterRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Permissions of the role; maintained by the system if there is an aggregationRule.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
	// Cluster roles to combine the rules from.
	AggregationRule *AggregationRule `json:"aggregationRule,omitempty" protobuf:"bytes,3,opt,name=aggregationRule"`
}

// ClusterRoleBinding grants the permissions of a cluster role to subjects, cluster-wide.
type ClusterRoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Users, groups and service accounts that are granted the permissions.
	Subjects []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	// Cluster role whose permissions are granted. Cannot be changed.
	RoleRef RoleRef `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

// PolicyRule grants verbs on resources or on URL paths.
type PolicyRule struct {
	// Verbs that are granted, such as get; * grants all.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// API groups of the resources; the empty string is the core group, * matches all.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiGroups"`
	// Resources that the rule applies to, such as pods or pods/log; * matches all.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// Names of the objects that the rule applies to; all objects if empty.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=resourceNames"`
	// URL paths that the rule applies to; * is allowed as the final path segment and matches everything
	// below. In cluster roles only.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=nonResourceURLs"`
}

// Role is a set of permissions in one namespace.
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Permissions in the namespace of the role.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
}

// RoleBinding grants the permissions of a role or cluster role to subjects, in one namespace.
type RoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Users, groups and service accounts that are granted the permissions.
	Subjects []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	// Role in the same namespace, or cluster role, whose permissions are granted. Cannot be changed.
	RoleRef RoleRef `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

// RoleRef identifies a role or cluster role.
type RoleRef struct {
	// API group of the role: rbac.authorization.k8s.io.
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Kind of the role: Role or ClusterRole.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Name of the role.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

// Subject identifies a user, group or service account that permissions are granted to.
type Subject struct {
	// Kind of the subject: User, Group or ServiceAccount.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// API group of the subject: rbac.authorization.k8s.io for users and groups, empty for service accounts.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,2,opt,name=apiGroup"`
	// Name of the subject.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Namespace of the service account; empty for users and groups.
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

// Well-known names and values.
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

// Package rbacv1 holds Role, ClusterRole and their bindings (rbac.authorization.k8s.io/v1).
package rbacv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// AggregationRule makes a role of others.
type AggregationRule struct {
	// Labels of the roles to take over; any match counts.
	ClusterRoleSelectors []metav1.LabelSelector `json:"clusterRoleSelectors,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=clusterRoleSelectors"`
}

// ClusterRole is a set of rights in the whole cluster, or in any namespace it is bound in.
type ClusterRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The rights; written by the system if there is an aggregation rule.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
	// Cluster roles whose rights are taken over.
	AggregationRule *AggregationRule `json:"aggregationRule,omitempty" protobuf:"bytes,3,opt,name=aggregationRule"`
}

// ClusterRoleBinding gives a cluster role's rights to subjects everywhere.
type ClusterRoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Who gets the rights of the role, in all namespaces.
	Subjects []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	// The cluster role; cannot change.
	RoleRef RoleRef `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

// PolicyRule is one right: verbs on resources, or on URLs.
type PolicyRule struct {
	// What may be done, such as get; * is everything.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// Groups of the resources; empty string is the core group, * all.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiGroups"`
	// Resources, such as pods or pods/log; * is all.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// Only objects with these names; all unless set.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=resourceNames"`
	// URL paths, * at the end for all below; in cluster roles only.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=nonResourceURLs"`
}

// Role is a set of rights in one namespace.
type Role struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Rights in the role's namespace.
	Rules []PolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,2,rep,name=rules"`
}

// RoleBinding gives a role's rights to subjects in one namespace.
type RoleBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Who gets the rights of the role, in the binding's namespace.
	Subjects []Subject `json:"subjects,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=subjects"`
	// The role or cluster role; cannot change.
	RoleRef RoleRef `json:"roleRef" protobuf:"bytes,3,opt,name=roleRef" openapi:"required"`
}

// RoleRef names a role.
type RoleRef struct {
	// rbac.authorization.k8s.io.
	APIGroup string `json:"apiGroup" protobuf:"bytes,1,opt,name=apiGroup"`
	// Role or ClusterRole.
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind" openapi:"required"`
	// Role of that kind.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
}

// Subject is who gets rights.
type Subject struct {
	// User, Group or ServiceAccount.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// rbac.authorization.k8s.io for users and groups, empty for service accounts.
	APIGroup string `json:"apiGroup,omitempty" protobuf:"bytes,2,opt,name=apiGroup"`
	// Name of the subject.
	Name string `json:"name" protobuf:"bytes,3,opt,name=name" openapi:"required"`
	// Namespace of a service account.
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

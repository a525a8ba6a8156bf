// Package authorizationv1 holds subject access reviews (authorization.k8s.io/v1).
package authorizationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FieldSelectorAttributes is the field selector that a request is limited by.
type FieldSelectorAttributes struct {
	// Field selector as in the query of a request; excludes requirements. Reviews of the API server parse it,
	// webhooks should ignore it.
	RawSelector string `json:"rawSelector,omitempty" protobuf:"bytes,1,opt,name=rawSelector"`
	// Requirements of the parsed selector; all must be satisfied.
	Requirements []metav1.FieldSelectorRequirement `json:"requirements,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requirements"`
}

// LabelSelectorAttributes is the label selector that a request is limited by.
type LabelSelectorAttributes struct {
	// Label selector as in the query of a request; excludes requirements. Reviews of the API server parse it,
	// webhooks should ignore it.
	RawSelector string `json:"rawSelector,omitempty" protobuf:"bytes,1,opt,name=rawSelector"`
	// Requirements of the parsed selector; all must be satisfied.
	Requirements []metav1.LabelSelectorRequirement `json:"requirements,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requirements"`
}

// LocalSubjectAccessReview checks whether a user is allowed to perform an action in one namespace.
type LocalSubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// User and action to check; the namespace of the action must be that of the review.
	Spec SubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Result of the review; populated by the server.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NonResourceAttributes describes an action on a URL path outside the resource API.
type NonResourceAttributes struct {
	// URL path of the request.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// HTTP method of the request in lower case.
	Verb string `json:"verb,omitempty" protobuf:"bytes,2,opt,name=verb"`
}

// NonResourceRule lists verbs that are allowed on URL paths.
type NonResourceRule struct {
	// HTTP methods in lower case; * matches all.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// URL paths; * is allowed as the final path segment and matches everything below.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=nonResourceURLs"`
}

// ResourceAttributes describes an action on a resource.
type ResourceAttributes struct {
	// Namespace of the action; empty for all namespaces, and for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
	// Kubernetes verb of the action, such as get; * matches all.
	Verb string `json:"verb,omitempty" protobuf:"bytes,2,opt,name=verb"`
	// API group of the resource; * matches all.
	Group string `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	// API version of the resource; * matches all.
	Version string `json:"version,omitempty" protobuf:"bytes,4,opt,name=version"`
	// Plural name of the resource; * matches all.
	Resource string `json:"resource,omitempty" protobuf:"bytes,5,opt,name=resource"`
	// Subresource of the action, such as status or log; empty for the main resource.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,6,opt,name=subresource"`
	// Name of the object; empty for all objects.
	Name string `json:"name,omitempty" protobuf:"bytes,7,opt,name=name"`
	// Field selector that the action is limited by; it can limit access only.
	FieldSelector *FieldSelectorAttributes `json:"fieldSelector,omitempty" protobuf:"bytes,8,opt,name=fieldSelector"`
	// Label selector that the action is limited by; it can limit access only.
	LabelSelector *LabelSelectorAttributes `json:"labelSelector,omitempty" protobuf:"bytes,9,opt,name=labelSelector"`
}

// ResourceRule lists verbs that are allowed on resources.
type ResourceRule struct {
	// Kubernetes verbs, such as get; * matches all.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// API groups of the resources; * matches all.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiGroups"`
	// Plural names of the resources; * matches all, and */NAME the subresource NAME of all.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// Names of the objects; all objects if empty.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=resourceNames"`
}

// SelfSubjectAccessReview checks whether the requester is allowed to perform an action.
type SelfSubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Action to check.
	Spec SelfSubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Result of the review; populated by the server.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SelfSubjectAccessReviewSpec describes the action to check; exactly one of its fields is set.
type SelfSubjectAccessReviewSpec struct {
	// Action on a resource.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" protobuf:"bytes,1,opt,name=resourceAttributes"`
	// Action on a URL path outside the resource API.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" protobuf:"bytes,2,opt,name=nonResourceAttributes"`
}

// SelfSubjectRulesReview lists the actions that the requester is allowed to perform in a namespace.
type SelfSubjectRulesReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Namespace to list the allowed actions for.
	Spec SelfSubjectRulesReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Result of the review; populated by the server.
	Status SubjectRulesReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SelfSubjectRulesReviewSpec describes what to list.
type SelfSubjectRulesReviewSpec struct {
	// Namespace to list the allowed actions for; required.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
}

// SubjectAccessReview checks whether a user is allowed to perform an action.
type SubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// User and action to check.
	Spec SubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Result of the review; populated by the server.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SubjectAccessReviewSpec describes the user and action to check; exactly one of resourceAttributes and
// nonResourceAttributes is set, and user, groups or both.
type SubjectAccessReviewSpec struct {
	// Action on a resource.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" protobuf:"bytes,1,opt,name=resourceAttributes"`
	// Action on a URL path outside the resource API.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" protobuf:"bytes,2,opt,name=nonResourceAttributes"`
	// Name of the user; if set without groups, the user is considered a member of no group.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Groups that the user is a member of.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=groups"`
	// Additional attributes of the user, as provided by an authenticator.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,5,rep,name=extra"`
	// UID of the user.
	UID string `json:"uid,omitempty" protobuf:"bytes,6,opt,name=uid"`
}

// SubjectAccessReviewStatus is the result of an access review.
type SubjectAccessReviewStatus struct {
	// Whether the action is allowed.
	Allowed bool `json:"allowed" protobuf:"varint,1,opt,name=allowed" openapi:"required"`
	// Whether the action is explicitly denied, so that no other authorizer may allow it. If neither allowed
	// nor denied is true, the authorizer has no opinion.
	Denied bool `json:"denied,omitempty" protobuf:"varint,4,opt,name=denied"`
	// Human-readable reason for the result.
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	// Error that occurred during the check; the result may be valid nonetheless.
	EvaluationError string `json:"evaluationError,omitempty" protobuf:"bytes,3,opt,name=evaluationError"`
}

// SubjectRulesReviewStatus lists allowed actions; the list may be incomplete.
type SubjectRulesReviewStatus struct {
	// Actions allowed on resources, in no particular order; rules may overlap.
	ResourceRules []ResourceRule `json:"resourceRules" listType:"atomic" protobuf:"bytes,1,rep,name=resourceRules" openapi:"required"`
	// Actions allowed on URL paths outside the resource API.
	NonResourceRules []NonResourceRule `json:"nonResourceRules" listType:"atomic" protobuf:"bytes,2,rep,name=nonResourceRules" openapi:"required"`
	// Whether the lists are incomplete, for example because an authorizer cannot enumerate its rules.
	Incomplete bool `json:"incomplete" protobuf:"varint,3,opt,name=incomplete" openapi:"required"`
	// Error that occurred while evaluating the rules.
	EvaluationError string `json:"evaluationError,omitempty" protobuf:"bytes,4,opt,name=evaluationError"`
}

// ExtraValue is the type of SubjectAccessReviewSpec.Extra.
type ExtraValue []string

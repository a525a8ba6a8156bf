// Package authorizationv1 holds subject access reviews (authorization.k8s.io/v1).
package authorizationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// FieldSelectorAttributes is the field selector of a request.
type FieldSelectorAttributes struct {
	// The selector as the client wrote it, only for webhooks; excludes requirements.
	RawSelector string `json:"rawSelector,omitempty" protobuf:"bytes,1,opt,name=rawSelector"`
	// The selector term by term; all must hold.
	Requirements []metav1.FieldSelectorRequirement `json:"requirements,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requirements"`
}

// LabelSelectorAttributes is the label selector of a request.
type LabelSelectorAttributes struct {
	// The selector as the client wrote it, only for webhooks; excludes requirements.
	RawSelector string `json:"rawSelector,omitempty" protobuf:"bytes,1,opt,name=rawSelector"`
	// The selector term by term; all must hold.
	Requirements []metav1.LabelSelectorRequirement `json:"requirements,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=requirements"`
}

// LocalSubjectAccessReview asks whether somebody may do something in one namespace.
type LocalSubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Who would do what; namespace is that of the review.
	Spec SubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// NonResourceAttributes is a request for a URL path.
type NonResourceAttributes struct {
	// URL path of the request.
	Path string `json:"path,omitempty" protobuf:"bytes,1,opt,name=path"`
	// The method in lower case.
	Verb string `json:"verb,omitempty" protobuf:"bytes,2,opt,name=verb"`
}

// NonResourceRule is what somebody may do with URL paths.
type NonResourceRule struct {
	// What; * is everything.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// With which paths; * at the end is all below.
	NonResourceURLs []string `json:"nonResourceURLs,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=nonResourceURLs"`
}

// ResourceAttributes is a request for a resource.
type ResourceAttributes struct {
	// Namespace of the request; empty means all namespaces, or none for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
	// What is done, such as get; * is everything.
	Verb string `json:"verb,omitempty" protobuf:"bytes,2,opt,name=verb"`
	// API group; * is all.
	Group string `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	// API version; * is all.
	Version string `json:"version,omitempty" protobuf:"bytes,4,opt,name=version"`
	// Resource; * is all.
	Resource string `json:"resource,omitempty" protobuf:"bytes,5,opt,name=resource"`
	// Such as status or log; empty for the object itself, * for all.
	Subresource string `json:"subresource,omitempty" protobuf:"bytes,6,opt,name=subresource"`
	// Name of the object; empty is all.
	Name string `json:"name,omitempty" protobuf:"bytes,7,opt,name=name"`
	// Fields that narrow the request.
	FieldSelector *FieldSelectorAttributes `json:"fieldSelector,omitempty" protobuf:"bytes,8,opt,name=fieldSelector"`
	// Labels that narrow the request.
	LabelSelector *LabelSelectorAttributes `json:"labelSelector,omitempty" protobuf:"bytes,9,opt,name=labelSelector"`
}

// ResourceRule is what somebody may do with resources.
type ResourceRule struct {
	// What; * is everything.
	Verbs []string `json:"verbs" listType:"atomic" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// In which groups; * is all.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiGroups"`
	// With which resources; * is all.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// With which objects; all if empty.
	ResourceNames []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=resourceNames"`
}

// SelfSubjectAccessReview asks whether one may do something.
type SelfSubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What one would do.
	Spec SelfSubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SelfSubjectAccessReviewSpec is what is asked; one of its fields is set.
type SelfSubjectAccessReviewSpec struct {
	// A request for a resource. Excludes nonResourceAttributes.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" protobuf:"bytes,1,opt,name=resourceAttributes"`
	// A request for another URL path. Excludes resourceAttributes.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" protobuf:"bytes,2,opt,name=nonResourceAttributes"`
}

// SelfSubjectRulesReview asks for all one may do in a namespace.
type SelfSubjectRulesReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// For which namespace to list what one may do.
	Spec SelfSubjectRulesReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status SubjectRulesReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SelfSubjectRulesReviewSpec is the namespace that is asked about.
type SelfSubjectRulesReviewSpec struct {
	// Where the rules are to hold; must be set.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,1,opt,name=namespace"`
}

// SubjectAccessReview asks whether somebody may do something.
type SubjectAccessReview struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Who would do what.
	Spec SubjectAccessReviewSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What there is; written by the system.
	Status SubjectAccessReviewStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// SubjectAccessReviewSpec is who and what is asked about.
type SubjectAccessReviewSpec struct {
	// A resource; this or the next is set.
	ResourceAttributes *ResourceAttributes `json:"resourceAttributes,omitempty" protobuf:"bytes,1,opt,name=resourceAttributes"`
	// A request for another URL path. Excludes resourceAttributes.
	NonResourceAttributes *NonResourceAttributes `json:"nonResourceAttributes,omitempty" protobuf:"bytes,2,opt,name=nonResourceAttributes"`
	// Name of the user; without groups it is the only thing known of the user.
	User string `json:"user,omitempty" protobuf:"bytes,3,opt,name=user"`
	// Groups of that user.
	Groups []string `json:"groups,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=groups"`
	// More about that user.
	Extra map[string]ExtraValue `json:"extra,omitempty" protobuf:"bytes,5,rep,name=extra"`
	// Identity of that user.
	UID string `json:"uid,omitempty" protobuf:"bytes,6,opt,name=uid"`
}

// SubjectAccessReviewStatus is whether it is allowed.
type SubjectAccessReviewStatus struct {
	// The request would be let through.
	Allowed bool `json:"allowed" protobuf:"varint,1,opt,name=allowed" openapi:"required"`
	// It is refused, whatever others say.
	Denied bool `json:"denied,omitempty" protobuf:"varint,4,opt,name=denied"`
	// Why it was allowed or not, for people.
	Reason string `json:"reason,omitempty" protobuf:"bytes,2,opt,name=reason"`
	// What went wrong on the way; the answer may still be right.
	EvaluationError string `json:"evaluationError,omitempty" protobuf:"bytes,3,opt,name=evaluationError"`
}

// SubjectRulesReviewStatus is all one may do; it may be incomplete.
type SubjectRulesReviewStatus struct {
	// What one may do with resources; in no particular order, may overlap.
	ResourceRules []ResourceRule `json:"resourceRules" listType:"atomic" protobuf:"bytes,1,rep,name=resourceRules" openapi:"required"`
	// What one may do with other URL paths.
	NonResourceRules []NonResourceRule `json:"nonResourceRules" listType:"atomic" protobuf:"bytes,2,rep,name=nonResourceRules" openapi:"required"`
	// There may be more.
	Incomplete bool `json:"incomplete" protobuf:"varint,3,opt,name=incomplete" openapi:"required"`
	// What went wrong on the way.
	EvaluationError string `json:"evaluationError,omitempty" protobuf:"bytes,4,opt,name=evaluationError"`
}

// ExtraValue is what SubjectAccessReviewSpec.Extra can be.
type ExtraValue []string

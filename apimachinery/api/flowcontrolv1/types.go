// Package flowcontrolv1 holds priority and fairness configuration (flowcontrol.apiserver.k8s.io/v1).
package flowcontrolv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ExemptPriorityLevelConfiguration describes a priority level whose requests are never limited. Its fields
// are the only ones of the spec of the level exempt that can be changed.
type ExemptPriorityLevelConfiguration struct {
	// Weight of the level in the division of the server's concurrency among all levels; at least 0, defaults
	// to 0. It does not limit the level; the larger it is, the fewer seats other levels have.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	// Percentage, 0 to 100, of the level's nominal seats that other levels can borrow; defaults to 0.
	LendablePercent *int32 `json:"lendablePercent,omitempty" protobuf:"varint,2,opt,name=lendablePercent"`
}

// FlowDistinguisherMethod describes how the requests of a flow schema are divided into flows.
type FlowDistinguisherMethod struct {
	// What distinguishes flows: ByUser, the name of the user, or ByNamespace, the namespace of the requested
	// object. Requests without a namespace are one flow of ByNamespace.
	Type FlowDistinguisherMethodType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
}

// FlowSchema assigns matching requests to a priority level and to flows within it.
type FlowSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requests that the schema matches, and their priority level.
	Spec FlowSchemaSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status FlowSchemaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// FlowSchemaCondition describes one aspect of the state of a flow schema.
type FlowSchemaCondition struct {
	// Type of the condition, a CamelCase name.
	Type FlowSchemaConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// FlowSchemaSpec describes the requests of a flow schema and how they are handled.
type FlowSchemaSpec struct {
	// Priority level of the requests; required. The schema has no effect while the level does not exist.
	PriorityLevelConfiguration PriorityLevelConfigurationReference `json:"priorityLevelConfiguration" protobuf:"bytes,1,opt,name=priorityLevelConfiguration" openapi:"required"`
	// Order in which schemas are tried, 1 to 10000, lowest first; schemas of the same precedence are ordered
	// by name. Defaults to 1000; 1 is only for the schema exempt.
	MatchingPrecedence int32 `json:"matchingPrecedence" protobuf:"varint,2,opt,name=matchingPrecedence"`
	// How the requests are divided into flows, which are queued fairly; a single flow if unset.
	DistinguisherMethod *FlowDistinguisherMethod `json:"distinguisherMethod,omitempty" protobuf:"bytes,3,opt,name=distinguisherMethod"`
	// Rules that describe the requests; a request matches the schema if it matches any of them. No request
	// matches if empty.
	Rules []PolicyRulesWithSubjects `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=rules"`
}

// FlowSchemaStatus is the observed state of a flow schema.
type FlowSchemaStatus struct {
	// Conditions of the schema; Dangling is true while its priority level does not exist.
	Conditions []FlowSchemaCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// GroupSubject identifies a group of users.
type GroupSubject struct {
	// Name of the group; * matches all groups.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// LimitResponse describes how requests that cannot be executed immediately are handled.
type LimitResponse struct {
	// Queue to queue the requests until seats are free, as long as the queues have room; Reject to reject
	// them. Rejected requests fail with status 429.
	Type LimitResponseType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Configuration of the queues; required if type is Queue, otherwise unset.
	Queuing *QueuingConfiguration `json:"queuing,omitempty" protobuf:"bytes,2,opt,name=queuing"`
}

// LimitedPriorityLevelConfiguration describes a priority level whose requests are limited.
type LimitedPriorityLevelConfiguration struct {
	// Weight of the level in the division of the server's concurrency: its seats are those of the server
	// times its weight, divided by the weights of all levels and rounded up. At least 0; defaults to 30.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	// How requests are handled when all seats of the level are in use.
	LimitResponse LimitResponse `json:"limitResponse,omitempty" protobuf:"bytes,2,opt,name=limitResponse"`
	// Percentage, 0 to 100, of the level's seats that other levels can borrow while it does not use them;
	// defaults to 0.
	LendablePercent *int32 `json:"lendablePercent,omitempty" protobuf:"varint,3,opt,name=lendablePercent"`
	// Maximum number of seats that the level can borrow at a time, as a percentage of its own: at least 0,
	// also more than 100. Not limited if unset.
	BorrowingLimitPercent *int32 `json:"borrowingLimitPercent,omitempty" protobuf:"varint,4,opt,name=borrowingLimitPercent"`
}

// NonResourcePolicyRule matches requests for URL paths outside the resource API. Verb and path must match.
type NonResourcePolicyRule struct {
	// Verbs, which are HTTP methods in lower case, at least one; * matches all and must be the only entry.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// URL paths, such as /healthz or /metrics/*, at least one. A * is allowed only after the last slash; *
	// alone matches all and must be the only entry.
	NonResourceURLs []string `json:"nonResourceURLs" listType:"set" protobuf:"bytes,6,rep,name=nonResourceURLs" openapi:"required"`
}

// PolicyRulesWithSubjects matches requests by subject and by resource or path. One of the subjects and one of
// the resource or non-resource rules must match.
type PolicyRulesWithSubjects struct {
	// Users, groups and service accounts that the rule matches; must not be empty. The groups
	// system:authenticated and system:unauthenticated together match every request.
	Subjects []Subject `json:"subjects" listType:"atomic" protobuf:"bytes,1,rep,name=subjects" openapi:"required"`
	// Rules that match requests for resources; this or nonResourceRules must not be empty.
	ResourceRules []ResourcePolicyRule `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resourceRules"`
	// Rules that match requests for other URL paths; this or resourceRules must not be empty.
	NonResourceRules []NonResourcePolicyRule `json:"nonResourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=nonResourceRules"`
}

// PriorityLevelConfiguration describes a priority level: its share of the server's concurrency and how excess
// requests are handled.
type PriorityLevelConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Share of the level and its queues.
	Spec PriorityLevelConfigurationSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed state; populated by the system and read-only for users.
	Status PriorityLevelConfigurationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PriorityLevelConfigurationCondition describes one aspect of the state of a priority level.
type PriorityLevelConfigurationCondition struct {
	// Type of the condition, a CamelCase name.
	Type PriorityLevelConfigurationConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// PriorityLevelConfigurationReference identifies a priority level.
type PriorityLevelConfigurationReference struct {
	// Name of the priority level; required.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PriorityLevelConfigurationSpec describes a priority level.
type PriorityLevelConfigurationSpec struct {
	// Exempt if requests of the level are never limited, otherwise Limited. Exempt is for the level named
	// exempt, and for no other.
	Type PriorityLevelEnablement `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Limits of the level; required if type is Limited, otherwise unset.
	Limited *LimitedPriorityLevelConfiguration `json:"limited,omitempty" protobuf:"bytes,2,opt,name=limited"`
	// Concurrency reserved for the level; only if type is Exempt. The defaults of its fields apply if unset.
	Exempt *ExemptPriorityLevelConfiguration `json:"exempt,omitempty" protobuf:"bytes,3,opt,name=exempt"`
}

// PriorityLevelConfigurationStatus is the observed state of a priority level.
type PriorityLevelConfigurationStatus struct {
	// Conditions of the priority level.
	Conditions []PriorityLevelConfigurationCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// QueuingConfiguration describes the queues of a priority level.
type QueuingConfiguration struct {
	// Number of queues, which each API server has for itself, 1 to 10000000; defaults to 64. More queues
	// reduce the chance that flows share one; with 1, flows are not distinguished.
	Queues int32 `json:"queues" protobuf:"varint,1,opt,name=queues"`
	// Number of queues that a flow is dealt; a request joins the shortest of them. At least 1, at most
	// queues; defaults to 8. If it is much smaller than queues, a few flows cannot fill most of them.
	HandSize int32 `json:"handSize" protobuf:"varint,2,opt,name=handSize"`
	// Maximum number of requests waiting in a queue, at least 1; further ones are rejected. Defaults to 50.
	QueueLengthLimit int32 `json:"queueLengthLimit" protobuf:"varint,3,opt,name=queueLengthLimit"`
}

// ResourcePolicyRule matches requests for resources. Verb, group and resource must match, and either the
// request has no namespace and clusterScope is true, or its namespace matches.
type ResourcePolicyRule struct {
	// API verbs, such as get and list, at least one; * matches all and must be the only entry.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// API groups, at least one, the empty string for the core group; * matches all and must be the only
	// entry.
	APIGroups []string `json:"apiGroups" listType:"set" protobuf:"bytes,2,rep,name=apiGroups" openapi:"required"`
	// Plural names of resources, at least one, a subresource as resource/subresource; * matches all and must
	// be the only entry.
	Resources []string `json:"resources" listType:"set" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
	// Whether requests without a namespace match: for cluster-scoped resources, or across all namespaces. If
	// false, namespaces must not be empty.
	ClusterScope bool `json:"clusterScope,omitempty" protobuf:"varint,4,opt,name=clusterScope"`
	// Namespaces of the requests; * matches all namespaces, but not requests without one, and must be the
	// only entry. May be empty only with clusterScope.
	Namespaces []string `json:"namespaces" listType:"set" protobuf:"bytes,5,rep,name=namespaces"`
}

// ServiceAccountSubject identifies service accounts.
type ServiceAccountSubject struct {
	// Namespace of the service account.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the service account; * matches all of the namespace.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
}

// Subject matches the originator of a request; the field that corresponds to its kind is set.
type Subject struct {
	// Kind of the subject: User, Group or ServiceAccount.
	Kind SubjectKind `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// Matches a user; only if kind is User.
	User *UserSubject `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	// Matches a group; only if kind is Group.
	Group *GroupSubject `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	// Matches service accounts; only if kind is ServiceAccount.
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty" protobuf:"bytes,4,opt,name=serviceAccount"`
}

// UserSubject identifies a user.
type UserSubject struct {
	// Name of the user; * matches all users.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// FlowSchemaList is a list of FlowSchema objects.
type FlowSchemaList = metav1.List[*FlowSchema]

// PriorityLevelConfigurationList is a list of PriorityLevelConfiguration objects.
type PriorityLevelConfigurationList = metav1.List[*PriorityLevelConfiguration]

// ConditionStatus enumerates the values of FlowSchemaCondition.Status and
// PriorityLevelConfigurationCondition.Status.
type ConditionStatus string

const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// FlowDistinguisherMethodType enumerates the values of FlowDistinguisherMethod.Type.
type FlowDistinguisherMethodType string

const (
	FlowDistinguisherMethodByNamespaceType FlowDistinguisherMethodType = "ByNamespace"
	FlowDistinguisherMethodByUserType      FlowDistinguisherMethodType = "ByUser"
)

// FlowSchemaConditionType is the type of FlowSchemaCondition.Type.
type FlowSchemaConditionType string

// LimitResponseType enumerates the values of LimitResponse.Type.
type LimitResponseType string

const (
	LimitResponseTypeQueue  LimitResponseType = "Queue"
	LimitResponseTypeReject LimitResponseType = "Reject"
)

// PriorityLevelConfigurationConditionType is the type of PriorityLevelConfigurationCondition.Type.
type PriorityLevelConfigurationConditionType string

// PriorityLevelEnablement enumerates the values of PriorityLevelConfigurationSpec.Type.
type PriorityLevelEnablement string

const (
	PriorityLevelEnablementExempt  PriorityLevelEnablement = "Exempt"
	PriorityLevelEnablementLimited PriorityLevelEnablement = "Limited"
)

// SubjectKind enumerates the values of Subject.Kind.
type SubjectKind string

const (
	SubjectKindGroup          SubjectKind = "Group"
	SubjectKindServiceAccount SubjectKind = "ServiceAccount"
	SubjectKindUser           SubjectKind = "User"
)

// Well-known names and values.
const (
	FlowSchemaMaxMatchingPrecedence                      int32 = 10000
	APIGroupAll                                                = "*"
	AutoUpdateAnnotationKey                                    = "apf.kubernetes.io/autoupdate-spec"
	FlowSchemaConditionDangling                                = "Dangling"
	FlowSchemaNameCatchAll                                     = "catch-all"
	FlowSchemaNameExempt                                       = "exempt"
	NameAll                                                    = "*"
	NamespaceEvery                                             = "*"
	NonResourceAll                                             = "*"
	PriorityLevelConfigurationConditionConcurrencyShared       = "ConcurrencyShared"
	PriorityLevelConfigurationNameCatchAll                     = "catch-all"
	PriorityLevelConfigurationNameExempt                       = "exempt"
	ResourceAll                                                = "*"
	ResponseHeaderMatchedFlowSchemaUID                         = "X-Kubernetes-PF-FlowSchema-UID"
	ResponseHeaderMatchedPriorityLevelConfigurationUID         = "X-Kubernetes-PF-PriorityLevel-UID"
	VerbAll                                                    = "*"
)

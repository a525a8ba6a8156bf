// Package flowcontrolv1 holds priority and fairness configuration (flowcontrol.apiserver.k8s.io/v1).
package flowcontrolv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ExemptPriorityLevelConfiguration is a level without limits of its own.
type ExemptPriorityLevelConfiguration struct {
	// Share of the server set aside for the level, which others can borrow; 0 unless set.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	// Part of the share, 0 to 100, that other levels can borrow; 0 unless set.
	LendablePercent *int32 `json:"lendablePercent,omitempty" protobuf:"varint,2,opt,name=lendablePercent"`
}

// FlowDistinguisherMethod is how requests of a schema are split into flows.
type FlowDistinguisherMethod struct {
	// ByUser or ByNamespace: what makes requests one flow.
	Type FlowDistinguisherMethodType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
}

// FlowSchema puts requests into a priority level.
type FlowSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which requests it is for, and their level.
	Spec FlowSchemaSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status FlowSchemaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// FlowSchemaCondition is one fact about a schema.
type FlowSchemaCondition struct {
	// Name of the fact.
	Type FlowSchemaConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// FlowSchemaSpec is which requests go into which level.
type FlowSchemaSpec struct {
	// Level that requests go into; while it does not exist the schema is skipped.
	PriorityLevelConfiguration PriorityLevelConfigurationReference `json:"priorityLevelConfiguration" protobuf:"bytes,1,opt,name=priorityLevelConfiguration" openapi:"required"`
	// Schemas are tried from the lowest number up, 1 to 10000; 1000 unless set. Equal ones go by name.
	MatchingPrecedence int32 `json:"matchingPrecedence" protobuf:"varint,2,opt,name=matchingPrecedence"`
	// How requests are split into flows that are served in turn; one flow unless set.
	DistinguisherMethod *FlowDistinguisherMethod `json:"distinguisherMethod,omitempty" protobuf:"bytes,3,opt,name=distinguisherMethod"`
	// A request of which any rule says yes belongs to the schema; none belongs to it if empty.
	Rules []PolicyRulesWithSubjects `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=rules"`
}

// FlowSchemaStatus is the state of a schema.
type FlowSchemaStatus struct {
	// Dangling is true while the level does not exist.
	Conditions []FlowSchemaCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// GroupSubject is a group of users.
type GroupSubject struct {
	// The group; * for every group.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// LimitResponse is what becomes of requests beyond a limit.
type LimitResponse struct {
	// Queue, to let them wait, or Reject, to answer 429.
	Type LimitResponseType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// How requests wait; with Queue only.
	Queuing *QueuingConfiguration `json:"queuing,omitempty" protobuf:"bytes,2,opt,name=queuing"`
}

// LimitedPriorityLevelConfiguration is a level with a share of the server.
type LimitedPriorityLevelConfiguration struct {
	// Weight by which the server's concurrency is dealt out among levels; 30 unless set.
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	// What becomes of a request that finds all seats of the level taken.
	LimitResponse LimitResponse `json:"limitResponse,omitempty" protobuf:"bytes,2,opt,name=limitResponse"`
	// Part of the level's seats, 0 to 100, that others use while it does not; 0 unless set.
	LendablePercent *int32 `json:"lendablePercent,omitempty" protobuf:"varint,3,opt,name=lendablePercent"`
	// How far above its own seats the level can go with borrowed ones, in percent; no limit unless set.
	BorrowingLimitPercent *int32 `json:"borrowingLimitPercent,omitempty" protobuf:"varint,4,opt,name=borrowingLimitPercent"`
}

// NonResourcePolicyRule is requests for URL paths.
type NonResourcePolicyRule struct {
	// HTTP methods in lower case; * alone for all.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// Paths, such as /healthz or /metrics/*; * alone for all.
	NonResourceURLs []string `json:"nonResourceURLs" listType:"set" protobuf:"bytes,6,rep,name=nonResourceURLs" openapi:"required"`
}

// PolicyRulesWithSubjects is requests by who makes them and what for.
type PolicyRulesWithSubjects struct {
	// Who makes the request: any of them; must not be empty.
	Subjects []Subject `json:"subjects" listType:"atomic" protobuf:"bytes,1,rep,name=subjects" openapi:"required"`
	// What the request is for: any of these resources, or any of nonResourceRules.
	ResourceRules []ResourcePolicyRule `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resourceRules"`
	// URL paths outside the API of resources.
	NonResourceRules []NonResourcePolicyRule `json:"nonResourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=nonResourceRules"`
}

// PriorityLevelConfiguration is a share of the server for some requests.
type PriorityLevelConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Share of the server, and what happens beyond it.
	Spec PriorityLevelConfigurationSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What there is; written by the system.
	Status PriorityLevelConfigurationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// PriorityLevelConfigurationCondition is one fact about a level.
type PriorityLevelConfigurationCondition struct {
	// Name of the fact.
	Type PriorityLevelConfigurationConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

// PriorityLevelConfigurationReference names a level.
type PriorityLevelConfigurationReference struct {
	// Name of the level; must be set.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PriorityLevelConfigurationSpec is the share of a level.
type PriorityLevelConfigurationSpec struct {
	// Exempt, never made to wait, or Limited.
	Type PriorityLevelEnablement `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Seats and queues; for Limited and only then.
	Limited *LimitedPriorityLevelConfiguration `json:"limited,omitempty" protobuf:"bytes,2,opt,name=limited"`
	// What is set aside; for Exempt only.
	Exempt *ExemptPriorityLevelConfiguration `json:"exempt,omitempty" protobuf:"bytes,3,opt,name=exempt"`
}

// PriorityLevelConfigurationStatus is the state of a level.
type PriorityLevelConfigurationStatus struct {
	// What was found out about the level, by type.
	Conditions []PriorityLevelConfigurationCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// QueuingConfiguration is how requests wait in a level.
type QueuingConfiguration struct {
	// Queues that flows are spread over; 64 unless set. More make it rarer that flows share one.
	Queues int32 `json:"queues" protobuf:"varint,1,opt,name=queues"`
	// Queues dealt to each flow, of which it joins the shortest; 8 unless set, at most queues.
	HandSize int32 `json:"handSize" protobuf:"varint,2,opt,name=handSize"`
	// Requests that one queue holds before it refuses; 50 unless set.
	QueueLengthLimit int32 `json:"queueLengthLimit" protobuf:"varint,3,opt,name=queueLengthLimit"`
}

// ResourcePolicyRule is requests for resources.
type ResourcePolicyRule struct {
	// Verbs of the API, such as get and list; * alone for all.
	Verbs []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	// Groups of the resources, "" for the core group; * alone for all.
	APIGroups []string `json:"apiGroups" listType:"set" protobuf:"bytes,2,rep,name=apiGroups" openapi:"required"`
	// Plural names, a subresource as resource/subresource; * alone for all.
	Resources []string `json:"resources" listType:"set" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
	// Requests without a namespace: for cluster-scoped resources, or across all namespaces.
	ClusterScope bool `json:"clusterScope,omitempty" protobuf:"varint,4,opt,name=clusterScope"`
	// Requests in these namespaces; * alone for all. Empty only with clusterScope.
	Namespaces []string `json:"namespaces" listType:"set" protobuf:"bytes,5,rep,name=namespaces"`
}

// ServiceAccountSubject is a service account.
type ServiceAccountSubject struct {
	// Namespace of the account.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the account; * for all of the namespace.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
}

// Subject is who makes requests; the field of its kind is set.
type Subject struct {
	// User, Group or ServiceAccount.
	Kind SubjectKind `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	// The user; for User only.
	User *UserSubject `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	// The group; for Group only.
	Group *GroupSubject `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	// The account; for ServiceAccount only.
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty" protobuf:"bytes,4,opt,name=serviceAccount"`
}

// UserSubject is a user.
type UserSubject struct {
	// The user; * for every user.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// FlowSchemaList is a list of FlowSchema objects.
type FlowSchemaList = metav1.List[*FlowSchema]

// PriorityLevelConfigurationList is a list of PriorityLevelConfiguration objects.
type PriorityLevelConfigurationList = metav1.List[*PriorityLevelConfiguration]

// ConditionStatus is what FlowSchemaCondition.Status and PriorityLevelConfigurationCondition.Status can be.
type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// FlowDistinguisherMethodType is what FlowDistinguisherMethod.Type can be.
type FlowDistinguisherMethodType string

// The values of FlowDistinguisherMethodType.
const (
	FlowDistinguisherMethodByNamespaceType FlowDistinguisherMethodType = "ByNamespace"
	FlowDistinguisherMethodByUserType      FlowDistinguisherMethodType = "ByUser"
)

// FlowSchemaConditionType is what FlowSchemaCondition.Type can be.
type FlowSchemaConditionType string

// LimitResponseType is what LimitResponse.Type can be.
type LimitResponseType string

// The values of LimitResponseType.
const (
	LimitResponseTypeQueue  LimitResponseType = "Queue"
	LimitResponseTypeReject LimitResponseType = "Reject"
)

// PriorityLevelConfigurationConditionType is what PriorityLevelConfigurationCondition.Type can be.
type PriorityLevelConfigurationConditionType string

// PriorityLevelEnablement is what PriorityLevelConfigurationSpec.Type can be.
type PriorityLevelEnablement string

// The values of PriorityLevelEnablement.
const (
	PriorityLevelEnablementExempt  PriorityLevelEnablement = "Exempt"
	PriorityLevelEnablementLimited PriorityLevelEnablement = "Limited"
)

// SubjectKind is what Subject.Kind can be.
type SubjectKind string

// The values of SubjectKind.
const (
	SubjectKindGroup          SubjectKind = "Group"
	SubjectKindServiceAccount SubjectKind = "ServiceAccount"
	SubjectKindUser           SubjectKind = "User"
)

// Well-known names and values of this group.
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

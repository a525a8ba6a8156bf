// Package flowcontrolv1 holds priority and fairness configuration (flowcontrol.apiserver.k8s.io/v1).
package flowcontrolv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ExemptPriorityLevelConfiguration is a level without limits of its own.
type ExemptPriorityLevelConfiguration struct {
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	LendablePercent          *int32 `json:"lendablePercent,omitempty" protobuf:"varint,2,opt,name=lendablePercent"`
}

// FlowDistinguisherMethod is how requests of a schema are split into flows.
type FlowDistinguisherMethod struct {
	Type FlowDistinguisherMethodType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
}

// FlowSchema puts requests into a priority level.
type FlowSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
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
	PriorityLevelConfiguration PriorityLevelConfigurationReference `json:"priorityLevelConfiguration" protobuf:"bytes,1,opt,name=priorityLevelConfiguration" openapi:"required"`
	MatchingPrecedence         int32                               `json:"matchingPrecedence" protobuf:"varint,2,opt,name=matchingPrecedence"`
	DistinguisherMethod        *FlowDistinguisherMethod            `json:"distinguisherMethod,omitempty" protobuf:"bytes,3,opt,name=distinguisherMethod"`
	Rules                      []PolicyRulesWithSubjects           `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=rules"`
}

// FlowSchemaStatus is the state of a schema.
type FlowSchemaStatus struct {
	Conditions []FlowSchemaCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// GroupSubject is a group of users.
type GroupSubject struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// LimitResponse is what becomes of requests beyond a limit.
type LimitResponse struct {
	Type    LimitResponseType     `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Queuing *QueuingConfiguration `json:"queuing,omitempty" protobuf:"bytes,2,opt,name=queuing"`
}

// LimitedPriorityLevelConfiguration is a level with a share of the server.
type LimitedPriorityLevelConfiguration struct {
	NominalConcurrencyShares *int32        `json:"nominalConcurrencyShares" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	LimitResponse            LimitResponse `json:"limitResponse,omitempty" protobuf:"bytes,2,opt,name=limitResponse"`
	LendablePercent          *int32        `json:"lendablePercent,omitempty" protobuf:"varint,3,opt,name=lendablePercent"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent,omitempty" protobuf:"varint,4,opt,name=borrowingLimitPercent"`
}

// NonResourcePolicyRule is requests for URL paths.
type NonResourcePolicyRule struct {
	Verbs           []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	NonResourceURLs []string `json:"nonResourceURLs" listType:"set" protobuf:"bytes,6,rep,name=nonResourceURLs" openapi:"required"`
}

// PolicyRulesWithSubjects is requests by who makes them and what for.
type PolicyRulesWithSubjects struct {
	Subjects         []Subject               `json:"subjects" listType:"atomic" protobuf:"bytes,1,rep,name=subjects" openapi:"required"`
	ResourceRules    []ResourcePolicyRule    `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resourceRules"`
	NonResourceRules []NonResourcePolicyRule `json:"nonResourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=nonResourceRules"`
}

// PriorityLevelConfiguration is a share of the server for some requests.
type PriorityLevelConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What is wanted.
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
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// PriorityLevelConfigurationSpec is the share of a level.
type PriorityLevelConfigurationSpec struct {
	Type    PriorityLevelEnablement            `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Limited *LimitedPriorityLevelConfiguration `json:"limited,omitempty" protobuf:"bytes,2,opt,name=limited"`
	Exempt  *ExemptPriorityLevelConfiguration  `json:"exempt,omitempty" protobuf:"bytes,3,opt,name=exempt"`
}

// PriorityLevelConfigurationStatus is the state of a level.
type PriorityLevelConfigurationStatus struct {
	Conditions []PriorityLevelConfigurationCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

// QueuingConfiguration is how requests wait in a level.
type QueuingConfiguration struct {
	Queues           int32 `json:"queues" protobuf:"varint,1,opt,name=queues"`
	HandSize         int32 `json:"handSize" protobuf:"varint,2,opt,name=handSize"`
	QueueLengthLimit int32 `json:"queueLengthLimit" protobuf:"varint,3,opt,name=queueLengthLimit"`
}

// ResourcePolicyRule is requests for resources.
type ResourcePolicyRule struct {
	Verbs        []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	APIGroups    []string `json:"apiGroups" listType:"set" protobuf:"bytes,2,rep,name=apiGroups" openapi:"required"`
	Resources    []string `json:"resources" listType:"set" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
	ClusterScope bool     `json:"clusterScope,omitempty" protobuf:"varint,4,opt,name=clusterScope"`
	Namespaces   []string `json:"namespaces" listType:"set" protobuf:"bytes,5,rep,name=namespaces"`
}

// ServiceAccountSubject is a service account.
type ServiceAccountSubject struct {
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	Name      string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
}

// Subject is who makes requests; the field of its kind is set.
type Subject struct {
	Kind           SubjectKind            `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	User           *UserSubject           `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	Group          *GroupSubject          `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty" protobuf:"bytes,4,opt,name=serviceAccount"`
}

// UserSubject is a user.
type UserSubject struct {
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

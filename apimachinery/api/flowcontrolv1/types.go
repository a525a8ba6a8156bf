// Package flowcontrolv1 holds priority and fairness configuration (flowcontrol.apiserver.k8s.io/v1).
package flowcontrolv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

type ExemptPriorityLevelConfiguration struct {
	NominalConcurrencyShares *int32 `json:"nominalConcurrencyShares,omitempty" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	LendablePercent          *int32 `json:"lendablePercent,omitempty" protobuf:"varint,2,opt,name=lendablePercent"`
}

type FlowDistinguisherMethod struct {
	Type FlowDistinguisherMethodType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
}

type FlowSchema struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              FlowSchemaSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            FlowSchemaStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type FlowSchemaCondition struct {
	Type               FlowSchemaConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	Status             ConditionStatus         `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	Reason             string                  `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	Message            string                  `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

type FlowSchemaSpec struct {
	PriorityLevelConfiguration PriorityLevelConfigurationReference `json:"priorityLevelConfiguration" protobuf:"bytes,1,opt,name=priorityLevelConfiguration" openapi:"required"`
	MatchingPrecedence         int32                               `json:"matchingPrecedence" protobuf:"varint,2,opt,name=matchingPrecedence"`
	DistinguisherMethod        *FlowDistinguisherMethod            `json:"distinguisherMethod,omitempty" protobuf:"bytes,3,opt,name=distinguisherMethod"`
	Rules                      []PolicyRulesWithSubjects           `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=rules"`
}

type FlowSchemaStatus struct {
	Conditions []FlowSchemaCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

type GroupSubject struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

type LimitResponse struct {
	Type    LimitResponseType     `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Queuing *QueuingConfiguration `json:"queuing,omitempty" protobuf:"bytes,2,opt,name=queuing"`
}

type LimitedPriorityLevelConfiguration struct {
	NominalConcurrencyShares *int32        `json:"nominalConcurrencyShares" protobuf:"varint,1,opt,name=nominalConcurrencyShares"`
	LimitResponse            LimitResponse `json:"limitResponse,omitempty" protobuf:"bytes,2,opt,name=limitResponse"`
	LendablePercent          *int32        `json:"lendablePercent,omitempty" protobuf:"varint,3,opt,name=lendablePercent"`
	BorrowingLimitPercent    *int32        `json:"borrowingLimitPercent,omitempty" protobuf:"varint,4,opt,name=borrowingLimitPercent"`
}

type NonResourcePolicyRule struct {
	Verbs           []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	NonResourceURLs []string `json:"nonResourceURLs" listType:"set" protobuf:"bytes,6,rep,name=nonResourceURLs" openapi:"required"`
}

type PolicyRulesWithSubjects struct {
	Subjects         []Subject               `json:"subjects" listType:"atomic" protobuf:"bytes,1,rep,name=subjects" openapi:"required"`
	ResourceRules    []ResourcePolicyRule    `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=resourceRules"`
	NonResourceRules []NonResourcePolicyRule `json:"nonResourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=nonResourceRules"`
}

type PriorityLevelConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              PriorityLevelConfigurationSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            PriorityLevelConfigurationStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type PriorityLevelConfigurationCondition struct {
	Type               PriorityLevelConfigurationConditionType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type"`
	Status             ConditionStatus                         `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
	LastTransitionTime metav1.Time                             `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	Reason             string                                  `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	Message            string                                  `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
}

type PriorityLevelConfigurationReference struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

type PriorityLevelConfigurationSpec struct {
	Type    PriorityLevelEnablement            `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Limited *LimitedPriorityLevelConfiguration `json:"limited,omitempty" protobuf:"bytes,2,opt,name=limited"`
	Exempt  *ExemptPriorityLevelConfiguration  `json:"exempt,omitempty" protobuf:"bytes,3,opt,name=exempt"`
}

type PriorityLevelConfigurationStatus struct {
	Conditions []PriorityLevelConfigurationCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
}

type QueuingConfiguration struct {
	Queues           int32 `json:"queues" protobuf:"varint,1,opt,name=queues"`
	HandSize         int32 `json:"handSize" protobuf:"varint,2,opt,name=handSize"`
	QueueLengthLimit int32 `json:"queueLengthLimit" protobuf:"varint,3,opt,name=queueLengthLimit"`
}

type ResourcePolicyRule struct {
	Verbs        []string `json:"verbs" listType:"set" protobuf:"bytes,1,rep,name=verbs" openapi:"required"`
	APIGroups    []string `json:"apiGroups" listType:"set" protobuf:"bytes,2,rep,name=apiGroups" openapi:"required"`
	Resources    []string `json:"resources" listType:"set" protobuf:"bytes,3,rep,name=resources" openapi:"required"`
	ClusterScope bool     `json:"clusterScope,omitempty" protobuf:"varint,4,opt,name=clusterScope"`
	Namespaces   []string `json:"namespaces" listType:"set" protobuf:"bytes,5,rep,name=namespaces"`
}

type ServiceAccountSubject struct {
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	Name      string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
}

type Subject struct {
	Kind           SubjectKind            `json:"kind" protobuf:"bytes,1,opt,name=kind" openapi:"required"`
	User           *UserSubject           `json:"user,omitempty" protobuf:"bytes,2,opt,name=user"`
	Group          *GroupSubject          `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
	ServiceAccount *ServiceAccountSubject `json:"serviceAccount,omitempty" protobuf:"bytes,4,opt,name=serviceAccount"`
}

type UserSubject struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
}

// FlowSchemaList is a list of FlowSchema objects.
type FlowSchemaList = metav1.List[*FlowSchema]

// PriorityLevelConfigurationList is a list of PriorityLevelConfiguration objects.
type PriorityLevelConfigurationList = metav1.List[*PriorityLevelConfiguration]

type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

type FlowDistinguisherMethodType string

// The values of FlowDistinguisherMethodType.
const (
	FlowDistinguisherMethodByNamespaceType FlowDistinguisherMethodType = "ByNamespace"
	FlowDistinguisherMethodByUserType      FlowDistinguisherMethodType = "ByUser"
)

type FlowSchemaConditionType string

type LimitResponseType string

// The values of LimitResponseType.
const (
	LimitResponseTypeQueue  LimitResponseType = "Queue"
	LimitResponseTypeReject LimitResponseType = "Reject"
)

type PriorityLevelConfigurationConditionType string

type PriorityLevelEnablement string

// The values of PriorityLevelEnablement.
const (
	PriorityLevelEnablementExempt  PriorityLevelEnablement = "Exempt"
	PriorityLevelEnablementLimited PriorityLevelEnablement = "Limited"
)

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

// Package batchv1 holds Job and CronJob (batch/v1).
package batchv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              CronJobSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            CronJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type CronJobSpec struct {
	Schedule                   string            `json:"schedule" protobuf:"bytes,1,opt,name=schedule" openapi:"required"`
	TimeZone                   *string           `json:"timeZone,omitempty" protobuf:"bytes,8,opt,name=timeZone"`
	StartingDeadlineSeconds    *int64            `json:"startingDeadlineSeconds,omitempty" protobuf:"varint,2,opt,name=startingDeadlineSeconds"`
	ConcurrencyPolicy          ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" protobuf:"bytes,3,opt,name=concurrencyPolicy" openapi:"enum=Allow|Forbid|Replace"`
	Suspend                    *bool             `json:"suspend,omitempty" protobuf:"varint,4,opt,name=suspend"`
	JobTemplate                JobTemplateSpec   `json:"jobTemplate" protobuf:"bytes,5,opt,name=jobTemplate" openapi:"required"`
	SuccessfulJobsHistoryLimit *int32            `json:"successfulJobsHistoryLimit,omitempty" protobuf:"varint,6,opt,name=successfulJobsHistoryLimit"`
	FailedJobsHistoryLimit     *int32            `json:"failedJobsHistoryLimit,omitempty" protobuf:"varint,7,opt,name=failedJobsHistoryLimit"`
}

type CronJobStatus struct {
	Active             []corev1.ObjectReference `json:"active,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=active"`
	LastScheduleTime   *metav1.Time             `json:"lastScheduleTime,omitempty" protobuf:"bytes,4,opt,name=lastScheduleTime"`
	LastSuccessfulTime *metav1.Time             `json:"lastSuccessfulTime,omitempty" protobuf:"bytes,5,opt,name=lastSuccessfulTime"`
}

type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              JobSpec   `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	Status            JobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type JobCondition struct {
	Type               JobConditionType       `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Status             corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	LastProbeTime      metav1.Time            `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	Reason             string                 `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	Message            string                 `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

type JobSpec struct {
	Parallelism             *int32                 `json:"parallelism,omitempty" protobuf:"varint,1,opt,name=parallelism"`
	Completions             *int32                 `json:"completions,omitempty" protobuf:"varint,2,opt,name=completions"`
	ActiveDeadlineSeconds   *int64                 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,3,opt,name=activeDeadlineSeconds"`
	PodFailurePolicy        *PodFailurePolicy      `json:"podFailurePolicy,omitempty" protobuf:"bytes,11,opt,name=podFailurePolicy"`
	SuccessPolicy           *SuccessPolicy         `json:"successPolicy,omitempty" protobuf:"bytes,16,opt,name=successPolicy"`
	BackoffLimit            *int32                 `json:"backoffLimit,omitempty" protobuf:"varint,7,opt,name=backoffLimit"`
	BackoffLimitPerIndex    *int32                 `json:"backoffLimitPerIndex,omitempty" protobuf:"varint,12,opt,name=backoffLimitPerIndex"`
	MaxFailedIndexes        *int32                 `json:"maxFailedIndexes,omitempty" protobuf:"varint,13,opt,name=maxFailedIndexes"`
	Selector                *metav1.LabelSelector  `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`
	ManualSelector          *bool                  `json:"manualSelector,omitempty" protobuf:"varint,5,opt,name=manualSelector"`
	Template                corev1.PodTemplateSpec `json:"template" protobuf:"bytes,6,opt,name=template" openapi:"required"`
	TTLSecondsAfterFinished *int32                 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,8,opt,name=ttlSecondsAfterFinished"`
	CompletionMode          *CompletionMode        `json:"completionMode,omitempty" protobuf:"bytes,9,opt,name=completionMode" openapi:"enum=Indexed|NonIndexed"`
	Suspend                 *bool                  `json:"suspend,omitempty" protobuf:"varint,10,opt,name=suspend"`
	PodReplacementPolicy    *PodReplacementPolicy  `json:"podReplacementPolicy,omitempty" protobuf:"bytes,14,opt,name=podReplacementPolicy" openapi:"enum=Failed|TerminatingOrFailed"`
	ManagedBy               *string                `json:"managedBy,omitempty" protobuf:"bytes,15,opt,name=managedBy"`
}

type JobStatus struct {
	Conditions              []JobCondition           `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"atomic" protobuf:"bytes,1,rep,name=conditions"`
	StartTime               *metav1.Time             `json:"startTime,omitempty" protobuf:"bytes,2,opt,name=startTime"`
	CompletionTime          *metav1.Time             `json:"completionTime,omitempty" protobuf:"bytes,3,opt,name=completionTime"`
	Active                  int32                    `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`
	Succeeded               int32                    `json:"succeeded,omitempty" protobuf:"varint,5,opt,name=succeeded"`
	Failed                  int32                    `json:"failed,omitempty" protobuf:"varint,6,opt,name=failed"`
	Terminating             *int32                   `json:"terminating,omitempty" protobuf:"varint,11,opt,name=terminating"`
	CompletedIndexes        string                   `json:"completedIndexes,omitempty" protobuf:"bytes,7,opt,name=completedIndexes"`
	FailedIndexes           *string                  `json:"failedIndexes,omitempty" protobuf:"bytes,10,opt,name=failedIndexes"`
	UncountedTerminatedPods *UncountedTerminatedPods `json:"uncountedTerminatedPods,omitempty" protobuf:"bytes,8,opt,name=uncountedTerminatedPods"`
	Ready                   *int32                   `json:"ready,omitempty" protobuf:"varint,9,opt,name=ready"`
}

type JobTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              JobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

type PodFailurePolicy struct {
	Rules []PodFailurePolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

type PodFailurePolicyOnExitCodesRequirement struct {
	ContainerName *string                             `json:"containerName,omitempty" protobuf:"bytes,1,opt,name=containerName"`
	Operator      PodFailurePolicyOnExitCodesOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=In|NotIn"`
	Values        []int32                             `json:"values" listType:"set" protobuf:"varint,3,rep,name=values" openapi:"required"`
}

type PodFailurePolicyOnPodConditionsPattern struct {
	Type   corev1.PodConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Status corev1.ConditionStatus  `json:"status" protobuf:"bytes,2,opt,name=status"`
}

type PodFailurePolicyRule struct {
	Action          PodFailurePolicyAction                   `json:"action" protobuf:"bytes,1,opt,name=action" openapi:"required,enum=Count|FailIndex|FailJob|Ignore"`
	OnExitCodes     *PodFailurePolicyOnExitCodesRequirement  `json:"onExitCodes,omitempty" protobuf:"bytes,2,opt,name=onExitCodes"`
	OnPodConditions []PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=onPodConditions"`
}

type SuccessPolicy struct {
	Rules []SuccessPolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

type SuccessPolicyRule struct {
	SucceededIndexes *string `json:"succeededIndexes,omitempty" protobuf:"bytes,1,opt,name=succeededIndexes"`
	SucceededCount   *int32  `json:"succeededCount,omitempty" protobuf:"varint,2,opt,name=succeededCount"`
}

type UncountedTerminatedPods struct {
	Succeeded []types.UID `json:"succeeded,omitempty" listType:"set" protobuf:"bytes,1,rep,name=succeeded"`
	Failed    []types.UID `json:"failed,omitempty" listType:"set" protobuf:"bytes,2,rep,name=failed"`
}

// CronJobList is a list of CronJob objects.
type CronJobList = metav1.List[*CronJob]

// JobList is a list of Job objects.
type JobList = metav1.List[*Job]

type CompletionMode string

// The values of CompletionMode.
const (
	IndexedCompletion    CompletionMode = "Indexed"
	NonIndexedCompletion CompletionMode = "NonIndexed"
)

type ConcurrencyPolicy string

// The values of ConcurrencyPolicy.
const (
	AllowConcurrent   ConcurrencyPolicy = "Allow"
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

type JobConditionType string

// The values of JobConditionType.
const (
	JobComplete           JobConditionType = "Complete"
	JobFailed             JobConditionType = "Failed"
	JobFailureTarget      JobConditionType = "FailureTarget"
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet"
	JobSuspended          JobConditionType = "Suspended"
)

type PodFailurePolicyAction string

// The values of PodFailurePolicyAction.
const (
	PodFailurePolicyActionCount     PodFailurePolicyAction = "Count"
	PodFailurePolicyActionFailIndex PodFailurePolicyAction = "FailIndex"
	PodFailurePolicyActionFailJob   PodFailurePolicyAction = "FailJob"
	PodFailurePolicyActionIgnore    PodFailurePolicyAction = "Ignore"
)

type PodFailurePolicyOnExitCodesOperator string

// The values of PodFailurePolicyOnExitCodesOperator.
const (
	PodFailurePolicyOnExitCodesOpIn    PodFailurePolicyOnExitCodesOperator = "In"
	PodFailurePolicyOnExitCodesOpNotIn PodFailurePolicyOnExitCodesOperator = "NotIn"
)

type PodReplacementPolicy string

// The values of PodReplacementPolicy.
const (
	Failed              PodReplacementPolicy = "Failed"
	TerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed"
)

// Well-known names and values of this group.
const (
	JobReasonBackoffLimitExceeded         = "BackoffLimitExceeded"
	JobReasonCompletionsReached           = "CompletionsReached"
	JobReasonDeadlineExceeded             = "DeadlineExceeded"
	JobReasonFailedIndexes                = "FailedIndexes"
	JobReasonMaxFailedIndexesExceeded     = "MaxFailedIndexesExceeded"
	JobReasonPodFailurePolicy             = "PodFailurePolicy"
	JobReasonSuccessPolicy                = "SuccessPolicy"
	ControllerUidLabel                    = "batch.kubernetes.io/controller-uid"
	CronJobScheduledTimestampAnnotation   = "batch.kubernetes.io/cronjob-scheduled-timestamp"
	JobCompletionIndexAnnotation          = "batch.kubernetes.io/job-completion-index"
	JobControllerName                     = "kubernetes.io/job-controller"
	JobIndexFailureCountAnnotation        = "batch.kubernetes.io/job-index-failure-count"
	JobIndexIgnoredFailureCountAnnotation = "batch.kubernetes.io/job-index-ignored-failure-count"
	JobNameLabel                          = "batch.kubernetes.io/job-name"
	JobTrackingFinalizer                  = "batch.kubernetes.io/job-tracking"
)

// Package batchv1 holds Job and CronJob (batch/v1).
package batchv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// CronJob makes jobs at times.
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// When jobs are made, what they run, and how many are kept.
	Spec CronJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// What was made; written by the system.
	Status CronJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CronJobSpec is when to make which jobs.
type CronJobSpec struct {
	// Five fields as of cron, or a name such as @daily.
	Schedule string `json:"schedule" protobuf:"bytes,1,opt,name=schedule" openapi:"required"`
	// Name of the time zone; that of the controller unless set.
	TimeZone *string `json:"timeZone,omitempty" protobuf:"bytes,8,opt,name=timeZone"`
	// Seconds a missed job may start late.
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" protobuf:"varint,2,opt,name=startingDeadlineSeconds"`
	// What if the last job still runs: Allow (the default), Forbid or Replace.
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" protobuf:"bytes,3,opt,name=concurrencyPolicy" openapi:"enum=Allow|Forbid|Replace"`
	// Make no jobs for now.
	Suspend *bool `json:"suspend,omitempty" protobuf:"varint,4,opt,name=suspend"`
	// What the jobs look like.
	JobTemplate JobTemplateSpec `json:"jobTemplate" protobuf:"bytes,5,opt,name=jobTemplate" openapi:"required"`
	// How many succeeded jobs are kept; 3 unless set.
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" protobuf:"varint,6,opt,name=successfulJobsHistoryLimit"`
	// How many failed jobs are kept; 1 unless set.
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty" protobuf:"varint,7,opt,name=failedJobsHistoryLimit"`
}

// CronJobStatus is what a cron job has made.
type CronJobStatus struct {
	// Jobs that run now.
	Active []corev1.ObjectReference `json:"active,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=active"`
	// When a job was last made.
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty" protobuf:"bytes,4,opt,name=lastScheduleTime"`
	// When a job last succeeded.
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty" protobuf:"bytes,5,opt,name=lastSuccessfulTime"`
}

// Job runs pods until enough of them have succeeded.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What to run and how often.
	Spec JobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// How far it is; written by the system.
	Status JobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// JobCondition is one fact about a job.
type JobCondition struct {
	// Name of the fact.
	Type JobConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When it was last checked.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// JobSpec is what a job runs.
type JobSpec struct {
	// How many pods may run at a time; 1 unless set.
	Parallelism *int32 `json:"parallelism,omitempty" protobuf:"varint,1,opt,name=parallelism"`
	// How many pods must succeed; unset with parallelism set, one success ends the job.
	Completions *int32 `json:"completions,omitempty" protobuf:"varint,2,opt,name=completions"`
	// Seconds after which the job is ended and failed.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,3,opt,name=activeDeadlineSeconds"`
	// What to do about failed pods, by exit code or condition.
	PodFailurePolicy *PodFailurePolicy `json:"podFailurePolicy,omitempty" protobuf:"bytes,11,opt,name=podFailurePolicy"`
	// When an indexed job has succeeded before all indexes have.
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty" protobuf:"bytes,16,opt,name=successPolicy"`
	// How many failed pods are retried before the job fails; 6 unless set.
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,7,opt,name=backoffLimit"`
	// How many failures of one index are retried; for indexed jobs.
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty" protobuf:"varint,12,opt,name=backoffLimitPerIndex"`
	// How many indexes may fail before the job does.
	MaxFailedIndexes *int32 `json:"maxFailedIndexes,omitempty" protobuf:"varint,13,opt,name=maxFailedIndexes"`
	// Labels of its pods; generated unless manualSelector is set.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`
	// Use the selector as given; the labels must then be unique.
	ManualSelector *bool `json:"manualSelector,omitempty" protobuf:"varint,5,opt,name=manualSelector"`
	// What the pods run; restartPolicy must be OnFailure or Never.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,6,opt,name=template" openapi:"required"`
	// Seconds after its end when the job is deleted; kept unless set.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,8,opt,name=ttlSecondsAfterFinished"`
	// NonIndexed (the default), or Indexed to give each pod a number.
	CompletionMode *CompletionMode `json:"completionMode,omitempty" protobuf:"bytes,9,opt,name=completionMode" openapi:"enum=Indexed|NonIndexed"`
	// Run no pods for now.
	Suspend *bool `json:"suspend,omitempty" protobuf:"varint,10,opt,name=suspend"`
	// When a pod is replaced: TerminatingOrFailed at once, Failed when it has ended.
	PodReplacementPolicy *PodReplacementPolicy `json:"podReplacementPolicy,omitempty" protobuf:"bytes,14,opt,name=podReplacementPolicy" openapi:"enum=Failed|TerminatingOrFailed"`
	// Name of another controller that runs this job; cannot change.
	ManagedBy *string `json:"managedBy,omitempty" protobuf:"bytes,15,opt,name=managedBy"`
}

// JobStatus is how far a job is.
type JobStatus struct {
	// Facts such as Complete, Failed and Suspended.
	Conditions []JobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"atomic" protobuf:"bytes,1,rep,name=conditions"`
	// When it began, or was resumed.
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,2,opt,name=startTime"`
	// When it had succeeded.
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,3,opt,name=completionTime"`
	// Pods running or waiting.
	Active int32 `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`
	// Pods that succeeded.
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,5,opt,name=succeeded"`
	// Pods that ended in phase Failed.
	Failed int32 `json:"failed,omitempty" protobuf:"varint,6,opt,name=failed"`
	// Pods that are ending.
	Terminating *int32 `json:"terminating,omitempty" protobuf:"varint,11,opt,name=terminating"`
	// Indexes that succeeded, such as 1,3-5.
	CompletedIndexes string `json:"completedIndexes,omitempty" protobuf:"bytes,7,opt,name=completedIndexes"`
	// Indexes that failed.
	FailedIndexes *string `json:"failedIndexes,omitempty" protobuf:"bytes,10,opt,name=failedIndexes"`
	// Pods that have ended and are not in the counts yet.
	UncountedTerminatedPods *UncountedTerminatedPods `json:"uncountedTerminatedPods,omitempty" protobuf:"bytes,8,opt,name=uncountedTerminatedPods"`
	// Active pods that are ready.
	Ready *int32 `json:"ready,omitempty" protobuf:"varint,9,opt,name=ready"`
}

// JobTemplateSpec describes jobs to make.
type JobTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// What the jobs run.
	Spec JobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// PodFailurePolicy is what to do about failed pods.
type PodFailurePolicy struct {
	// Tried in order; the first that matches counts.
	Rules []PodFailurePolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

// PodFailurePolicyOnExitCodesRequirement selects exit codes.
type PodFailurePolicyOnExitCodesRequirement struct {
	// One container; all unless set.
	ContainerName *string `json:"containerName,omitempty" protobuf:"bytes,1,opt,name=containerName"`
	// In or NotIn the values.
	Operator PodFailurePolicyOnExitCodesOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=In|NotIn"`
	// Exit codes in rising order; 0 not with In.
	Values []int32 `json:"values" listType:"set" protobuf:"varint,3,rep,name=values" openapi:"required"`
}

// PodFailurePolicyOnPodConditionsPattern selects pods by a condition.
type PodFailurePolicyOnPodConditionsPattern struct {
	// Type of the condition.
	Type corev1.PodConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Its status; True unless set.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status"`
}

// PodFailurePolicyRule is what to do about some failures.
type PodFailurePolicyRule struct {
	// FailJob, FailIndex, Ignore or Count.
	Action PodFailurePolicyAction `json:"action" protobuf:"bytes,1,opt,name=action" openapi:"required,enum=Count|FailIndex|FailJob|Ignore"`
	// Exit codes it is about.
	OnExitCodes *PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty" protobuf:"bytes,2,opt,name=onExitCodes"`
	// Conditions of the pod it is about.
	OnPodConditions []PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=onPodConditions"`
}

// SuccessPolicy is when an indexed job has succeeded.
type SuccessPolicy struct {
	// Any one that holds is enough.
	Rules []SuccessPolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

// SuccessPolicyRule is one way to have succeeded.
type SuccessPolicyRule struct {
	// Indexes that must have succeeded, such as 0,2-4.
	SucceededIndexes *string `json:"succeededIndexes,omitempty" protobuf:"bytes,1,opt,name=succeededIndexes"`
	// How many of them, or of all, must have.
	SucceededCount *int32 `json:"succeededCount,omitempty" protobuf:"varint,2,opt,name=succeededCount"`
}

// UncountedTerminatedPods is pods that have ended and are not counted yet.
type UncountedTerminatedPods struct {
	// Their identities, if they succeeded.
	Succeeded []types.UID `json:"succeeded,omitempty" listType:"set" protobuf:"bytes,1,rep,name=succeeded"`
	// Their identities, if they failed.
	Failed []types.UID `json:"failed,omitempty" listType:"set" protobuf:"bytes,2,rep,name=failed"`
}

// CronJobList is a list of CronJob objects.
type CronJobList = metav1.List[*CronJob]

// JobList is a list of Job objects.
type JobList = metav1.List[*Job]

// CompletionMode is what JobSpec.CompletionMode can be.
type CompletionMode string

// The values of CompletionMode.
const (
	IndexedCompletion    CompletionMode = "Indexed"
	NonIndexedCompletion CompletionMode = "NonIndexed"
)

// ConcurrencyPolicy is what CronJobSpec.ConcurrencyPolicy can be.
type ConcurrencyPolicy string

// The values of ConcurrencyPolicy.
const (
	AllowConcurrent   ConcurrencyPolicy = "Allow"
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// JobConditionType is what JobCondition.Type can be.
type JobConditionType string

// The values of JobConditionType.
const (
	JobComplete           JobConditionType = "Complete"
	JobFailed             JobConditionType = "Failed"
	JobFailureTarget      JobConditionType = "FailureTarget"
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet"
	JobSuspended          JobConditionType = "Suspended"
)

// PodFailurePolicyAction is what PodFailurePolicyRule.Action can be.
type PodFailurePolicyAction string

// The values of PodFailurePolicyAction.
const (
	PodFailurePolicyActionCount     PodFailurePolicyAction = "Count"
	PodFailurePolicyActionFailIndex PodFailurePolicyAction = "FailIndex"
	PodFailurePolicyActionFailJob   PodFailurePolicyAction = "FailJob"
	PodFailurePolicyActionIgnore    PodFailurePolicyAction = "Ignore"
)

// PodFailurePolicyOnExitCodesOperator is what PodFailurePolicyOnExitCodesRequirement.Operator can be.
type PodFailurePolicyOnExitCodesOperator string

// The values of PodFailurePolicyOnExitCodesOperator.
const (
	PodFailurePolicyOnExitCodesOpIn    PodFailurePolicyOnExitCodesOperator = "In"
	PodFailurePolicyOnExitCodesOpNotIn PodFailurePolicyOnExitCodesOperator = "NotIn"
)

// PodReplacementPolicy is what JobSpec.PodReplacementPolicy can be.
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

// Package batchv1 holds Job and CronJob (batch/v1).
package batchv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// CronJob creates jobs on a schedule.
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired schedule, job template and history of the cron job.
	Spec CronJobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Most recently observed state; populated by the system and read-only for users.
	Status CronJobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// CronJobSpec describes when and how jobs are created.
type CronJobSpec struct {
	// Schedule in cron format, five fields, or a macro such as @daily.
	Schedule string `json:"schedule" protobuf:"bytes,1,opt,name=schedule" openapi:"required"`
	// Time zone of the schedule, by its name in the IANA database; that of the controller if unset.
	TimeZone *string `json:"timeZone,omitempty" protobuf:"bytes,8,opt,name=timeZone"`
	// Seconds after its scheduled time in which a job may still be started; after that the run is missed. No
	// deadline if unset.
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty" protobuf:"varint,2,opt,name=startingDeadlineSeconds"`
	// What happens if the previous job is still running: Allow (the default) starts the next one beside it,
	// Forbid skips it, Replace ends the previous one.
	ConcurrencyPolicy ConcurrencyPolicy `json:"concurrencyPolicy,omitempty" protobuf:"bytes,3,opt,name=concurrencyPolicy" openapi:"enum=Allow|Forbid|Replace"`
	// Whether scheduling is suspended; running jobs are not affected.
	Suspend *bool `json:"suspend,omitempty" protobuf:"varint,4,opt,name=suspend"`
	// Template of the jobs.
	JobTemplate JobTemplateSpec `json:"jobTemplate" protobuf:"bytes,5,opt,name=jobTemplate" openapi:"required"`
	// Number of successful jobs to retain; defaults to 3.
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty" protobuf:"varint,6,opt,name=successfulJobsHistoryLimit"`
	// Number of failed jobs to retain; defaults to 1.
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty" protobuf:"varint,7,opt,name=failedJobsHistoryLimit"`
}

// CronJobStatus is the observed state of a cron job.
type CronJobStatus struct {
	// Jobs that are running.
	Active []corev1.ObjectReference `json:"active,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=active"`
	// Scheduled time of the job started last.
	LastScheduleTime *metav1.Time `json:"lastScheduleTime,omitempty" protobuf:"bytes,4,opt,name=lastScheduleTime"`
	// Completion time of the last successful job.
	LastSuccessfulTime *metav1.Time `json:"lastSuccessfulTime,omitempty" protobuf:"bytes,5,opt,name=lastSuccessfulTime"`
}

// Job runs pods until a number of them have completed successfully.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the job.
	Spec JobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Most recently observed progress; populated by the system and read-only for users.
	Status JobStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// JobCondition describes one aspect of the state of a job.
type JobCondition struct {
	// Type of the condition, such as Complete, Failed or Suspended.
	Type JobConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time the condition was last checked.
	LastProbeTime metav1.Time `json:"lastProbeTime,omitempty" protobuf:"bytes,3,opt,name=lastProbeTime"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,4,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,5,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,6,opt,name=message"`
}

// JobSpec describes the desired behavior of a job.
type JobSpec struct {
	// Maximum number of pods that run at the same time; defaults to 1.
	Parallelism *int32 `json:"parallelism,omitempty" protobuf:"varint,1,opt,name=parallelism"`
	// Number of pods that must complete successfully. If unset, the success of any pod completes the job.
	// Defaults to 1 if parallelism is unset, too.
	Completions *int32 `json:"completions,omitempty" protobuf:"varint,2,opt,name=completions"`
	// Seconds the job may be active before it is ended and marked as failed; no limit if unset.
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty" protobuf:"varint,3,opt,name=activeDeadlineSeconds"`
	// How failed pods are handled, by exit code or pod condition; backoffLimit applies to those that match no
	// rule. The template must have restartPolicy Never.
	PodFailurePolicy *PodFailurePolicy `json:"podFailurePolicy,omitempty" protobuf:"bytes,11,opt,name=podFailurePolicy"`
	// When an indexed job has succeeded before all its indexes have; if unset, when completions pods have
	// succeeded.
	SuccessPolicy *SuccessPolicy `json:"successPolicy,omitempty" protobuf:"bytes,16,opt,name=successPolicy"`
	// Number of retries before the job is marked as failed; defaults to 6, without a limit if
	// backoffLimitPerIndex is set.
	BackoffLimit *int32 `json:"backoffLimit,omitempty" protobuf:"varint,7,opt,name=backoffLimit"`
	// Number of retries of one index before the index is marked as failed; for indexed jobs only. Cannot be
	// changed.
	BackoffLimitPerIndex *int32 `json:"backoffLimitPerIndex,omitempty" protobuf:"varint,12,opt,name=backoffLimitPerIndex"`
	// Maximum number of failed indexes before the job is marked as failed; only with backoffLimitPerIndex.
	MaxFailedIndexes *int32 `json:"maxFailedIndexes,omitempty" protobuf:"varint,13,opt,name=maxFailedIndexes"`
	// Selector of the pods; generated by the system unless manualSelector is set.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,4,opt,name=selector"`
	// Use the given selector and labels instead of generated ones; the author must make sure that they are
	// unique to this job.
	ManualSelector *bool `json:"manualSelector,omitempty" protobuf:"varint,5,opt,name=manualSelector"`
	// Template of the pods; restartPolicy must be Never or OnFailure.
	Template corev1.PodTemplateSpec `json:"template" protobuf:"bytes,6,opt,name=template" openapi:"required"`
	// Seconds after which a finished job is deleted; it is not deleted if unset.
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty" protobuf:"varint,8,opt,name=ttlSecondsAfterFinished"`
	// How completions are tracked: NonIndexed (the default), or Indexed to give each pod an index from 0 to
	// completions-1.
	CompletionMode *CompletionMode `json:"completionMode,omitempty" protobuf:"bytes,9,opt,name=completionMode" openapi:"enum=Indexed|NonIndexed"`
	// Whether the job is suspended: its pods are deleted and no new ones are created.
	Suspend *bool `json:"suspend,omitempty" protobuf:"varint,10,opt,name=suspend"`
	// When a replacement pod is created: TerminatingOrFailed as soon as a pod is being deleted or has failed,
	// Failed only once it has failed or succeeded. Defaults to Failed with a podFailurePolicy, which allows
	// no other value, otherwise to TerminatingOrFailed.
	PodReplacementPolicy *PodReplacementPolicy `json:"podReplacementPolicy,omitempty" protobuf:"bytes,14,opt,name=podReplacementPolicy" openapi:"enum=Failed|TerminatingOrFailed"`
	// Name of the controller that manages the job, domain/path; the built-in one if unset. Cannot be changed.
	ManagedBy *string `json:"managedBy,omitempty" protobuf:"bytes,15,opt,name=managedBy"`
}

// JobStatus is the observed progress of a job.
type JobStatus struct {
	// Conditions of the job, such as Complete, Failed and Suspended.
	Conditions []JobCondition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" listType:"atomic" protobuf:"bytes,1,rep,name=conditions"`
	// When the job was started, or last resumed.
	StartTime *metav1.Time `json:"startTime,omitempty" protobuf:"bytes,2,opt,name=startTime"`
	// When the job completed successfully; unset otherwise.
	CompletionTime *metav1.Time `json:"completionTime,omitempty" protobuf:"bytes,3,opt,name=completionTime"`
	// Number of pending and running pods that are not terminating.
	Active int32 `json:"active,omitempty" protobuf:"varint,4,opt,name=active"`
	// Number of pods in phase Succeeded.
	Succeeded int32 `json:"succeeded,omitempty" protobuf:"varint,5,opt,name=succeeded"`
	// Number of pods in phase Failed.
	Failed int32 `json:"failed,omitempty" protobuf:"varint,6,opt,name=failed"`
	// Number of pods that are terminating and have not ended.
	Terminating *int32 `json:"terminating,omitempty" protobuf:"varint,11,opt,name=terminating"`
	// Indexes that have succeeded, as a list of numbers and ranges, such as 1,3-5.
	CompletedIndexes string `json:"completedIndexes,omitempty" protobuf:"bytes,7,opt,name=completedIndexes"`
	// Indexes that have failed, in the format of completedIndexes; only with backoffLimitPerIndex.
	FailedIndexes *string `json:"failedIndexes,omitempty" protobuf:"bytes,10,opt,name=failedIndexes"`
	// Pods that have ended but are not included in the counters yet.
	UncountedTerminatedPods *UncountedTerminatedPods `json:"uncountedTerminatedPods,omitempty" protobuf:"bytes,8,opt,name=uncountedTerminatedPods"`
	// Number of active pods that are ready.
	Ready *int32 `json:"ready,omitempty" protobuf:"varint,9,opt,name=ready"`
}

// JobTemplateSpec is the template of the jobs of a cron job.
type JobTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Desired behavior of the jobs.
	Spec JobSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// PodFailurePolicy describes how failed pods are handled.
type PodFailurePolicy struct {
	// Rules evaluated in order; the first that matches a failed pod determines the action.
	Rules []PodFailurePolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

// PodFailurePolicyOnExitCodesRequirement matches failed pods by the exit codes of their containers.
type PodFailurePolicyOnExitCodesRequirement struct {
	// Name of the container whose exit code is checked; any container if unset.
	ContainerName *string `json:"containerName,omitempty" protobuf:"bytes,1,opt,name=containerName"`
	// Relation of the exit code to the values: In or NotIn.
	Operator PodFailurePolicyOnExitCodesOperator `json:"operator" protobuf:"bytes,2,opt,name=operator" openapi:"required,enum=In|NotIn"`
	// Exit codes in ascending order without duplicates; 0 is not allowed with In.
	Values []int32 `json:"values" listType:"set" protobuf:"varint,3,rep,name=values" openapi:"required"`
}

// PodFailurePolicyOnPodConditionsPattern matches failed pods by a condition.
type PodFailurePolicyOnPodConditionsPattern struct {
	// Type of the condition.
	Type corev1.PodConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition; defaults to True.
	Status corev1.ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status"`
}

// PodFailurePolicyRule describes the action taken when a pod fails in a certain way; exactly one of
// onExitCodes and onPodConditions is set.
type PodFailurePolicyRule struct {
	// Action taken when the rule matches: FailJob, FailIndex, Ignore (do not count the failure) or Count
	// (count it toward backoffLimit).
	Action PodFailurePolicyAction `json:"action" protobuf:"bytes,1,opt,name=action" openapi:"required,enum=Count|FailIndex|FailJob|Ignore"`
	// Requirement on the exit codes of the containers.
	OnExitCodes *PodFailurePolicyOnExitCodesRequirement `json:"onExitCodes,omitempty" protobuf:"bytes,2,opt,name=onExitCodes"`
	// Patterns of pod conditions; one match is enough.
	OnPodConditions []PodFailurePolicyOnPodConditionsPattern `json:"onPodConditions,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=onPodConditions"`
}

// SuccessPolicy describes when an indexed job has succeeded.
type SuccessPolicy struct {
	// Rules, of which one must be satisfied for the job to succeed.
	Rules []SuccessPolicyRule `json:"rules" listType:"atomic" protobuf:"bytes,1,rep,name=rules" openapi:"required"`
}

// SuccessPolicyRule describes one set of indexes whose success is sufficient; at least one of its fields is
// set.
type SuccessPolicyRule struct {
	// Indexes that must succeed, such as 0,2-4: all of them, or as many as succeededCount says.
	SucceededIndexes *string `json:"succeededIndexes,omitempty" protobuf:"bytes,1,opt,name=succeededIndexes"`
	// Number of indexes that must succeed, among succeededIndexes if set, otherwise among all.
	SucceededCount *int32 `json:"succeededCount,omitempty" protobuf:"varint,2,opt,name=succeededCount"`
}

// UncountedTerminatedPods lists pods that have ended but are not included in the counters of the job yet.
type UncountedTerminatedPods struct {
	// UIDs of the pods that succeeded.
	Succeeded []types.UID `json:"succeeded,omitempty" listType:"set" protobuf:"bytes,1,rep,name=succeeded"`
	// UIDs of the pods that failed.
	Failed []types.UID `json:"failed,omitempty" listType:"set" protobuf:"bytes,2,rep,name=failed"`
}

// CronJobList is a list of CronJob objects.
type CronJobList = metav1.List[*CronJob]

// JobList is a list of Job objects.
type JobList = metav1.List[*Job]

// CompletionMode enumerates the values of JobSpec.CompletionMode.
type CompletionMode string

const (
	IndexedCompletion    CompletionMode = "Indexed"
	NonIndexedCompletion CompletionMode = "NonIndexed"
)

// ConcurrencyPolicy enumerates the values of CronJobSpec.ConcurrencyPolicy.
type ConcurrencyPolicy string

const (
	AllowConcurrent   ConcurrencyPolicy = "Allow"
	ForbidConcurrent  ConcurrencyPolicy = "Forbid"
	ReplaceConcurrent ConcurrencyPolicy = "Replace"
)

// JobConditionType enumerates the values of JobCondition.Type.
type JobConditionType string

const (
	JobComplete           JobConditionType = "Complete"
	JobFailed             JobConditionType = "Failed"
	JobFailureTarget      JobConditionType = "FailureTarget"
	JobSuccessCriteriaMet JobConditionType = "SuccessCriteriaMet"
	JobSuspended          JobConditionType = "Suspended"
)

// PodFailurePolicyAction enumerates the values of PodFailurePolicyRule.Action.
type PodFailurePolicyAction string

const (
	PodFailurePolicyActionCount     PodFailurePolicyAction = "Count"
	PodFailurePolicyActionFailIndex PodFailurePolicyAction = "FailIndex"
	PodFailurePolicyActionFailJob   PodFailurePolicyAction = "FailJob"
	PodFailurePolicyActionIgnore    PodFailurePolicyAction = "Ignore"
)

// PodFailurePolicyOnExitCodesOperator enumerates the values of
// PodFailurePolicyOnExitCodesRequirement.Operator.
type PodFailurePolicyOnExitCodesOperator string

const (
	PodFailurePolicyOnExitCodesOpIn    PodFailurePolicyOnExitCodesOperator = "In"
	PodFailurePolicyOnExitCodesOpNotIn PodFailurePolicyOnExitCodesOperator = "NotIn"
)

// PodReplacementPolicy enumerates the values of JobSpec.PodReplacementPolicy.
type PodReplacementPolicy string

const (
	Failed              PodReplacementPolicy = "Failed"
	TerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed"
)

// Well-known names and values.
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

// Package job runs the pods of Jobs to completion: the specified number of successful ones, or one per index.
//
// Every pod of a Job has the finalizer batch.kubernetes.io/job-tracking, so that no pod is deleted before it
// is counted. A terminated pod is counted in three separate writes: its UID is added to
// status.uncountedTerminatedPods, its finalizer is removed, and the UID is removed while the counter is
// incremented. A controller that stops between two of them counts every pod exactly once.
//
// decide.go computes from a Job and its pods, without a server, which pods to create and delete; apply.go
// does it and counts; status.go computes the status of each of the three writes.
//
// It does what upstream's controller does, but for this. The pause after a failure is computed from the pods
// that there are, so that it survives a restart, and is forgotten when the failed pods are deleted. With
// backoffLimitPerIndex an index that pauses does not hold up the next one. An active pod of an index that has
// succeeded or failed is deleted before others.
//
// A Job ends in two steps: the condition FailureTarget or SuccessCriteriaMet is added when the outcome is
// known, and Failed or Complete when the last pod has terminated.
package job

// Package job runs pods to completion: as many successful ones as a Job asks for, or one per index.
//
// Every pod a Job makes carries the finalizer batch.kubernetes.io/job-tracking, so that none vanishes
// uncounted. An ended pod is counted in three steps, each a write of its own: its uid is noted in
// status.uncountedTerminatedPods, its finalizer is removed, and the uid is exchanged for one in the counter.
// A controller that dies between any two of them counts nothing twice and forgets nothing.
//
// A Job ends in two steps as well: FailureTarget or SuccessCriteriaMet says that the outcome is known, and
// when the last pod has ended Failed or Complete says that it is over.
package job

package readiness

import (
	"math"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/schema"
)

// rules are those of the kinds that have their own.
var rules = map[schema.GroupKind]func(object, []condition) Result{
	{Kind: "Service"}:                                                 service,
	{Kind: "Pod"}:                                                     pod,
	{Kind: "Secret"}:                                                  always,
	{Kind: "ConfigMap"}:                                               always,
	{Kind: "PersistentVolumeClaim"}:                                   claim,
	{Group: "apps", Kind: "Deployment"}:                               deployment,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSet,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSet,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Group: "batch", Kind: "CronJob"}:                                 always,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    budget,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
}

// scheduleWindow is how long a pod may be unschedulable before it is Failed.
const scheduleWindow = 15 * time.Second

func always(object, []condition) Result { return current("Resource is always ready") }

func budget(object, []condition) Result { return current("AllowedDisruptions has been computed.") }

func service(o object, _ []condition) Result {
	typ, _ := o.text("spec", "type")
	if address, _ := o.text("spec", "clusterIP"); typ == "LoadBalancer" && address == "" {
		return inProgress("NoIPAssigned", "ClusterIP not set. Service type: LoadBalancer")
	}
	return current("Service is ready")
}

func claim(o object, _ []condition) Result {
	phase, ok := o.text("status", "phase")
	if !ok {
		phase = "unknown"
	}
	if phase != "Bound" {
		return inProgress("NotBound", "PVC is not Bound. phase: %s", phase)
	}
	return current("PVC is Bound")
}

func pod(o object, conditions []condition) Result {
	switch phase, _ := o.text("status", "phase"); phase {
	case "Succeeded":
		return current("Pod has completed successfully")
	case "Failed":
		return current("Pod has completed, but not successfully")
	case "Running":
		return running(o, conditions)
	case "Pending":
		if c := find(conditions, "PodScheduled", "False"); c == nil || c.reason != "Unschedulable" {
			return inProgress("PodPending", "Pod is in the Pending phase")
		}
		if left := time.Until(o.meta.CreationTimestamp.Add(scheduleWindow)); left > 0 {
			r := inProgress("PodNotScheduled", "Pod has not been scheduled")
			r.RecheckAfter = left
			return r
		}
		return failed("PodUnschedulable", "Pod could not be scheduled")
	case "":
		return inProgress("PodNotObserved", "Pod phase not available")
	default:
		return Result{Status: Unknown, Reason: "Malformed", Message: "unknown phase " + phase}
	}
}

func running(o object, conditions []condition) Result {
	if find(conditions, "Ready", "True") != nil {
		return current("Pod is Ready")
	}
	var crashing []string
	containers, _ := o.at("status", "containerStatuses").([]any)
	for _, v := range containers {
		tree, _ := v.(map[string]any)
		c := object{tree: tree}
		if why, _ := c.text("state", "waiting", "reason"); why == "CrashLoopBackOff" {
			name, _ := c.text("name")
			crashing = append(crashing, name)
		}
	}
	if len(crashing) > 0 {
		return failed("ContainerCrashLooping", "Containers in CrashLoop state: %s", strings.Join(crashing, ","))
	}
	return inProgress("PodRunningNotReady", "Pod is running but is not Ready")
}

func deployment(o object, conditions []condition) Result {
	// Without a deadline the controller sets no condition Progressing.
	progressing := o.number(math.MaxInt32, "spec", "progressDeadlineSeconds") == math.MaxInt32
	available := false
	for _, c := range conditions {
		switch {
		case c.typ == "Progressing" && c.reason == "ProgressDeadlineExceeded":
			return failed(c.reason, "Progress deadline exceeded")
		case c.typ == "Progressing" && c.status == "True" && c.reason == "NewReplicaSetAvailable":
			progressing = true
		case c.typ == "Available" && c.status == "True":
			available = true
		}
	}
	want, have := o.number(1, "spec", "replicas"), o.number(0, "status", "replicas")
	updated, ready := o.number(0, "status", "updatedReplicas"), o.number(0, "status", "readyReplicas")
	running := o.number(0, "status", "availableReplicas")
	switch {
	case want > have:
		return inProgress("LessReplicas", "Replicas: %d/%d", have, want)
	case want > updated:
		return inProgress("LessUpdated", "Updated: %d/%d", updated, want)
	case have > want:
		return inProgress("ExtraPods", "Pending termination: %d", have-want)
	case updated > running:
		return inProgress("LessAvailable", "Available: %d/%d", running, updated)
	case want > ready:
		return inProgress("LessReady", "Ready: %d/%d", ready, want)
	case !progressing:
		return inProgress("ReplicaSetNotAvailable", "ReplicaSet not Available")
	case !available:
		return inProgress("DeploymentNotAvailable", "Deployment not Available")
	}
	return current("Deployment is available. Replicas: %d", have)
}

func replicaSet(o object, conditions []condition) Result {
	if find(conditions, "ReplicaFailure", "True") != nil {
		return inProgress("ReplicaFailure", "Replica Failure condition. Check Pods")
	}
	want, have := o.number(1, "spec", "replicas"), o.number(0, "status", "replicas")
	labelled := o.number(0, "status", "fullyLabeledReplicas")
	available, ready := o.number(0, "status", "availableReplicas"), o.number(0, "status", "readyReplicas")
	switch {
	case want > labelled:
		return inProgress("LessLabelled", "Labelled: %d/%d", labelled, want)
	case want > available:
		return inProgress("LessAvailable", "Available: %d/%d", available, want)
	case want > ready:
		return inProgress("LessReady", "Ready: %d/%d", ready, want)
	case have > want:
		return inProgress("ExtraPods", "Pending termination: %d", have-want)
	}
	return current("ReplicaSet is available. Replicas: %d", have)
}

func statefulSet(o object, _ []condition) Result {
	if strategy, _ := o.text("spec", "updateStrategy", "type"); strategy == "OnDelete" {
		return current("StatefulSet is using the ondelete update strategy")
	}
	want, have := o.number(1, "spec", "replicas"), o.number(0, "status", "replicas")
	ready, updated := o.number(0, "status", "readyReplicas"), o.number(0, "status", "updatedReplicas")
	switch {
	case want > have:
		return inProgress("LessReplicas", "Replicas: %d/%d", have, want)
	case want > ready:
		return inProgress("LessReady", "Ready: %d/%d", ready, want)
	case have > want:
		return inProgress("ExtraPods", "Pending termination: %d", have-want)
	}
	if partition, ok := o.integer("spec", "updateStrategy", "rollingUpdate", "partition"); ok && partition != -1 {
		if updated < want-partition {
			return inProgress("PartitionRollout", "updated: %d/%d", updated, want-partition)
		}
		return current("Partition rollout complete. updated: %d", updated)
	}
	if now := o.number(0, "status", "currentReplicas"); want > now {
		return inProgress("LessCurrent", "current: %d/%d", now, want)
	}
	now, _ := o.text("status", "currentRevision")
	if next, _ := o.text("status", "updateRevision"); now != next {
		return inProgress("RevisionMismatch", "Waiting for updated revision to match current")
	}
	return current("All replicas scheduled as expected. Replicas: %d", have)
}

func daemonSet(o object, _ []condition) Result {
	kind, _ := o.text("kind")
	if o.meta.Generation == 0 {
		return inProgress("NoGeneration", "%s metadata.generation not found", kind)
	}
	if _, ok := o.integer("status", "observedGeneration"); !ok {
		return inProgress("NoObservedGeneration", "%s status.observedGeneration not found", kind)
	}
	want, ok := o.integer("status", "desiredNumberScheduled")
	if !ok || want == -1 {
		return inProgress("NoDesiredNumber", "Missing .status.desiredNumberScheduled")
	}
	for _, step := range []struct{ field, reason, word string }{
		{"currentNumberScheduled", "LessCurrent", "Current"}, {"updatedNumberScheduled", "LessUpdated", "Updated"},
		{"numberAvailable", "LessAvailable", "Available"}, {"numberReady", "LessReady", "Ready"},
	} {
		if have := o.number(0, "status", step.field); want > have {
			return inProgress(step.reason, "%s: %d/%d", step.word, have, want)
		}
	}
	return current("All replicas scheduled as expected. Replicas: %d", want)
}

func job(o object, conditions []condition) Result {
	want := o.number(o.number(1, "spec", "parallelism"), "spec", "completions")
	succeeded, failures := o.number(0, "status", "succeeded"), o.number(0, "status", "failed")
	for _, c := range conditions {
		switch {
		case c.typ == "Complete" && c.status == "True":
			return current("Job Completed. succeeded: %d/%d", succeeded, want)
		case c.typ == "Failed" && c.status == "True":
			return failed("JobFailed", "Job Failed. failed: %d/%d", failures, want)
		}
	}
	if start, _ := o.text("status", "startTime"); start == "" {
		return inProgress("JobNotStarted", "Job not started")
	}
	return current("Job in progress. success:%d, active: %d, failed: %d", succeeded, o.number(0, "status", "active"), failures)
}

func definition(_ object, conditions []condition) Result {
	for _, c := range conditions {
		switch {
		case c.typ == "NamesAccepted" && c.status == "False":
			return failed(c.reason, "%s", c.message)
		case c.typ == "Established" && c.status == "False" && c.reason != "Installing":
			return failed(c.reason, "%s", c.message)
		case c.typ == "Established" && c.status == "True":
			return current("CRD is established")
		}
	}
	return inProgress("Installing", "Install in progress")
}

// find returns the condition of a type and status, or nil.
func find(conditions []condition, typ, status string) *condition {
	for i := range conditions {
		if conditions[i].typ == typ && conditions[i].status == status {
			return &conditions[i]
		}
	}
	return nil
}

// Package readiness says whether an object has reached the state of its specification, by the
// rules of kstatus (sigs.k8s.io/cli-utils), which other tools that apply and wait follow too:
//
//   - An object that is being deleted is Terminating.
//   - An object whose status.observedGeneration is not its generation is InProgress.
//   - A condition Reconciling that is True makes it InProgress, Stalled makes it Failed.
//   - Built-in kinds have rules of their own: replicas of workloads, phases of pods and claims, conditions of
//     jobs and of definitions of custom resources.
//   - Any other kind is Current if its condition Ready is True, and InProgress while Ready is anything else.
//     Without a condition Ready it is Current.
//
// Everything is computed from the object alone; package client/wait waits for it.
package readiness

import (
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Status says how far an object has come.
type Status string

const (
	// Current means that the object is as specified.
	Current Status = "Current"
	// InProgress means that a controller has work left, or has not seen the specification yet.
	InProgress Status = "InProgress"
	// Failed means that work has stopped with an error, which may still resolve itself.
	Failed Status = "Failed"
	// Terminating means that the object is being deleted.
	Terminating Status = "Terminating"
	// NotFound means that the object does not exist.
	NotFound Status = "NotFound"
	// Unknown means that the object cannot be judged: its status is malformed.
	Unknown Status = "Unknown"
)

// Result is the status of an object with its reason.
type Result struct {
	// Status of the object.
	Status Status
	// Reason is a word for programs, such as LessReplicas; empty for Current.
	Reason string
	// Message is a sentence.
	Message string
	// RecheckAfter, if not zero, is the time after which the status changes although the object does not.
	RecheckAfter time.Duration
}

// String returns the status and the message, as in: InProgress: Available: 1/3.
func (r Result) String() string { return string(r.Status) + ": " + r.Message }

// Of returns the status of an object that was read from a server, with its status and its apiVersion and
// kind. A nil object does not exist. It never fails: what cannot be judged is Unknown.
func Of(obj metav1.Object) Result {
	if obj == nil {
		return Result{Status: NotFound, Reason: "NotFound", Message: "Resource not found"}
	}
	if metav1.IsTerminating(obj) {
		return Result{Status: Terminating, Reason: "Terminating", Message: "Resource scheduled for deletion"}
	}
	tree, err := manifest.ToMap(obj)
	if err != nil {
		return Result{Status: Unknown, Reason: "Malformed", Message: err.Error()}
	}
	o := object{tree: tree, meta: metav1.MetaOf(obj)}
	conditions, err := o.conditions()
	if err != nil {
		return Result{Status: Unknown, Reason: "Malformed", Message: err.Error()}
	}
	if r, decided := o.general(conditions); decided {
		return r
	}
	gk := manifest.KindOf(nil, obj).GroupKind()
	if gk.Group == "extensions" {
		gk.Group = "apps" // where its workloads live now
	}
	if rule := rules[gk]; rule != nil {
		return rule(o, conditions)
	}
	return byReady(conditions)
}

// general judges by what any kind may have.
func (o object) general(conditions []condition) (Result, bool) {
	if seen, ok := o.integer("status", "observedGeneration"); ok && o.meta.Generation != 0 && seen != o.meta.Generation {
		kind, _ := o.text("kind")
		return inProgress("LatestGenerationNotObserved", "%s generation is %d, but latest observed generation is %d", kind, o.meta.Generation, seen), true
	}
	for _, c := range conditions {
		switch {
		case c.status != "True":
		case c.typ == "Reconciling":
			return inProgress(c.reason, "%s", c.message), true
		case c.typ == "Stalled":
			return failed(c.reason, "%s", c.message), true
		}
	}
	return Result{}, false
}

// byReady judges by the condition Ready.
func byReady(conditions []condition) Result {
	for _, c := range conditions {
		if c.typ != "Ready" {
			continue
		}
		switch c.status {
		case "True":
			return current("Resource is Ready")
		case "False", "Unknown":
			return inProgress(c.reason, "%s", c.message)
		}
	}
	return current("Resource is current")
}

func current(format string, args ...any) Result {
	return Result{Status: Current, Message: fmt.Sprintf(format, args...)}
}

func inProgress(reason, format string, args ...any) Result {
	return Result{Status: InProgress, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func failed(reason, format string, args ...any) Result {
	return Result{Status: Failed, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

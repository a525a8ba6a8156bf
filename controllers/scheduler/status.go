package scheduler

import "strings"

// Code says what a plugin's answer means. The names are those of kube-scheduler's framework.
type Code int

// The codes of a [Status].
const (
	// Success is that of a nil Status.
	Success Code = iota
	// Error is a failure of the plugin, not of the pod.
	Error
	// Unschedulable says that the pod does not fit; ending other pods may help.
	Unschedulable
	// UnschedulableAndUnresolvable says that the pod does not fit whatever other pods do.
	UnschedulableAndUnresolvable
	// Wait lets a pod wait for [Scheduler.Allow]; only Permit returns it.
	Wait
	// Skip leaves the plugin out of the rest of the cycle; for Bind it leaves the pod to the next plugin.
	Skip
	// Pending says that the pod waits for something outside the cluster's state.
	Pending
)

// Status is the answer of a plugin; nil is Success. A plugin that refuses many nodes returns the same Status
// for each: they are counted by pointer first, and never modified.
type Status struct {
	Code Code
	// Plugin is the name of the plugin that answered. The scheduler sets it where it is empty.
	Plugin string
	// Reasons are counted over the nodes; messages and events show them.
	Reasons []string
}

// NewStatus returns a status.
func NewStatus(code Code, reasons ...string) *Status { return &Status{Code: code, Reasons: reasons} }

// OK reports whether the status is Success.
func (s *Status) OK() bool { return s == nil || s.Code == Success }

// String returns the name of a code.
func (c Code) String() string {
	return [...]string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"}[c]
}

func (s *Status) code() Code {
	if s == nil {
		return Success
	}
	return s.Code
}

// Message returns the reasons.
func (s *Status) Message() string {
	if s == nil {
		return ""
	}
	return strings.Join(s.Reasons, ", ")
}

// final reports whether ending other pods cannot help.
func (s *Status) final() bool { return s.Code != Unschedulable }

// refusal is the status of a default plugin.
func refusal(code Code, plugin string, reasons ...string) *Status {
	return &Status{Code: code, Plugin: plugin, Reasons: reasons}
}

// Package eventsv1 holds Event in its own group (events.k8s.io/v1).
package eventsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Event reports an occurrence that concerns an object. Events are informational and expire after a limited
// time.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
	// When the event was first observed, with microsecond precision.
	EventTime metav1.MicroTime `json:"eventTime" protobuf:"bytes,2,opt,name=eventTime" openapi:"required"`
	// Data on the recurrence of the event; unset if it has occurred once.
	Series *EventSeries `json:"series,omitempty" protobuf:"bytes,3,opt,name=series"`
	// Name of the controller that reports the event, such as kubernetes.io/kubelet. Required for new events.
	ReportingController string `json:"reportingController,omitempty" protobuf:"bytes,4,opt,name=reportingController"`
	// Identity of the instance of the controller; at most 128 characters. Required for new events.
	ReportingInstance string `json:"reportingInstance,omitempty" protobuf:"bytes,5,opt,name=reportingInstance"`
	// What was done or failed, machine-readable; at most 128 characters. Required for new events.
	Action string `json:"action,omitempty" protobuf:"bytes,6,opt,name="`
	// Why the action was taken, human-readable; at most 128 characters. Required for new events.
	Reason string `json:"reason,omitempty" protobuf:"bytes,7,opt,name="`
	// Object that the event is about.
	Regarding corev1.ObjectReference `json:"regarding,omitempty" protobuf:"bytes,8,opt,name=regarding"`
	// Secondary object, if the event involves one.
	Related *corev1.ObjectReference `json:"related,omitempty" protobuf:"bytes,9,opt,name=related"`
	// Human-readable description; at most 1 kB, though readers should accept 64 kB.
	Note string `json:"note,omitempty" protobuf:"bytes,10,opt,name=note"`
	// Type of the event: Normal or Warning; others may follow. Required for new events.
	Type string `json:"type,omitempty" protobuf:"bytes,11,opt,name=type"`
	// Reporter of the event, if it was created through the core API.
	DeprecatedSource corev1.EventSource `json:"deprecatedSource,omitempty" protobuf:"bytes,12,opt,name=deprecatedSource"`
	// First occurrence, if the event was created through the core API.
	DeprecatedFirstTimestamp metav1.Time `json:"deprecatedFirstTimestamp,omitempty" protobuf:"bytes,13,opt,name=deprecatedFirstTimestamp"`
	// Last occurrence, if the event was created through the core API.
	DeprecatedLastTimestamp metav1.Time `json:"deprecatedLastTimestamp,omitempty" protobuf:"bytes,14,opt,name=deprecatedLastTimestamp"`
	// Number of occurrences, if the event was created through the core API.
	DeprecatedCount int32 `json:"deprecatedCount,omitempty" protobuf:"varint,15,opt,name=deprecatedCount"`
}

// EventSeries describes the recurrence of an event.
type EventSeries struct {
	// Number of occurrences so far.
	Count int32 `json:"count" protobuf:"varint,1,opt,name=count" openapi:"required"`
	// When the event last occurred.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime" protobuf:"bytes,2,opt,name=lastObservedTime" openapi:"required"`
}

// EventList is a list of Event objects.
type EventList = metav1.List[*Event]

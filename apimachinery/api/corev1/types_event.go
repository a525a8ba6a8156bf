package corev1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Event reports an occurrence that concerns an object. Events are informational and expire after a limited
// time.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata" openapi:"required"`
	// Object that the event is about.
	InvolvedObject ObjectReference `json:"involvedObject" protobuf:"bytes,2,opt,name=involvedObject" openapi:"required"`
	// Short, machine-readable reason for the event.
	Reason string `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Human-readable description.
	Message string `json:"message,omitempty" protobuf:"bytes,4,opt,name=message"`
	// Component that reports the event.
	Source EventSource `json:"source,omitempty" protobuf:"bytes,5,opt,name=source"`
	// When the event was first recorded.
	FirstTimestamp metav1.Time `json:"firstTimestamp,omitempty" protobuf:"bytes,6,opt,name=firstTimestamp"`
	// When the event was most recently recorded.
	LastTimestamp metav1.Time `json:"lastTimestamp,omitempty" protobuf:"bytes,7,opt,name=lastTimestamp"`
	// Number of occurrences.
	Count int32 `json:"count,omitempty" protobuf:"varint,8,opt,name=count"`
	// Type of the event: Normal or Warning.
	Type string `json:"type,omitempty" protobuf:"bytes,9,opt,name=type"`
	// When the event was first observed, with microsecond precision.
	EventTime metav1.MicroTime `json:"eventTime,omitempty" protobuf:"bytes,10,opt,name=eventTime"`
	// Data on the recurrence of the event; unset if it has occurred once.
	Series *EventSeries `json:"series,omitempty" protobuf:"bytes,11,opt,name=series"`
	// What was done or failed, machine-readable.
	Action string `json:"action,omitempty" protobuf:"bytes,12,opt,name=action"`
	// Secondary object, if the event involves one.
	Related *ObjectReference `json:"related,omitempty" protobuf:"bytes,13,opt,name=related"`
	// Name of the controller that reports the event.
	ReportingController string `json:"reportingComponent" protobuf:"bytes,14,opt,name=reportingComponent"`
	// Identity of the instance of the controller.
	ReportingInstance string `json:"reportingInstance" protobuf:"bytes,15,opt,name=reportingInstance"`
}

// EventSeries describes the recurrence of an event.
type EventSeries struct {
	// Number of occurrences so far.
	Count int32 `json:"count,omitempty" protobuf:"varint,1,opt,name="`
	// When the event last occurred.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime,omitempty" protobuf:"bytes,2,opt,name="`
}

// EventSource identifies the reporter of an event.
type EventSource struct {
	// Name of the component.
	Component string `json:"component,omitempty" protobuf:"bytes,1,opt,name=component"`
	// Name of the node on which the event was generated.
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
}

// EventList is a list of Event objects.
type EventList = metav1.List[*Event]

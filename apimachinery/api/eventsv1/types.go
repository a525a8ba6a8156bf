// Package eventsv1 holds Event in its own group (events.k8s.io/v1).
package eventsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Event is a report about an object.
type Event struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata" protobuf:"bytes,1,opt,name=metadata"`
	// When it was first observed, to the microsecond.
	EventTime metav1.MicroTime `json:"eventTime" protobuf:"bytes,2,opt,name=eventTime" openapi:"required"`
	// How often since, when it goes on.
	Series *EventSeries `json:"series,omitempty" protobuf:"bytes,3,opt,name=series"`
	// Name of the controller that reports it.
	ReportingController string `json:"reportingController,omitempty" protobuf:"bytes,4,opt,name=reportingController"`
	// Which of its instances.
	ReportingInstance string `json:"reportingInstance,omitempty" protobuf:"bytes,5,opt,name=reportingInstance"`
	// What was done or failed.
	Action string `json:"action,omitempty" protobuf:"bytes,6,opt,name="`
	// Why, in one word for programs.
	Reason string `json:"reason,omitempty" protobuf:"bytes,7,opt,name="`
	// Object the event is about.
	Regarding corev1.ObjectReference `json:"regarding,omitempty" protobuf:"bytes,8,opt,name=regarding"`
	// A second object it is about.
	Related *corev1.ObjectReference `json:"related,omitempty" protobuf:"bytes,9,opt,name=related"`
	// What happened, for people; at most 1 kB.
	Note string `json:"note,omitempty" protobuf:"bytes,10,opt,name=note"`
	// Normal or Warning.
	Type string `json:"type,omitempty" protobuf:"bytes,11,opt,name=type"`
	// Reporter of an event made through core/v1.
	DeprecatedSource corev1.EventSource `json:"deprecatedSource,omitempty" protobuf:"bytes,12,opt,name=deprecatedSource"`
	// First occurrence, of an event made through core/v1.
	DeprecatedFirstTimestamp metav1.Time `json:"deprecatedFirstTimestamp,omitempty" protobuf:"bytes,13,opt,name=deprecatedFirstTimestamp"`
	// Last occurrence, of an event made through core/v1.
	DeprecatedLastTimestamp metav1.Time `json:"deprecatedLastTimestamp,omitempty" protobuf:"bytes,14,opt,name=deprecatedLastTimestamp"`
	// Number of occurrences, of an event made through core/v1.
	DeprecatedCount int32 `json:"deprecatedCount,omitempty" protobuf:"varint,15,opt,name=deprecatedCount"`
}

// EventSeries is an event that goes on.
type EventSeries struct {
	// How often it happened.
	Count int32 `json:"count" protobuf:"varint,1,opt,name=count" openapi:"required"`
	// When it happened last.
	LastObservedTime metav1.MicroTime `json:"lastObservedTime" protobuf:"bytes,2,opt,name=lastObservedTime" openapi:"required"`
}

// EventList is a list of Event objects.
type EventList = metav1.List[*Event]

package builtin

import (
	"context"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// events returns the kinds of the group events.k8s.io.
func (k *Kinds) events(s *scheme.Scheme) []registry.Definition {
	return []registry.Definition{{
		Info: kind[*eventsv1.Event](s, eventsv1.GroupVersion), Stored: kind[*corev1.Event](s, corev1.GroupVersion),
		FromStored: convert(eventFromCore), ToStored: convert(eventToCore),
		Table: eventTable, Fields: regardingFields, Strategy: registry.Strategy{TTL: k.ttl},
	}}
}

// ttl returns how long an event is kept.
func (k *Kinds) ttl(metav1.Object) time.Duration { return k.eventTTL }

// referenceFields are the selectable fields of an object reference.
var referenceFields = []string{"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}

// eventFields are the field selectors of events as they are stored, in the core group.
var eventFields = registry.Fields{
	Names: func() []string {
		names := []string{"reason", "reportingComponent", "source", "type"}
		for _, name := range referenceFields {
			names = append(names, "involvedObject."+name)
		}
		return names
	}(),
	Paths: []string{"involvedObject", "reason", "reportingComponent", "source", "type"},
	Of: func(obj metav1.Object, add func(name, value string)) {
		e := obj.(*corev1.Event)
		source := e.Source.Component
		if source == "" {
			source = e.ReportingController
		}
		add("reason", e.Reason)
		add("reportingComponent", e.ReportingController)
		add("source", source)
		add("type", e.Type)
		refFields("involvedObject.", &e.InvolvedObject, add)
	},
}

// regardingFields are the field selectors of events in the group events.k8s.io.
var regardingFields = func() registry.Fields {
	fields := eventFields
	fields.Selectors = map[string]string{"reportingController": "reportingComponent", "reason": "reason", "type": "type"}
	for _, name := range referenceFields {
		fields.Selectors["regarding."+name] = "involvedObject." + name
	}
	return fields
}()

func refFields(prefix string, ref *corev1.ObjectReference, add func(name, value string)) {
	add(prefix+"kind", ref.Kind)
	add(prefix+"namespace", ref.Namespace)
	add(prefix+"name", ref.Name)
	add(prefix+"uid", string(ref.UID))
	add(prefix+"apiVersion", ref.APIVersion)
	add(prefix+"resourceVersion", ref.ResourceVersion)
	add(prefix+"fieldPath", ref.FieldPath)
}

// convert adapts a conversion between Go types.
func convert[A, B metav1.Object](f func(A) (B, error)) func(context.Context, metav1.Object) (metav1.Object, error) {
	return func(_ context.Context, obj metav1.Object) (metav1.Object, error) {
		a, ok := obj.(A)
		if !ok {
			return nil, fmt.Errorf("cannot convert %T", obj)
		}
		return f(a)
	}
}

// eventFromCore and eventToCore rename fields; both kinds have the same content.
func eventFromCore(e *corev1.Event) (*eventsv1.Event, error) {
	out := &eventsv1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, Regarding: e.InvolvedObject, Related: e.Related, Note: e.Message, Type: e.Type,
		DeprecatedSource: e.Source, DeprecatedFirstTimestamp: e.FirstTimestamp, DeprecatedLastTimestamp: e.LastTimestamp,
		DeprecatedCount: e.Count,
	}
	if e.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out, nil
}

func eventToCore(e *eventsv1.Event) (*corev1.Event, error) {
	out := &corev1.Event{
		ObjectMeta: e.ObjectMeta, EventTime: e.EventTime,
		ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
		Action: e.Action, Reason: e.Reason, InvolvedObject: e.Regarding, Related: e.Related, Message: e.Note, Type: e.Type,
		Source: e.DeprecatedSource, FirstTimestamp: e.DeprecatedFirstTimestamp, LastTimestamp: e.DeprecatedLastTimestamp,
		Count: e.DeprecatedCount,
	}
	if e.Series != nil {
		out.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return out, nil
}

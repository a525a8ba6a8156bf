package registry

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// conversions returns the functions between the stored kind and the served kind of obj.
func conversions(obj metav1.Object) (from, to func(metav1.Object) (metav1.Object, error)) {
	switch obj.(type) {
	case *eventsv1.Event:
		return convert(eventFromCore), convert(eventToCore)
	case *autoscalingv1.HorizontalPodAutoscaler:
		return convertErr(scalerFromV2), convertErr(scalerToV2)
	}
	return nil, nil
}

func convert[A, B metav1.Object](f func(A) B) func(metav1.Object) (metav1.Object, error) {
	return convertErr(func(a A) (B, error) { return f(a), nil })
}

func convertErr[A, B metav1.Object](f func(A) (B, error)) func(metav1.Object) (metav1.Object, error) {
	return func(obj metav1.Object) (metav1.Object, error) {
		a, ok := obj.(A)
		if !ok {
			return nil, fmt.Errorf("cannot convert %T", obj)
		}
		return f(a)
	}
}

// eventFromCore and eventToCore rename; the two kinds hold the same.
func eventFromCore(e *corev1.Event) *eventsv1.Event {
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
	return out
}

func eventToCore(e *eventsv1.Event) *corev1.Event {
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
	return out
}

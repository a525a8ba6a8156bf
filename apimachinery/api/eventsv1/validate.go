package eventsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func at(name string, more ...string) *validation.Path { return validation.NewPath(name, more...) }

// core is the event in the form of the older version, by whose field names findings are reported.
func core(e *Event) *corev1.Event {
	c := &corev1.Event{
		ObjectMeta: e.ObjectMeta, InvolvedObject: e.Regarding, Reason: e.Reason, Message: e.Note, Type: e.Type, EventTime: e.EventTime,
		Action: e.Action, ReportingController: e.ReportingController, ReportingInstance: e.ReportingInstance,
	}
	return c
}

// ValidateEvent checks an event to be created: complete, and without the fields of the older version.
func ValidateEvent(e *Event) validation.ErrorList {
	var r check.Report
	r.Add(corev1.ValidateEventParts(core(e), "reportingController"))
	r.Add(validateSeries(e.Series))
	if e.EventTime.Time.IsZero() {
		r.Required(at("eventTime"), "")
	}
	r.If(e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning, at("type"), "", "has invalid value: "+e.Type)
	r.If(!e.DeprecatedFirstTimestamp.IsZero(), at("firstTimestamp"), "", "needs to be unset")
	r.If(!e.DeprecatedLastTimestamp.IsZero(), at("lastTimestamp"), "", "needs to be unset")
	r.If(e.DeprecatedCount != 0, at("count"), "", "needs to be unset")
	r.If(e.DeprecatedSource != corev1.EventSource{}, at("source"), "", "needs to be unset")
	return r.List()
}

func validateSeries(s *EventSeries) validation.ErrorList {
	var r check.Report
	if s == nil {
		return nil
	}
	r.If(s.Count < 2, at("series", "count"), s.Count, "should be at least 2")
	if s.LastObservedTime.Time.IsZero() {
		r.Required(at("series", "lastObservedTime"), "")
	}
	return r.List()
}

// ValidateEventUpdate checks a change of an event: only its series and its metadata may change.
func ValidateEventUpdate(e, old *Event) validation.ErrorList {
	var r check.Report
	r.Add(corev1.ValidateEventParts(core(e), "reportingController"))
	r.Add(validateSeries(e.Series))
	check.Immutable(&r, at("involvedObject"), e.Regarding, old.Regarding)
	check.Immutable(&r, at("reason"), e.Reason, old.Reason)
	check.Immutable(&r, at("message"), e.Note, old.Note)
	check.Immutable(&r, at("source"), e.DeprecatedSource, old.DeprecatedSource)
	check.Immutable(&r, at("firstTimestamp"), e.DeprecatedFirstTimestamp, old.DeprecatedFirstTimestamp)
	check.Immutable(&r, at("lastTimestamp"), e.DeprecatedLastTimestamp, old.DeprecatedLastTimestamp)
	check.Immutable(&r, at("count"), e.DeprecatedCount, old.DeprecatedCount)
	check.Immutable(&r, at("type"), e.Type, old.Type)
	// Storage keeps microseconds, and so may a client that sends the event back.
	r.If(!sameMicro(e.EventTime, old.EventTime), at("eventTime"), e.EventTime, validation.ImmutableText)
	check.Immutable(&r, at("action"), e.Action, old.Action)
	check.Immutable(&r, at("related"), e.Related, old.Related)
	check.Immutable(&r, at("reportingController"), e.ReportingController, old.ReportingController)
	check.Immutable(&r, at("reportingInstance"), e.ReportingInstance, old.ReportingInstance)
	return r.List()
}

func sameMicro(a, b metav1.MicroTime) bool { return a.Time.UnixMicro() == b.Time.UnixMicro() }

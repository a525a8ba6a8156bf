package builtin

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

// The two event kinds name the same fields differently and show the same columns.
type eventRow struct {
	first, last time.Time
	eventTime   time.Time
	seriesLast  *metav1.MicroTime
	seriesCount int32
	count       int32
	object      corev1.ObjectReference
	source      corev1.EventSource
	reporter    string
	instance    string
	typ, reason string
	message     string
}

func (e *eventRow) row(name string, now time.Time) []any {
	first := e.first
	if first.IsZero() {
		first = e.eventTime
	}
	firstSeen := columns.Since(first, now)
	lastSeen := firstSeen
	if !e.last.IsZero() {
		lastSeen = columns.Since(e.last, now)
	}
	count := e.count
	switch {
	case e.seriesLast != nil:
		lastSeen, count = columns.Since(e.seriesLast.Time, now), e.seriesCount
	case count == 0:
		count = 1 // a single event of the newer form carries no count
	}
	target := strings.ToLower(e.object.Kind)
	if e.object.Name != "" {
		target += "/" + e.object.Name
	}
	source := orElse(e.source.Component, e.reporter)
	if host := orElse(e.source.Host, e.instance); host != "" {
		source += ", " + host
	}
	return []any{
		lastSeen, e.typ, e.reason, target, e.object.FieldPath, source,
		strings.TrimSpace(e.message), firstSeen, int64(count), name,
	}
}

func eventColumns() []metav1.TableColumnDefinition {
	last := columns.Name()
	last.Priority = 1
	return []metav1.TableColumnDefinition{
		columns.Text("Last Seen", "Time since it happened last."),
		columns.Text("Type", "Normal or Warning."),
		columns.Text("Reason", "One word for what happened."),
		columns.Text("Object", "The object it happened to."),
		columns.Wide(columns.Text("Subobject", "The part of the object.")),
		columns.Wide(columns.Text("Source", "Who reported it, and where.")),
		columns.Text("Message", "What happened."),
		columns.Wide(columns.Text("First Seen", "Time since it happened first.")),
		columns.Wide(columns.Text("Count", "How often it happened.")),
		last,
	}
}

var coreEventTable = columns.Of(func(e *corev1.Event, now time.Time) []any {
	f := eventRow{
		first: e.FirstTimestamp.Time, last: e.LastTimestamp.Time, eventTime: e.EventTime.Time, count: e.Count,
		object: e.InvolvedObject, source: e.Source, reporter: e.ReportingController, instance: e.ReportingInstance,
		typ: e.Type, reason: e.Reason, message: e.Message,
	}
	if e.Series != nil {
		f.seriesLast, f.seriesCount = &e.Series.LastObservedTime, e.Series.Count
	}
	return f.row(e.Name, now)
}, eventColumns()...)

var eventTable = columns.Of(func(e *eventsv1.Event, now time.Time) []any {
	f := eventRow{
		first: e.DeprecatedFirstTimestamp.Time, last: e.DeprecatedLastTimestamp.Time, eventTime: e.EventTime.Time, count: e.DeprecatedCount,
		object: e.Regarding, source: e.DeprecatedSource, reporter: e.ReportingController, instance: e.ReportingInstance,
		typ: e.Type, reason: e.Reason, message: e.Note,
	}
	if e.Series != nil {
		f.seriesLast, f.seriesCount = &e.Series.LastObservedTime, e.Series.Count
	}
	return f.row(e.Name, now)
}, eventColumns()...)

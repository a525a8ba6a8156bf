package builtin

import (
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store/columns"
)

// eventCells are the cells of an event. The core kind is converted for them, because it has other names for
// the same fields.
func eventCells(e *eventsv1.Event, now time.Time) []any {
	first := e.DeprecatedFirstTimestamp.Time
	if first.IsZero() {
		first = e.EventTime.Time
	}
	firstSeen := columns.Since(first, now)
	lastSeen := firstSeen
	if last := e.DeprecatedLastTimestamp.Time; !last.IsZero() {
		lastSeen = columns.Since(last, now)
	}
	count := e.DeprecatedCount
	switch {
	case e.Series != nil:
		lastSeen, count = columns.Since(e.Series.LastObservedTime.Time, now), e.Series.Count
	case count == 0:
		count = 1 // a single event of the newer form has no count
	}
	target := strings.ToLower(e.Regarding.Kind)
	if e.Regarding.Name != "" {
		target += "/" + e.Regarding.Name
	}
	source := orElse(e.DeprecatedSource.Component, e.ReportingController)
	if host := orElse(e.DeprecatedSource.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		lastSeen, e.Type, e.Reason, target, e.Regarding.FieldPath, source,
		strings.TrimSpace(e.Note), firstSeen, int64(count), e.Name,
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
	converted, _ := eventFromCore(e) // it never fails
	return eventCells(converted, now)
}, eventColumns()...)

var eventTable = columns.Of(eventCells, eventColumns()...)

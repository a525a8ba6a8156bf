package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/lru"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

const (
	// seriesTick is how often series are checked.
	seriesTick = 3 * time.Minute
	// seriesEnd is the time without an event after which a series has ended.
	seriesEnd = 6 * time.Minute
	// seriesHeartbeat is how often a series that continues is written.
	seriesHeartbeat = 30 * time.Minute
)

// seriesKey is what the events of a series have in common.
type seriesKey struct {
	regarding, related             object
	typ, reason, action, component string
	instance                       string
}

// running is an event that was written and may become, or is, a series.
type running struct {
	event   *eventsv1.Event
	series  *eventsv1.EventSeries
	written time.Time
	seen    time.Time
}

// series holds the events.k8s.io events written recently. It is used by one goroutine.
type series struct{ known *lru.Map[seriesKey, *running] }

func newSeries() *series { return &series{lru.New[seriesKey, *running](cacheSize)} }

func keyOfModern(e *eventsv1.Event) seriesKey {
	k := seriesKey{typ: e.Type, reason: e.Reason, action: e.Action, component: e.ReportingController, instance: e.ReportingInstance}
	o := e.Regarding
	k.regarding = object{o.Kind, o.Namespace, o.Name, o.APIVersion, o.FieldPath, o.UID}
	if o := e.Related; o != nil {
		k.related = object{o.Kind, o.Namespace, o.Name, o.APIVersion, o.FieldPath, o.UID}
	}
	return k
}

// writeModern writes the first event of a kind, and the second as the beginning of a series; later ones are
// counted and written by sweep.
func (r *Recorder) writeModern(ctx context.Context, s *series, e *eventsv1.Event) {
	fresh := false
	k := s.known.Get(keyOfModern(e), func() *running { fresh = true; return &running{event: e} })
	k.seen = e.EventTime.Time
	switch {
	case fresh:
		err := r.retry(ctx, func() error { _, err := r.modern.Create(ctx, e); return err },
			func() { e.Name = r.nameOf(e.Regarding, time.Now().Add(backoff.Spread(ctx, time.Millisecond))) })
		if err == nil {
			k.written = k.seen
			r.countWritten(true)
		}
		r.failed(err)
	case k.series == nil:
		k.series = &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
		r.writeSeries(ctx, k)
	default:
		k.series.Count++
		k.series.LastObservedTime = e.EventTime
	}
}

func (r *Recorder) writeSeries(ctx context.Context, k *running) {
	k.event.Series = k.series
	err := r.retry(ctx, func() error {
		b, err := json.Marshal(map[string]any{"series": map[string]any{"count": k.series.Count, "lastObservedTime": k.series.LastObservedTime}})
		if err != nil {
			return err
		}
		_, err = r.modern.Patch(ctx, metav1.KeyOf(k.event), client.Patch{Type: types.StrategicMergePatchType, Data: b})
		if apierrors.IsNotFound(err) {
			// It has expired on the server.
			k.event.ResourceVersion = ""
			_, err = r.modern.Create(ctx, k.event)
		}
		return err
	}, func() { k.event.Name = r.nameOf(k.event.Regarding, time.Now()) })
	if err == nil {
		k.written = time.Now()
		r.countWritten(false)
	}
	r.failed(err)
}

// sweep writes series that have ended or whose heartbeat is due, and removes the former.
func (r *Recorder) sweep(ctx context.Context, s *series) {
	now := time.Now()
	s.known.Keep(func(_ seriesKey, k *running) bool {
		over := now.Sub(k.seen) >= seriesEnd
		if k.series != nil && (over && k.series.LastObservedTime.After(k.written) || now.Sub(k.written) >= seriesHeartbeat) {
			r.writeSeries(ctx, k)
		}
		return !over
	})
}

package events_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/clienttest"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/client/rest"
)

// recording runs a recorder against a server, lets f record, and returns after everything was written.
func recording(t *testing.T, opts events.Options, f func(t *testing.T, rec *events.Recorder, conn client.Conn, cm *corev1.ConfigMap)) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		c := s.Conn(t, rest.Options{})
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name = "default", "thing"
		cm, err := client.For[*corev1.ConfigMap](c).Create(t.Context(), cm)
		require.NoError(t, err)
		rec := events.New(c, opts)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = rec.Run(ctx) }()
		defer func() { cancel(); <-done }()
		f(t, rec, c, cm)
	})
}

func list(t *testing.T, c client.Conn) []*corev1.Event {
	l, err := client.For[*corev1.Event](c).List(t.Context(), client.ListOptions{Namespace: "default"})
	require.NoError(t, err)
	return l.Items
}

func TestIdenticalEventsAreCounted(t *testing.T) {
	dropped := map[string]int{}
	recording(t, events.Options{Component: "test", Metrics: events.Metrics{Dropped: func(why string) { dropped[why]++ }}}, func(t *testing.T, rec *events.Recorder, c client.Conn, cm *corev1.ConfigMap) {
		for range 20 {
			rec.Event(cm, events.Warning, "Failed", "it failed")
			time.Sleep(time.Second)
		}
		es := list(t, c)
		require.Len(t, es, 1)
		require.EqualValues(t, 20, es[0].Count)
		require.Equal(t, cm.UID, es[0].InvolvedObject.UID)
		require.Equal(t, "ConfigMap", es[0].InvolvedObject.Kind)
		require.Equal(t, "v1", es[0].InvolvedObject.APIVersion)
		require.Equal(t, 19*time.Second, es[0].LastTimestamp.Sub(es[0].FirstTimestamp.Time))
		for range 20 {
			rec.Event(cm, events.Warning, "Failed", "it failed")
			time.Sleep(time.Second)
		}
		synctest.Wait()
		require.Equal(t, 15, dropped["spam"], "25 at once and no more")
		time.Sleep(5 * time.Minute)
		rec.Event(cm, events.Warning, "Failed", "it failed")
		time.Sleep(time.Second)
		require.EqualValues(t, 26, list(t, c)[0].Count)
	})
}

func TestSimilarEventsAreCombined(t *testing.T) {
	recording(t, events.Options{Component: "test", Burst: 1000}, func(t *testing.T, rec *events.Recorder, c client.Conn, cm *corev1.ConfigMap) {
		for i := range 40 {
			rec.Eventf(cm, events.Normal, "Step", "step %d", i)
		}
		time.Sleep(time.Second)
		es := list(t, c)
		require.Len(t, es, 10, "nine of their own and one for all others")
		var all int32
		messages := []string{}
		for _, e := range es {
			all += e.Count
			messages = append(messages, e.Message)
		}
		require.EqualValues(t, 40, all)
		require.Contains(t, messages, "(combined from similar events): step 39")
	})
}

func TestSeries(t *testing.T) {
	recording(t, events.Options{Component: "test", Instance: "test-0"}, func(t *testing.T, rec *events.Recorder, c client.Conn, cm *corev1.ConfigMap) {
		for range 10 {
			rec.Action(cm, nil, events.Normal, "Because", "Doing", "a note")
			time.Sleep(time.Second)
		}
		get := func() *eventsv1.Event {
			l, err := client.For[*eventsv1.Event](c).List(t.Context(), client.ListOptions{Namespace: "default"})
			require.NoError(t, err)
			require.Len(t, l.Items, 1)
			return l.Items[0]
		}
		require.EqualValues(t, 2, get().Series.Count, "the rest is written when the series is over")
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 10, get().Series.Count)
		require.Equal(t, "test-0", get().ReportingInstance)
	})
}

func TestEventsQueuedAtTheEndAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		c := s.Conn(t, rest.Options{})
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name, cm.UID = "default", "thing", "u"
		var text bytes.Buffer
		rec := events.New(c, events.Options{Component: "test", Queue: 3, Logger: slog.New(slog.NewTextHandler(&text, nil))})
		for i := range 5 {
			rec.Eventf(cm, events.Normal, "R", "m%d", i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, rec.Run(ctx))
		require.Len(t, list(t, c), 3)
		require.Contains(t, text.String(), "level=WARN msg=\"record events failed\" why=queue events=2")
	})
}

// slowConn passes requests on after a second, unless their context has ended by then.
type slowConn struct{ client.Conn }

func (c slowConn) Do(ctx context.Context, r *client.Request) (*client.Response, error) {
	select {
	case <-time.After(time.Second):
		return c.Conn.Do(ctx, r)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refusing answers every request with an error.
type refusing struct {
	client.Conn
	err error
}

func (c refusing) Do(context.Context, *client.Request) (*client.Response, error) { return nil, c.err }

// TestLossesAreLogged: an event that is lost is in the log, with the reason, and is no warning where its
// namespace goes or has gone.
func TestLossesAreLogged(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
	for name, c := range map[string]struct {
		err    error
		record int
		want   string
	}{
		"refused":     {apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", errors.New("no right")), 1, "level=WARN msg=\"record event failed\" why=refused"},
		"terminating": {terminating, 1, "level=DEBUG msg=\"record event failed\" why=refused"},
		"gone":        {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), 1, "level=DEBUG msg=\"record event failed\" why=refused"},
		"queue full":  {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "n"), 5, "level=WARN msg=\"record events failed\" why=queue events=3"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var text bytes.Buffer
				log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
				s := clienttest.Start(t, clienttest.Options{})
				rec := events.New(refusing{s.Conn(t, rest.Options{}), c.err}, events.Options{Component: "test", Queue: 2, Logger: log})
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "thing", UID: "u"}}
				for range c.record {
					rec.Event(cm, events.Normal, "R", "something happened")
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- rec.Run(ctx) }()
				synctest.Wait()
				cancel()
				require.NoError(t, <-done)
				require.Contains(t, text.String(), c.want)
			})
		})
	}
}

// TestEventsInFlightAtTheEndAreWritten: an event whose request is in flight when the recorder is stopped is
// not dropped.
func TestEventsInFlightAtTheEndAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.Start(t, clienttest.Options{})
		c := s.Conn(t, rest.Options{})
		cm := &corev1.ConfigMap{}
		cm.Namespace, cm.Name, cm.UID = "default", "thing", "u"
		rec := events.New(slowConn{c}, events.Options{Component: "test"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- rec.Run(ctx) }()
		rec.Event(cm, events.Normal, "R", "last words")
		time.Sleep(500 * time.Millisecond)
		cancel()
		began := time.Now()
		require.NoError(t, <-done)
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.Len(t, list(t, c), 1)
	})
}

package events_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
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
		rec := events.New(c, events.Options{Component: "test", Queue: 3})
		for i := range 5 {
			rec.Eventf(cm, events.Normal, "R", "m%d", i)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, rec.Run(ctx))
		require.Len(t, list(t, c), 3)
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

// TestEventsInFlightAtTheEndAreWritten: the event whose request is on its way when the recorder is stopped is
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

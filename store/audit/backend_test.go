package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/auditv1"
	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/audit"
)

func event(id string) *auditv1.Event {
	e := &auditv1.Event{Level: auditv1.LevelMetadata, AuditID: types.UID(id), Stage: auditv1.StageResponseComplete, RequestURI: "/api", Verb: "get"}
	e.SetGroupVersionKind(auditv1.GroupVersion.WithKind("Event"))
	return e
}

// failures counts lost events by plugin.
type failures struct {
	mu   sync.Mutex
	lost map[string]int
}

func (f *failures) add(plugin string, _ error, events int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost == nil {
		f.lost = map[string]int{}
	}
	f.lost[plugin] += events
}

// smallDisk takes so many bytes and then fails until there is room again.
type smallDisk struct {
	bytes.Buffer
	room int
}

func (d *smallDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	d.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func TestLogFormats(t *testing.T) {
	e := event("1")
	e.RequestReceivedTimestamp = metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC))
	e.StageTimestamp = e.RequestReceivedTimestamp
	e.User = authenticationv1.UserInfo{Username: "ann", Groups: []string{"a", "b"}}
	e.SourceIPs, e.UserAgent = []string{"1.2.3.4"}, "go \"1\"\n"
	e.ObjectRef = &auditv1.ObjectReference{Namespace: "ns", Resource: "pods"}
	e.ResponseStatus = &metav1.Status{Code: 200}
	var out strings.Builder
	require.NoError(t, audit.NewLog(&out, audit.LogOptions{}).Record(t.Context(), e, event("2")))
	lines := strings.SplitAfter(out.String(), "\n")
	require.Len(t, lines, 3)
	require.JSONEq(t, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"ResponseComplete","requestURI":"/api","verb":"get",
		"user":{"username":"ann","groups":["a","b"]},"sourceIPs":["1.2.3.4"],"userAgent":"go \"1\"\n","objectRef":{"resource":"pods","namespace":"ns"},
		"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-02T03:04:05.000006Z","stageTimestamp":"2026-01-02T03:04:05.000006Z"}`, lines[0])
	out.Reset()
	e.ImpersonatedUser = &authenticationv1.UserInfo{Username: "bob", Groups: []string{"c"}}
	require.NoError(t, audit.NewLog(&out, audit.LogOptions{Format: audit.FormatLegacy}).Record(t.Context(), e, &auditv1.Event{}))
	require.Equal(t, `2026-01-02T03:04:05.000006Z AUDIT: id="1" stage="ResponseComplete" ip="1.2.3.4" method="get" user="ann" groups="\"a\",\"b\"" as="bob" asgroups="\"c\"" user-agent="go \"1\"\n" namespace="ns" uri="/api" response="200"
0001-01-01T00:00:00Z AUDIT: id="" stage="" ip="<unknown>" method="" user="<none>" groups="<none>" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="" response="<deferred>"
`, out.String())
}

// What a full disk has taken of a line does not spoil the next one, and lost events are counted.
func TestLogFullDisk(t *testing.T) {
	var f failures
	line := len(`{"kind":"Event"`)
	disk := &smallDisk{}
	l := audit.NewLog(disk, audit.LogOptions{Failed: f.add})
	require.NoError(t, func() error { disk.room = 1 << 20; return l.Record(t.Context(), event("a")) }())
	size := disk.Len()
	disk.room = size + line
	require.ErrorContains(t, l.Record(t.Context(), event("b"), event("c"), event("d")), "no space left on device")
	require.Equal(t, map[string]int{"log": 2}, f.lost)
	require.Error(t, l.Record(t.Context(), event("e")))
	require.Equal(t, 3, f.lost["log"])
	disk.room = 1 << 20
	require.NoError(t, l.Record(t.Context(), event("f")))
	require.NoError(t, l.Record(t.Context(), event("g")))
	var ids []string
	for text := range strings.Lines(disk.String()) {
		var e auditv1.Event
		if codec.Unmarshal([]byte(text), &e) == nil {
			ids = append(ids, string(e.AuditID))
		}
	}
	require.Equal(t, []string{"a", "b", "f", "g"}, ids)
}

// Requests do not wait for a batch: a backend that hangs costs events, which are counted, and no time. What
// waits at the end is passed on.
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failures
		var mu sync.Mutex
		seen := map[types.UID]int{}
		var sizes []int
		hang := make(chan struct{})
		next := audit.Func(func(ctx context.Context, events ...*auditv1.Event) error {
			select {
			case <-hang:
			case <-ctx.Done():
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, len(events))
			for _, e := range events {
				seen[e.AuditID]++
			}
			return nil
		})
		b := audit.NewBatch(next, audit.BatchOptions{Buffer: 20, Size: 10, Wait: time.Second, Parallel: 2, Failed: f.add})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		began := time.Now()
		for i := range 100 {
			require.NoError(t, b.Record(t.Context(), event(fmt.Sprint(i))))
			synctest.Wait()
		}
		require.Zero(t, time.Since(began), "a request waited")
		// Two batches are under way, one waits for its turn, and the buffer is full.
		require.Equal(t, map[string]int{"buffered": 50}, f.lost)
		close(hang)
		synctest.Wait()
		mu.Lock()
		require.Len(t, seen, 50)
		require.Equal(t, []int{10, 10, 10, 10, 10}, sizes)
		mu.Unlock()

		require.NoError(t, b.Record(t.Context(), event("x")))
		synctest.Wait()
		mu.Lock()
		require.Len(t, seen, 50, "the event waits for others")
		mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		mu.Lock()
		require.Equal(t, 1, seen["x"])
		mu.Unlock()
		for i := range 15 {
			require.NoError(t, b.Record(t.Context(), event(fmt.Sprint("end", i))))
		}
		cancel()
		require.NoError(t, <-done)
		mu.Lock()
		defer mu.Unlock()
		require.Len(t, seen, 66)
		for id, n := range seen {
			require.Equal(t, 1, n, id)
		}
		require.NoError(t, b.Record(t.Context(), event("late")))
		require.Equal(t, 51, f.lost["buffered"])
	})
}

// Batches are throttled, and a dead backend does not keep the process from ending.
func TestBatchThrottleAndShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var at []time.Duration
		began := time.Now()
		dead := false
		next := audit.Func(func(ctx context.Context, _ ...*auditv1.Event) error {
			mu.Lock()
			at = append(at, time.Since(began))
			hang := dead
			mu.Unlock()
			if hang {
				<-ctx.Done()
			}
			return nil
		})
		b := audit.NewBatch(next, audit.BatchOptions{Size: 1, QPS: 2, Burst: 2})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		require.NoError(t, b.Record(t.Context(), event("a"), event("b"), event("c"), event("d")))
		time.Sleep(time.Minute)
		mu.Lock()
		require.Equal(t, []time.Duration{0, 0, time.Second / 2, time.Second}, at)
		dead = true
		mu.Unlock()
		require.NoError(t, b.Record(t.Context(), event("e")))
		synctest.Wait()
		ended := time.Now()
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, 30*time.Second, time.Since(ended))
	})
}

func TestWebhookRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f failures
		attempts, fail := 0, 2
		w := audit.NewWebhook(audit.WebhookOptions{InitialBackoff: time.Second, Failed: f.add, Send: func(ctx context.Context, list []byte) error {
			if attempts++; attempts <= fail {
				<-ctx.Done() // it hangs
				return ctx.Err()
			}
			var l auditv1.EventList
			require.NoError(t, codec.Unmarshal(list, &l))
			require.Equal(t, "EventList", l.Kind)
			require.Len(t, l.Items, 2)
			return nil
		}})
		require.NoError(t, w.Record(t.Context(), event("a"), event("b")))
		require.Equal(t, 3, attempts)
		attempts, fail = 0, 100
		require.ErrorContains(t, w.Record(t.Context(), event("a"), event("b")), "audit: sending events: context deadline exceeded")
		require.Equal(t, 5, attempts)
		require.Equal(t, map[string]int{"webhook": 2}, f.lost)
	})
}

func TestTruncate(t *testing.T) {
	var f failures
	var batches [][]*auditv1.Event
	next := audit.Func(func(_ context.Context, events ...*auditv1.Event) error {
		batches = append(batches, events)
		return nil
	})
	large := event("large")
	large.Annotations = map[string]string{"k": "v"}
	large.RequestObject = &metav1.RawExtension{Raw: []byte(`"` + strings.Repeat("x", 600) + `"`)}
	huge := event("huge")
	huge.UserAgent = strings.Repeat("x", 1000)
	b := audit.Truncate(next, audit.TruncateOptions{MaxEvent: 500, MaxBatch: 600, Failed: f.add})
	require.NoError(t, b.Record(t.Context(), event("a"), large, huge, event("b")))
	require.Len(t, batches, 2)
	require.Len(t, batches[0], 2)
	require.Nil(t, batches[0][1].RequestObject)
	require.Equal(t, map[string]string{"k": "v", "audit.k8s.io/truncated": "true"}, batches[0][1].Annotations)
	require.Equal(t, map[string]string{"k": "v"}, large.Annotations, "events are immutable")
	require.Equal(t, map[string]int{"truncate": 1}, f.lost)
}

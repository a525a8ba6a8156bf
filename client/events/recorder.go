package events

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// The types of events.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// Options configure a Recorder.
type Options struct {
	// Component names the program or controller that records. Required.
	Component string
	// Instance names this replica of it; empty means the host's name.
	Instance string
	// Host is the source's host, for components that run per node; it may be empty.
	Host string
	// Queue is the number of events that may wait to be written; 0 means 1000.
	Queue int
	// Burst is the number of events one object may get at once, 0 means 25; Refill is the time for one more,
	// 0 means 5 minutes.
	Burst  int
	Refill time.Duration
	// Similar is the number of events that differ only in their message that are written within Interval
	// before they are combined; 0 means 10 and 10 minutes.
	Similar  int
	Interval time.Duration
	// Logger logs each event at level Info, and failures as warnings; nil discards them. An event that is
	// refused because its namespace is being deleted, or has been, is logged at level Debug: every deletion
	// of a namespace with running pods has some.
	Logger *slog.Logger
	// Metrics are called with the results of events.
	Metrics Metrics
}

// Metrics are functions called by a Recorder. Each may be nil. They must not block.
type Metrics struct {
	// Written is called for each event created or counted up.
	Written func(created bool)
	// Dropped is called for each event that is not written; why is "queue", "spam", "refused" or "failed".
	Dropped func(why string)
}

// Recorder records events. Its recording methods may be called from many goroutines, before Run and after it,
// and never block.
type Recorder struct {
	conn   client.Conn
	opts   Options
	core   *client.Client[*corev1.Event]
	modern *client.Client[*eventsv1.Event]
	queue  chan pending
	names  names
	lost   atomic.Int64 // events that found the queue full and are not logged yet
}

// pending is an event that waits to be written.
type pending struct {
	core   *corev1.Event
	modern *eventsv1.Event
}

// New returns a recorder that writes through conn while Run runs.
func New(conn client.Conn, opts Options) *Recorder {
	if opts.Queue <= 0 {
		opts.Queue = 1000
	}
	if opts.Burst <= 0 {
		opts.Burst = 25
	}
	if opts.Refill <= 0 {
		opts.Refill = 5 * time.Minute
	}
	if opts.Similar <= 0 {
		opts.Similar = 10
	}
	if opts.Interval <= 0 {
		opts.Interval = 10 * time.Minute
	}
	if opts.Instance == "" {
		if opts.Instance, _ = os.Hostname(); opts.Instance == "" {
			opts.Instance = opts.Component
		}
	}
	return &Recorder{
		conn: conn, opts: opts, core: client.For[*corev1.Event](conn), modern: client.For[*eventsv1.Event](conn),
		queue: make(chan pending, opts.Queue),
	}
}

// Event records something about obj as a core Event. typ is Normal or Warning; reason is a CamelCase word for
// programs, message is for users.
func (r *Recorder) Event(obj metav1.Object, typ, reason, message string) {
	r.Annotated(obj, nil, typ, reason, message)
}

// Eventf is Event with a format.
func (r *Recorder) Eventf(obj metav1.Object, typ, reason, format string, args ...any) {
	r.Annotated(obj, nil, typ, reason, fmt.Sprintf(format, args...))
}

// Annotated is Event with annotations on the Event object.
func (r *Recorder) Annotated(obj metav1.Object, annotations map[string]string, typ, reason, message string) {
	ref, err := Reference(r.conn.Scheme(), obj)
	if err != nil {
		r.drop("failed", err)
		return
	}
	r.About(ref, annotations, typ, reason, message)
}

// About is Annotated for an object known by reference, or part of one (FieldPath).
func (r *Recorder) About(ref corev1.ObjectReference, annotations map[string]string, typ, reason, message string) {
	if typ != Normal && typ != Warning {
		r.drop("failed", fmt.Errorf("events: %q is not Normal or Warning", typ))
		return
	}
	now := time.Now()
	e := &corev1.Event{
		InvolvedObject: ref, Reason: reason, Message: message, Type: typ, Count: 1,
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now),
		Source:              corev1.EventSource{Component: r.opts.Component, Host: r.opts.Host},
		ReportingController: r.opts.Component, ReportingInstance: r.opts.Instance,
	}
	e.Namespace, e.Name = namespaceOf(ref), r.nameOf(ref, now)
	e.Annotations = maps.Clone(annotations)
	r.log(ref, typ, reason, message)
	r.enqueue(pending{core: e})
}

// Action records an action of the component on regarding, because of related, which may be nil, as
// an events.k8s.io Event. action is a CamelCase word for what was done or attempted, reason one for why.
func (r *Recorder) Action(regarding, related metav1.Object, typ, reason, action, note string) {
	ref, err := Reference(r.conn.Scheme(), regarding)
	if err != nil || typ != Normal && typ != Warning {
		r.drop("failed", err)
		return
	}
	now := time.Now()
	e := &eventsv1.Event{
		EventTime: metav1.NewMicroTime(now), ReportingController: r.opts.Component, ReportingInstance: r.opts.Instance,
		Action: action, Reason: reason, Regarding: ref, Note: truncate(note, 1024), Type: typ,
	}
	if related != nil {
		if rel, err := Reference(r.conn.Scheme(), related); err == nil {
			e.Related = &rel
		}
	}
	e.Namespace, e.Name = namespaceOf(ref), r.nameOf(ref, now)
	r.log(ref, typ, reason, note)
	r.enqueue(pending{modern: e})
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

func namespaceOf(ref corev1.ObjectReference) string {
	if ref.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return ref.Namespace
}

// nameOf returns a name for an event made of its object and a time, which is advanced if the name was used
// before. It does not depend on events of other objects, so that a run with a seed replays.
func (r *Recorder) nameOf(ref corev1.ObjectReference, now time.Time) string {
	return eventName(ref.Name, r.names.next(namespaceOf(ref)+"/"+ref.Name, now.UnixNano()))
}

// names are the times in the names of events that were made last.
type names struct {
	mu     sync.Mutex
	last   map[string]int64 // by object, of those that are not before latest
	latest int64
}

// next returns now, or the first time after it that no name of the object has.
func (n *names) next(object string, now int64) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.last == nil:
		n.last = map[string]int64{}
	case now > n.latest:
		clear(n.last)
	}
	at := now
	if last, used := n.last[object]; used {
		at = max(now, last+1)
	}
	n.last[object] = at
	n.latest = max(n.latest, at)
	return at
}

func eventName(object string, at int64) string {
	// The name of the object is shortened if the result would be too long.
	return fmt.Sprintf("%s.%x", truncate(object, 253-17), at)
}

func (r *Recorder) log(ref corev1.ObjectReference, typ, reason, message string) {
	if r.opts.Logger != nil {
		r.opts.Logger.Info(message, "kind", ref.Kind, "namespace", ref.Namespace, "name", ref.Name, "type", typ, "reason", reason)
	}
}

func (r *Recorder) drop(reason string, err error) {
	if r.opts.Metrics.Dropped != nil {
		r.opts.Metrics.Dropped(reason)
	}
	if r.opts.Logger == nil || err == nil {
		return
	}
	level := slog.LevelWarn
	if apierrors.IsNotFound(err) || apierrors.HasCause(err, "NamespaceTerminating") {
		level = slog.LevelDebug
	}
	r.opts.Logger.Log(context.Background(), level, "record event failed", "why", reason, "err", err)
}

// logLost logs how many events have found the queue full since the last call.
func (r *Recorder) logLost() {
	if n := r.lost.Swap(0); n > 0 && r.opts.Logger != nil {
		r.opts.Logger.Warn("record events failed", "why", "queue", "events", n)
	}
}

func (r *Recorder) enqueue(p pending) {
	select {
	case r.queue <- p:
	default:
		r.lost.Add(1)
		r.drop("queue", nil)
	}
}

// flushTimeout is how long events are still written after Run's context has ended.
const flushTimeout = 2 * time.Second

// extendContext returns a context that ends d after ctx does, and a function that ends it at once.
func extendContext(ctx context.Context, d time.Duration) (context.Context, func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-ctx.Done():
		case <-longer.Done():
			return
		}
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() {
		cancel()
		waiting.Wait()
	}
}

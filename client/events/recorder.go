// Package events records what happened to objects as core/v1 Events, the ones kubectl describe shows.
//
// A [Recorder] never blocks its caller: events wait in a bounded queue for Run to write them, and are
// counted as dropped when it is full. Repetitions of one event raise the count of the Event that is there.
package events

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// Options of a Recorder.
type Options struct {
	// Queue is how many events may wait; 0 means 1,000.
	Queue int
	// Remember is how many distinct events are remembered for counting repetitions; 0 means 4,096.
	Remember int
	// Host is the node the component runs on, if any.
	Host string
	// Logger is told of events that could not be written; nil discards.
	Logger *slog.Logger
}

// Recorder writes the events of one component. Eventf may be called from any goroutine, before and during Run.
type Recorder struct {
	component string
	opts      Options
	client    *client.Client[*corev1.Event]
	scheme    *scheme.Scheme
	queue     chan *corev1.Event
	dropped   atomic.Int64

	mu    sync.Mutex
	known map[string]known // by what makes two events the same
	order []string         // keys of known, oldest first
}

type known struct {
	key   types.NamespacedName
	count int32
}

// New makes a recorder for a component; its name becomes the events' source.
func New(c client.Conn, component string, o Options) *Recorder {
	if o.Queue == 0 {
		o.Queue = 1000
	}
	if o.Remember == 0 {
		o.Remember = 4096
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Recorder{component: component, opts: o, client: client.For[*corev1.Event](c), scheme: c.Scheme(),
		queue: make(chan *corev1.Event, o.Queue), known: map[string]known{}}
}

// Eventf records that something happened to obj. eventType is Normal or Warning, reason a CamelCase word for programs,
// the rest a sentence for people.
func (r *Recorder) Eventf(obj metav1.Object, eventType, reason, format string, args ...any) {
	ref, err := Reference(r.scheme, obj)
	if err != nil {
		r.opts.Logger.Warn("cannot record an event", "reason", reason, "err", err)
		return
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = "default"
	}
	now := metav1.Now()
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: ref.Name + "." + strconv.FormatInt(now.UnixNano(), 16)},
		InvolvedObject: *ref, Type: eventType, Reason: reason, Message: limit(fmt.Sprintf(format, args...)),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: r.component, Host: r.opts.Host}, ReportingController: r.component,
	}
	select {
	case r.queue <- e:
	default:
		r.dropped.Add(1)
	}
}

// Dropped is how many events found the queue full.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// limit is the API's bound on a message.
func limit(s string) string {
	if len(s) > 1024 {
		return s[:1024]
	}
	return s
}

// Reference describes obj as Events refer to it.
func Reference(s *scheme.Scheme, obj metav1.Object) (*corev1.ObjectReference, error) {
	info, err := s.ForObject(obj)
	if err != nil {
		return nil, err
	}
	m := metav1.MetaOf(obj)
	return &corev1.ObjectReference{Kind: info.GVK.Kind, APIVersion: info.GVK.GroupVersion().String(),
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}, nil
}

// Run writes events until ctx ends; what then still waits is written within a second or lost.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case e := <-r.queue:
			r.write(ctx, e)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			for last.Err() == nil {
				select {
				case e := <-r.queue:
					r.write(last, e)
				default:
					return nil
				}
			}
			return nil
		}
	}
}

func (r *Recorder) write(ctx context.Context, e *corev1.Event) {
	same := fmt.Sprint(e.InvolvedObject.UID, e.InvolvedObject.Name, e.InvolvedObject.FieldPath, e.Type, e.Reason, e.Message)
	if k, ok := r.recall(same); ok {
		patch, err := json.Marshal(map[string]any{"count": k.count + 1, "lastTimestamp": e.LastTimestamp})
		if err == nil {
			_, err = r.client.Patch(ctx, k.key, client.Patch{Type: types.MergePatchType, Data: patch})
		}
		if err == nil {
			r.remember(same, known{k.key, k.count + 1})
			return
		}
		if !apierrors.IsNotFound(err) { // the old one has expired
			r.opts.Logger.Debug("cannot update an event", "err", err)
		}
	}
	created, err := r.client.Create(ctx, e)
	switch {
	case err == nil:
		r.remember(same, known{metav1.KeyOf(created), 1})
	case ctx.Err() == nil && !apierrors.HasCause(err, "NamespaceTerminating") && !apierrors.IsNotFound(err):
		r.opts.Logger.Warn("cannot write an event", "reason", e.Reason, "err", err)
	}
}

func (r *Recorder) recall(same string) (known, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.known[same]
	return k, ok
}

func (r *Recorder) remember(same string, k known) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[same]; !ok {
		if len(r.order) >= r.opts.Remember {
			delete(r.known, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, same)
	}
	r.known[same] = k
}

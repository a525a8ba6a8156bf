package events

import (
	"encoding/json"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/lru"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// cacheSize is the number of keys each cache of a correlator holds.
const cacheSize = 4096

// combinedPrefix is the prefix of the message of a combined event.
const combinedPrefix = "(combined from similar events): "

// object identifies the object of an event.
type object struct {
	kind, namespace, name, apiVersion, fieldPath string
	uid                                          types.UID
}

// similar is what events that are combined have in common.
type similar struct {
	object            object
	typ, reason       string
	component, host   string
	instance, message string
}

// entry is an event that was written or will be next.
type entry struct {
	name  string
	count int32
	first corev1.Event
	seen  time.Time
}

// group counts the messages of similar events.
type group struct {
	messages map[string]struct{}
	last     time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
}

// correlator decides whether an event is created, counted up, combined or dropped. It is used by one
// goroutine.
type correlator struct {
	opts    Options
	entries *lru.Map[similar, *entry]
	groups  *lru.Map[similar, *group]
	buckets *lru.Map[object, *bucket]
}

func newCorrelator(opts Options) *correlator {
	return &correlator{opts: opts, entries: lru.New[similar, *entry](cacheSize), groups: lru.New[similar, *group](cacheSize), buckets: lru.New[object, *bucket](cacheSize)}
}

// correlate returns the event to write, modified to count its predecessors, and its entry; nil if the object
// has too many events.
func (c *correlator) correlate(e *corev1.Event) (*corev1.Event, *entry) {
	now := e.LastTimestamp.Time
	o := e.InvolvedObject
	key := similar{
		object: object{o.Kind, o.Namespace, o.Name, o.APIVersion, o.FieldPath, o.UID},
		typ:    e.Type, reason: e.Reason, component: e.Source.Component, host: e.Source.Host, instance: e.ReportingInstance,
	}
	b := c.buckets.Get(key.object, func() *bucket { return &bucket{tokens: float64(c.opts.Burst), at: now} })
	b.tokens = min(float64(c.opts.Burst), b.tokens+float64(now.Sub(b.at))/float64(c.opts.Refill))
	b.at = now
	if b.tokens < 1 {
		return nil, nil
	}
	b.tokens--
	g := c.groups.Get(key, func() *group { return &group{messages: map[string]struct{}{}, last: now} })
	if now.Sub(g.last) > c.opts.Interval {
		g.messages = map[string]struct{}{}
	}
	g.last = now
	g.messages[e.Message] = struct{}{}
	if len(g.messages) >= c.opts.Similar {
		// Limited: the messages are no longer needed.
		for m := range g.messages {
			if len(g.messages) <= c.opts.Similar {
				break
			}
			delete(g.messages, m)
		}
		e.Message = combinedPrefix + e.Message
		// All combined events count as one, with any message.
	} else {
		key.message = e.Message
	}
	k := c.entries.Get(key, func() *entry { return &entry{first: *e} })
	k.count++
	k.seen = now
	e.Count, e.FirstTimestamp = k.count, k.first.FirstTimestamp
	return e, k
}

// corePatch counts an event up.
func corePatch(e *corev1.Event) client.Patch {
	b, _ := json.Marshal(map[string]any{"count": e.Count, "lastTimestamp": e.LastTimestamp, "message": e.Message})
	return client.Patch{Type: types.StrategicMergePatchType, Data: b}
}

package admission

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/eventsv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/lru"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// EventLimit bounds the rate of writes of events.
type EventLimit struct {
	// Type says which events share a limit: all (Server), or those of a Namespace, of a User, or with the
	// same SourceAndObject.
	Type EventLimitType `json:"type"`
	// QPS is how many writes a second are allowed for long, and Burst how many at once. Both are positive.
	QPS   int32 `json:"qps"`
	Burst int32 `json:"burst"`
	// CacheSize is for how many namespaces, users or objects the limit is kept; those unused for longest
	// get a full burst again. Zero means 4096.
	CacheSize int32 `json:"cacheSize"`
}

// EventLimitType is the type of an EventLimit.
type EventLimitType string

const (
	EventLimitServer          EventLimitType = "Server"
	EventLimitNamespace       EventLimitType = "Namespace"
	EventLimitUser            EventLimitType = "User"
	EventLimitSourceAndObject EventLimitType = "SourceAndObject"
)

var eventLimitTypes = []EventLimitType{EventLimitNamespace, EventLimitServer, EventLimitSourceAndObject, EventLimitUser}

const defaultEventBuckets = 4096

func checkEventLimits(limits []EventLimit) error {
	var errs validation.ErrorList
	at := validation.NewPath("limits")
	if len(limits) == 0 {
		errs = append(errs, validation.Required(at, "must not be empty"))
	}
	for i, l := range limits {
		p := at.Index(i)
		switch l.Type {
		case EventLimitServer, EventLimitNamespace, EventLimitUser, EventLimitSourceAndObject:
		default:
			errs = append(errs, validation.NotSupported(p.Child("type"), l.Type, eventLimitTypes))
		}
		if l.Burst <= 0 {
			errs = append(errs, validation.Invalid(p.Child("burst"), l.Burst, "must be positive"))
		}
		if l.QPS <= 0 {
			errs = append(errs, validation.Invalid(p.Child("qps"), l.QPS, "must be positive"))
		}
		if l.CacheSize < 0 {
			errs = append(errs, validation.Invalid(p.Child("cacheSize"), l.CacheSize, "must not be negative"))
		}
	}
	return errs.Err()
}

// eventLimits refuses events that come too fast. Unlike upstream's it counts those of events.k8s.io too:
// they are the same objects.
type eventLimits struct {
	named
	limits []*eventBuckets
}

func newEventLimits(_ Access, o Options) (Plugin, error) {
	if err := checkEventLimits(o.Configuration.EventLimits); err != nil {
		return nil, fmt.Errorf("EventRateLimit: %w", err)
	}
	p := &eventLimits{named: named{"EventRateLimit", []Operation{Create, Update}}}
	for _, l := range o.Configuration.EventLimits {
		if l.CacheSize == 0 {
			l.CacheSize = defaultEventBuckets
		}
		p.limits = append(p.limits, &eventBuckets{limit: l, byKey: lru.New[string, *eventBucket](int(l.CacheSize))})
	}
	return p, nil
}

func (p *eventLimits) Validate(_ context.Context, a *Attributes) error {
	if a.Kind.Kind != "Event" || a.Kind.Group != "" && a.Kind.Group != eventsv1.GroupVersion.Group || a.DryRun {
		return nil
	}
	var reached []string
	for _, l := range p.limits { // each counts the event, also when another one refuses it
		if key := l.limit.Type.keyOf(a); !l.take(key) {
			reached = append(reached, fmt.Sprintf("limit reached on type %s for key %s", l.limit.Type, key))
		}
	}
	const tooMany = "Too many requests: "
	switch len(reached) {
	case 0:
		return nil
	case 1:
		return apierrors.NewTooManyRequests(tooMany+reached[0], 0)
	}
	return apierrors.NewTooManyRequests(tooMany+"["+strings.Join(reached, ", ")+"]", 0)
}

// keyOf names what shares a limit with the event.
func (t EventLimitType) keyOf(a *Attributes) string {
	switch t {
	case EventLimitNamespace:
		return a.Namespace
	case EventLimitUser:
		return a.User.Name
	case EventLimitSourceAndObject:
		var source corev1.EventSource
		var o corev1.ObjectReference
		switch e := a.Object.(type) {
		case *corev1.Event:
			source, o = e.Source, e.InvolvedObject
		case *eventsv1.Event:
			source, o = e.DeprecatedSource, e.Regarding
		}
		return strings.Join([]string{source.Component, source.Host, o.Kind, o.Namespace, o.Name, string(o.UID), o.APIVersion}, "")
	}
	return ""
}

// eventBuckets are the buckets of one limit.
type eventBuckets struct {
	limit EventLimit

	mu    sync.Mutex
	byKey *lru.Map[string, *eventBucket]
}

// eventBucket has the tokens left at a time.
type eventBucket struct {
	tokens float64
	at     time.Time
}

// take removes a token from a bucket and reports whether there was one.
func (l *eventBuckets) take(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, full := time.Now(), float64(l.limit.Burst)
	b := l.byKey.Get(key, func() *eventBucket { return &eventBucket{full, now} })
	b.tokens = min(full, b.tokens+now.Sub(b.at).Seconds()*float64(l.limit.QPS))
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

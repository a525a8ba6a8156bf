package flowcontrol

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/store/authz"
)

// Options configure a Controller. The zero value works.
type Options struct {
	// Seats is how many requests run at a time, exempt ones not counted. Zero means 600.
	Seats int
	// Wait is the longest time a request waits. Zero means 15 seconds.
	Wait time.Duration
	// Metrics are called as requests come and go. Nil functions are skipped.
	Metrics Metrics
}

// Metrics are hooks for measurements. They are called without locks held, and must be quick and safe for
// concurrent use.
type Metrics struct {
	// Executing is called with +1 and the seats a request takes when it begins to run, and with both negative
	// when it ends.
	Executing func(schema, level string, requests, seats int)
	// Waiting is called with +1 and the seats a request will take when it begins to wait, and with both
	// negative when its wait ends.
	Waiting func(schema, level string, requests, seats int)
	// Started is called when a request may run, with the seats it takes and the time it waited, which is
	// negative where requests never wait.
	Started func(schema, level string, seats int, waited time.Duration)
	// Finished is called when a request has given its seats back, with the time it had them: a watch keeps
	// them only while it begins.
	Finished func(schema, level string, watch bool, ran time.Duration)
	// Rejected is called when one may not.
	Rejected func(schema, level string, reason Reason)
}

// Reason is why a request was rejected.
type Reason string

// The reasons.
const (
	QueueFull        Reason = "queue-full"        // the queue of its flow is full
	ConcurrencyLimit Reason = "concurrency-limit" // its level does not queue
	TimeOut          Reason = "time-out"          // it waited for too long
	Cancelled        Reason = "cancelled"         // the client gave up
)

// RejectedError is the error for a request that may not run now.
type RejectedError struct{ Reason Reason }

func (e *RejectedError) Error() string { return "flowcontrol: rejected: " + string(e.Reason) }

// Flow is what a request belongs to.
type Flow struct {
	// Schema and Level are names, SchemaUID and LevelUID the objects' uids; the uids are empty until
	// Configure has been given the objects.
	Schema, SchemaUID, Level, LevelUID string

	level         *level
	watch         bool
	hash          uint64
	distinguisher string
}

// Exempt reports that requests of the flow are neither delayed nor counted.
func (f *Flow) Exempt() bool { return f.level.exempt }

// Controller holds the levels and admits requests.
type Controller struct {
	options Options
	config  atomic.Pointer[config]

	mu sync.Mutex
	// Those of config that are limited, and older ones still in use; guarded by mu as are their fields.
	levels []*level
	pool   int // seats that levels lend, and how many of them are used
	lent   int
}

// config is an immutable table of schemas.
type config struct {
	schemas  []schemaEntry
	catchAll schemaEntry
	levels   map[string]*level
}

type schemaEntry struct {
	*flowcontrolv1.FlowSchema
	level *level
}

// New returns a controller with the configuration of Defaults.
func New(o Options) *Controller {
	if o.Seats <= 0 {
		o.Seats = 600
	}
	if o.Wait <= 0 {
		o.Wait = 15 * time.Second
	}
	c := &Controller{options: o}
	c.config.Store(&config{})
	c.Configure(Defaults())
	return c
}

// Configure replaces the configuration; requests that wait or run stay. The objects must not be changed
// afterwards. The mandatory ones (exempt and catch-all) are added where they are missing, and a schema whose
// level does not exist is left out.
func (c *Controller) Configure(schemas []*flowcontrolv1.FlowSchema, levels []*flowcontrolv1.PriorityLevelConfiguration) {
	schemas, levels = withMandatory(schemas, levels)
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.config.Load()
	next := &config{levels: make(map[string]*level, len(levels))}
	total := 0
	for _, p := range levels {
		total += shares(p)
	}
	for _, p := range levels {
		l := old.levels[p.Name]
		if l == nil || l.exempt != (p.Spec.Limited == nil) {
			l = &level{name: p.Name, exempt: p.Spec.Limited == nil}
		}
		l.configure(p, c.options.Seats, total)
		next.levels[p.Name] = l
	}
	for _, f := range schemas {
		if l := next.levels[f.Spec.PriorityLevelConfiguration.Name]; l != nil {
			next.schemas = append(next.schemas, schemaEntry{f, l})
		}
		if f.Name == flowcontrolv1.FlowSchemaNameCatchAll {
			next.catchAll = schemaEntry{f, next.levels[flowcontrolv1.PriorityLevelConfigurationNameCatchAll]}
		}
	}
	slices.SortStableFunc(next.schemas, func(a, b schemaEntry) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	c.adopt(next)
	c.config.Store(next)
	c.dispatch()
}

// adopt makes the limited levels of next the ones that share seats. Requests that wait in a removed level run
// at once, since nothing would wake them later. Called with mu held.
func (c *Controller) adopt(next *config) {
	for _, l := range c.levels {
		if next.levels[l.name] != l {
			l.release()
		}
	}
	c.levels, c.pool, c.lent = nil, 0, 0
	for _, name := range sortedNames(next.levels) {
		if l := next.levels[name]; !l.exempt {
			c.levels = append(c.levels, l)
			c.pool += l.nominal - l.guaranteed
			c.lent += l.above(l.used)
		}
	}
}

// Classify finds the flow of a request.
func (c *Controller) Classify(a *authz.Attributes) Flow {
	cfg := c.config.Load()
	entry := cfg.catchAll // for users of no group, too
	if i := slices.IndexFunc(cfg.schemas, func(s schemaEntry) bool { return matches(s.FlowSchema, a) }); i >= 0 {
		entry = cfg.schemas[i]
	}
	f := Flow{Schema: entry.Name, SchemaUID: string(entry.UID), Level: entry.level.name, LevelUID: entry.level.uid.Load().(string), level: entry.level, watch: a.ResourceRequest && a.Verb == "watch"}
	if !f.Exempt() {
		f.distinguisher = distinguisher(entry.FlowSchema, a)
		f.hash = hashOf(entry.FlowSchema, f.distinguisher)
	}
	return f
}

// Seat is the right to run. Release gives it back; it may be called more than once, by one goroutine.
type Seat struct {
	c     *Controller
	flow  Flow
	seats int
	came  time.Time
	since time.Time // when it was let run; only its own goroutine reads it
	queue *queue
	given bool

	prev, next *Seat // of those that run in its level; guarded by Controller.mu
}

// Acquire waits until a request of the flow may run, which takes that many seats: one for an ordinary
// request, more for one that costs more, but no more than about a seventh of its level. Errors are
// *RejectedError.
func (c *Controller) Acquire(ctx context.Context, f Flow, seats int) (*Seat, error) {
	s := &Seat{c: c, flow: f, seats: max(seats, 1)}
	if !f.level.exempt {
		s.came = time.Now()
		if err := c.wait(ctx, s); err != nil {
			if hook := c.options.Metrics.Rejected; hook != nil {
				hook(f.Schema, f.Level, err.Reason)
			}
			return nil, err
		}
	}
	s.since = time.Now()
	if hook := c.options.Metrics.Started; hook != nil {
		waited := s.Waited()
		if s.queue == nil {
			waited = -1
		}
		hook(f.Schema, f.Level, s.seats, waited)
	}
	if hook := c.options.Metrics.Executing; hook != nil {
		hook(f.Schema, f.Level, 1, s.seats)
	}
	return s, nil
}

// wait takes the seats, now or when they become free.
func (c *Controller) wait(ctx context.Context, s *Seat) *RejectedError {
	c.mu.Lock()
	l := s.flow.level
	s.seats = min(s.seats, l.widest())
	if l.waiting == 0 && c.mayRun(l, s.seats) && !(l.used+s.seats > l.nominal && c.needy()) {
		c.take(l, s.seats)
		if s.queue = l.pick(s.flow.hash); s.queue != nil {
			l.begin(s.queue, s.seats)
		}
		l.enter(s)
		c.mu.Unlock()
		return nil
	}
	if l.queues == nil {
		l.counts.rejected++
		c.mu.Unlock()
		return &RejectedError{ConcurrencyLimit}
	}
	seats := s.seats // a new configuration may change them while it waits
	w := l.enqueue(s)
	if w == nil {
		l.counts.rejected++
	}
	c.mu.Unlock()
	if w == nil {
		return &RejectedError{QueueFull}
	}
	if hook := c.options.Metrics.Waiting; hook != nil {
		hook(s.flow.Schema, s.flow.Level, 1, seats)
		defer hook(s.flow.Schema, s.flow.Level, -1, -seats)
	}
	timer := time.NewTimer(c.options.Wait)
	defer timer.Stop()
	reason := TimeOut
	select {
	case <-w.ready:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		reason = Cancelled
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.queue == nil {
		return nil // just then
	}
	l.remove(w)
	if reason == TimeOut {
		l.counts.timedOut++
	} else {
		l.counts.cancelled++
	}
	c.dispatch() // it may have been in the way of others
	return &RejectedError{reason}
}

// Waited is how long the request waited to be let run.
func (s *Seat) Waited() time.Duration {
	if s == nil || s.came.IsZero() {
		return 0
	}
	return s.since.Sub(s.came)
}

// Release ends the request.
func (s *Seat) Release() {
	if s == nil || s.given {
		return
	}
	s.given = true
	c, l := s.c, s.flow.level
	if hook := c.options.Metrics.Executing; hook != nil {
		hook(s.flow.Schema, s.flow.Level, -1, -s.seats)
	}
	if hook := c.options.Metrics.Finished; hook != nil {
		hook(s.flow.Schema, s.flow.Level, s.flow.watch, time.Since(s.since))
	}
	if l.exempt {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.queue != nil {
		s.queue.running--
		s.queue.start += float64(s.seats) * (time.Since(s.since) - expectedTime).Seconds()
	}
	l.exit(s)
	c.put(l, s.seats)
	c.dispatch()
}

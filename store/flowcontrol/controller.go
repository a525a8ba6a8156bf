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
	// Seats is the number of requests that may run at a time, not counting exempt ones. Zero means 600.
	Seats int
	// Wait is the longest time a request waits. Zero means 15 seconds.
	Wait time.Duration
	// Schemas and Levels are the first configuration, as for Configure. Both nil means Defaults.
	Schemas []*flowcontrolv1.FlowSchema
	Levels  []*flowcontrolv1.PriorityLevelConfiguration
	// Metrics are called on events of requests. Nil functions are skipped.
	Metrics Metrics
}

// Metrics are hooks for measurements. They are called without locks held, and must be fast and safe for
// concurrent use.
type Metrics struct {
	// Executing is called with +1 and the seats a request takes when it begins to run, and with both negative
	// when it ends.
	Executing func(schema, level string, requests, seats int)
	// Waiting is called with +1 and the seats a request will take when it begins to wait, and with both
	// negative when its wait ends.
	Waiting func(schema, level string, requests, seats int)
	// WaitingKind is called with +1 and -1 at the same times, with whether the request changes something.
	WaitingKind func(mutating bool, delta int)
	// Queued is called when a request has been assigned to a queue, with the number of requests that wait
	// there, itself included.
	Queued func(schema, level string, length int)
	// Started is called when a request may run, with the seats it takes and the time it waited, which is
	// negative where requests never wait.
	Started func(schema, level string, seats int, waited time.Duration)
	// Finished is called when a request has released its seats, with the time it held them: a watch holds
	// them only during its initialization.
	Finished func(schema, level string, watch bool, ran time.Duration)
	// Rejected is called when a request is rejected.
	Rejected func(schema, level string, reason Reason)
}

// Reason is why a request was rejected.
type Reason string

// The reasons.
const (
	QueueFull        Reason = "queue-full"        // the queue of its flow is full
	ConcurrencyLimit Reason = "concurrency-limit" // its level does not queue
	TimeOut          Reason = "time-out"          // it waited for too long
	Cancelled        Reason = "cancelled"         // the client cancelled the request
)

// RejectedError is the error for a request that may not run now.
type RejectedError struct{ Reason Reason }

func (e *RejectedError) Error() string { return "flowcontrol: rejected: " + string(e.Reason) }

// Flow is the flow that a request belongs to.
type Flow struct {
	// Schema and Level are names, SchemaUID and LevelUID the objects' uids; the uids are empty until
	// Configure has been given the objects.
	Schema, SchemaUID, Level, LevelUID string

	level         *level
	watch         bool
	mutating      bool
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
	// The limited levels of config, and older ones still in use; guarded by mu, as are their fields.
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

// New returns a controller with the configuration of Options.
func New(o Options) *Controller {
	if o.Seats <= 0 {
		o.Seats = 600
	}
	if o.Wait <= 0 {
		o.Wait = 15 * time.Second
	}
	c := &Controller{options: o}
	c.config.Store(&config{})
	if o.Schemas == nil && o.Levels == nil {
		o.Schemas, o.Levels = Defaults()
	}
	c.Configure(o.Schemas, o.Levels)
	return c
}

// Configure replaces the configuration; waiting and running requests are kept. The objects must not be
// changed afterwards. The mandatory ones (exempt and catch-all) are added where they are missing, and a
// schema whose level does not exist is left out.
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
			if !l.exempt {
				l.usage = newUsage()
			}
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

// adopt shares the seats among the limited levels of next. Requests that wait in a removed level run at once,
// since nothing would wake them later. Called with mu held.
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
			c.lent += l.aboveGuarantee(l.used)
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
	f := Flow{Schema: entry.Name, SchemaUID: string(entry.UID), Level: entry.level.name, LevelUID: entry.level.uid.Load().(string), level: entry.level, watch: a.ResourceRequest && a.Verb == "watch", mutating: a.Verb != "get" && a.Verb != "list" && a.Verb != "watch"}
	if !f.Exempt() {
		f.distinguisher = distinguisher(entry.FlowSchema, a)
		f.hash = hashOf(entry.FlowSchema, f.distinguisher)
	}
	return f
}

// Seat is the right to run, which Release ends. Release may be called more than once, by one goroutine.
type Seat struct {
	c        *Controller
	flow     Flow
	seats    int
	arrived  time.Time
	started  time.Time // when it started; of requests that are not exempt, set under Controller.mu
	queue    *queue
	released bool

	prev, next *Seat // of those that run in its level; guarded by Controller.mu
}

// Acquire waits until a request of the flow may run, which occupies that many seats: one for an ordinary
// request, more for an expensive one, but no more than about a seventh of its level. Errors are
// *RejectedError.
func (c *Controller) Acquire(ctx context.Context, f Flow, seats int) (*Seat, error) {
	s := &Seat{c: c, flow: f, seats: max(seats, 1)}
	if f.level.exempt {
		s.started = time.Now()
	} else {
		s.arrived = time.Now()
		if err := c.wait(ctx, s); err != nil {
			if hook := c.options.Metrics.Rejected; hook != nil {
				hook(f.Schema, f.Level, err.Reason)
			}
			return nil, err
		}
	}
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
	s.seats = min(s.seats, l.maxSeats())
	if l.waiting == 0 && c.mayRun(l, s.seats) && !(l.used+s.seats > l.nominal && c.hasWaitingBelowNominal()) {
		c.take(l, s.seats)
		if s.queue = l.pick(s.flow.hash); s.queue != nil {
			l.begin(s.queue, s.seats)
		}
		l.enter(s)
		length := min(1, l.size)
		c.mu.Unlock()
		c.queued(s, length)
		return nil
	}
	if l.size == 0 {
		l.counts.rejected++
		c.mu.Unlock()
		return &RejectedError{ConcurrencyLimit}
	}
	seats := s.seats // a new configuration may change them while it waits
	w, length := l.enqueue(s)
	if w == nil {
		l.counts.rejected++
	}
	c.mu.Unlock()
	if w == nil {
		return &RejectedError{QueueFull}
	}
	c.queued(s, length)
	if hook := c.options.Metrics.WaitingKind; hook != nil {
		hook(s.flow.mutating, 1)
		defer hook(s.flow.mutating, -1)
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
		return nil // it was started at the same moment
	}
	l.remove(w)
	if reason == TimeOut {
		l.counts.timedOut++
	} else {
		l.counts.cancelled++
	}
	c.dispatch() // it may have blocked others
	return &RejectedError{reason}
}

// queued reports a request that has been assigned to a queue, in which it is one of length that wait; zero if
// there is no queue.
func (c *Controller) queued(s *Seat, length int) {
	if hook := c.options.Metrics.Queued; hook != nil && length > 0 {
		hook(s.flow.Schema, s.flow.Level, length)
	}
}

// Waited returns how long the request waited before it started.
func (s *Seat) Waited() time.Duration {
	if s == nil || s.arrived.IsZero() {
		return 0
	}
	return s.started.Sub(s.arrived)
}

// Release ends the request.
func (s *Seat) Release() {
	if s == nil || s.released {
		return
	}
	s.released = true
	c, l := s.c, s.flow.level
	if hook := c.options.Metrics.Executing; hook != nil {
		hook(s.flow.Schema, s.flow.Level, -1, -s.seats)
	}
	now := time.Now()
	ran := now.Sub(s.started)
	if hook := c.options.Metrics.Finished; hook != nil {
		hook(s.flow.Schema, s.flow.Level, s.flow.watch, ran)
	}
	if l.exempt {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.queue != nil {
		s.queue.running--
		s.queue.start += float64(s.seats) * (ran - expectedTime).Seconds()
	}
	l.exit(s)
	c.put(l, s.seats)
	l.changed(now)
	c.dispatch()
}

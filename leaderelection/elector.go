package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

var (
	// ErrLost is returned by Run, and is the cause of the end of the led context,
	// when leadership was lost: another candidate holds the lease, or it could not
	// be renewed in time.
	ErrLost = errors.New("leaderelection: leadership lost")

	// ErrNotDrained is returned by Run when the led work did not return within
	// DrainTimeout after its context ended. It may still be running, so the
	// lease was not released, and the process should exit.
	ErrNotDrained = errors.New("leaderelection: led work did not return in time")

	errRunning = errors.New("leaderelection: Run is already running")
)

// Elector takes part in one election. The package comment states what it
// promises. Create it with New.
type Elector struct {
	lock Lock
	opts Options
	log  *slog.Logger

	mu       sync.Mutex // guards all below; never held while calling out
	running  bool
	observed Record          // last record seen
	seen     bool            // observed is set
	since    time.Time       // when it was first seen
	previous bool            // a record was seen that this candidate has not written
	own      string          // see Since
	led      <-chan struct{} // Done of the led context; nil when lead does not run
	renewed  time.Time       // start of the last successful renewal; set while led is
}

// New checks opts, fills in defaults and makes an elector for the given lock. An
// invalid combination of times is an *OptionError that names the field.
func New(lock Lock, opts Options) (*Elector, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	log := opts.Logger.With("lease", lock.Key().String(), "identity", opts.Identity)
	return &Elector{lock: lock, opts: opts, log: log}, nil
}

// Run waits until this candidate holds the lease, then calls lead and renews the
// lease until lead has returned. lead's context carries the fence token and ends
// when ctx does or leadership is lost; its cause is that of ctx or ErrLost.
//
// Run returns nil if ctx ended, whether it led or not; lead's error if lead
// returned one of its own; ErrLost, possibly joined with lead's error, if
// leadership was lost; ErrNotDrained, see there. After ErrLost, and after lead
// has returned nil by itself, the caller may call Run again to be a candidate
// again. Run must not be called while it runs.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context) error) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	e.status(false)
	c := campaign{Elector: e}
	if err := c.run(ctx); err != nil || !c.won {
		return err
	}
	t := &term{Elector: e, record: c.record}
	if ctx.Err() != nil {
		t.release(ctx)
		return nil
	}
	return t.run(ctx, c.acquired, lead)
}

func (e *Elector) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running {
		return errRunning
	}
	e.running = true
	return nil
}

// leave allows another call of Run, unless lead of this one still runs.
func (e *Elector) leave() {
	e.mu.Lock()
	e.running = e.led != nil
	e.mu.Unlock()
}

// Identity returns the name this candidate writes into the lease.
func (e *Elector) Identity() string { return e.opts.Identity }

// Leader returns the identity of the last holder observed, empty if there was none
// or the lease was released.
func (e *Elector) Leader() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.observed.HolderIdentity
}

// IsLeader reports whether this candidate leads: lead has been called and its
// context has not ended.
func (e *Elector) IsLeader() bool {
	e.mu.Lock()
	led := e.led
	e.mu.Unlock()
	if led == nil {
		return false
	}
	select {
	case <-led:
		return false
	default:
		return true
	}
}

// Since returns the version of the lease from which on no earlier leader has
// written: that of the record with which the one before released the lease, or
// else that of the record with which this candidate took it. What this candidate
// has read at that version or a later one, of the same store, therefore has all
// writes of earlier leaders. It is empty before lead is called for the first time,
// and if this candidate has seen no earlier leader.
func (e *Elector) Since() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.own
}

// Healthy returns an error if lead is running although the lease ran out more
// than tolerance ago. It is meant for a liveness check, which restarts a process
// whose work does not stop when it should.
func (e *Elector) Healthy(tolerance time.Duration) error {
	e.mu.Lock()
	led, renewed := e.led, e.renewed
	e.mu.Unlock()
	if led == nil {
		return nil
	}
	if age := time.Since(renewed); age > e.opts.LeaseDuration+tolerance {
		return fmt.Errorf("leaderelection: lease %s was last renewed %v ago, and the led work still runs", e.lock.Key(), age.Round(time.Millisecond))
	}
	return nil
}

// Fenced reports whether the lock's server is known to refuse writes of a leader
// that was replaced. If it is false, safety depends on lead returning within
// LeaseDuration - RenewDeadline after its context ended.
func (e *Elector) Fenced() bool {
	f, ok := e.lock.(Fencer)
	return ok && f.Fenced()
}

// observe stores the current record of the lease and returns since when it has
// been unchanged.
func (e *Elector) observe(r Record) time.Time {
	now := time.Now()
	e.mu.Lock()
	changed := !e.seen || !e.observed.same(r)
	newLeader := r.HolderIdentity != "" && (!e.seen || e.observed.HolderIdentity != r.HolderIdentity)
	if changed {
		e.since = now
	}
	e.observed, e.seen = r, true
	since := e.since
	e.mu.Unlock()
	if newLeader {
		e.log.Info("new leader", "leader", r.HolderIdentity)
		if e.opts.OnNewLeader != nil {
			e.opts.OnNewLeader(r.HolderIdentity)
		}
	}
	return since
}

func (e *Elector) status(leading bool) {
	if e.opts.Metrics.Status != nil {
		e.opts.Metrics.Status(leading)
	}
}

func (e *Elector) event(message string) {
	if r, ok := e.lock.(EventRecorder); ok {
		r.Event(e.opts.Identity + " " + message)
	}
}

// leaseSeconds returns LeaseDuration as it is written, in whole seconds.
func (e *Elector) leaseSeconds() time.Duration {
	return (e.opts.LeaseDuration + time.Second - 1).Truncate(time.Second)
}

// stamp returns the current time as it is written.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// attempts are the writes of one candidacy that may have reached the store without
// a reply. A record that equals one of them is our own.
type attempts []attempt

type attempt struct {
	record Record
	at     time.Time // when it was sent, monotonic
}

// maxAttempts is far more than can be in flight at once.
const maxAttempts = 16

func (a *attempts) add(r Record, at time.Time) {
	if len(*a) == maxAttempts {
		*a = append((*a)[:0], (*a)[1:]...)
	}
	*a = append(*a, attempt{r, at})
}

// find returns the attempt that wrote r.
func (a attempts) find(r Record) (attempt, bool) {
	for _, t := range a {
		if t.record.same(r) {
			return t, true
		}
	}
	return attempt{}, false
}

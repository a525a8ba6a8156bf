package workqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// ErrShutDown is returned by Get when the queue was shut down and has no more
// ready keys.
var ErrShutDown = errors.New("workqueue: shut down")

// Queue hands keys to workers. The package comment states what it promises.
// Create it with New; all methods are safe for concurrent use.
type Queue[K comparable] struct {
	tenant   func(K) string
	limiter  Limiter[K]
	debounce int64
	metrics  *Metrics
	epoch    time.Time // times inside the queue count from here

	mu      lock // guards all below; never held while waiting or calling out
	entries table[K]

	ready      ready[K]
	order      Order[K] // replaces ready if not nil
	places     int64    // keys that became ready so far
	processing list[K]  // oldest Get first
	working    int      // its length

	idle         []*waiter // callers of Get with nothing to do, last one served first
	waking       bool      // one of them was signalled and has not looked yet
	spareWaiters []*waiter // for reuse

	delayed delayed[K]
	seq     uint64      // of the next entry in delayed
	timer   *time.Timer // nil until the first delayed add
	fires   int         // calls of fire that are set up or under way
	firesAt int64       // time of the one set up last

	state   state
	fired   chan struct{} // closed by the last fire after ShutDown, if one was under way
	drained chan struct{} // closed when drained or when draining is aborted
}

type state uint8

const (
	running state = iota
	draining
	shutDown
)

// New makes an empty queue.
func New[K comparable](opts Options[K]) *Queue[K] {
	q := &Queue[K]{
		tenant:   opts.Tenant,
		limiter:  opts.Limiter,
		debounce: int64(max(0, opts.Debounce)),
		metrics:  opts.Metrics,
		order:    opts.Order,
		epoch:    time.Now(),
	}
	if q.limiter == nil {
		q.limiter = DefaultLimiter[K]()
	}
	q.entries.init()
	q.ready.limit = opts.PassOver
	if opts.PassOver == 0 {
		q.ready.limit = DefaultPassOver
	}
	q.ready.tenants = opts.Tenant != nil
	q.ready.normal = &class[K]{index: -1}
	q.ready.classes = map[int32]*class[K]{}
	if opts.Seed != 0 {
		q.ready.rng = rand.New(rand.NewPCG(opts.Seed, opts.Seed))
	}
	return q
}

// Add makes k ready at priority 0, after the debounce window if there is one.
// After ShutDown it does nothing.
func (q *Queue[K]) Add(k K) {
	q.addWith(k, 0, 0, "")
}

// AddAfter is Add after d has passed. If k is waiting already, the earlier
// deadline wins. A d of 0 or less means now.
func (q *Queue[K]) AddAfter(k K, d time.Duration) {
	q.AddWith(k, AddOptions{After: max(d, 1)})
}

// AddRateLimited adds k after the delay its limiter returns. Call Forget when k
// has succeeded.
func (q *Queue[K]) AddRateLimited(k K) {
	q.AddWith(k, AddOptions{RateLimited: true})
}

// AddWith is Add with options.
func (q *Queue[K]) AddWith(k K, opts AddOptions) {
	d := min(max(0, opts.After), maxDelay)
	if opts.RateLimited {
		d = min(max(d, q.limiter.When(k), 1), maxDelay)
	}
	if d > 0 && q.metrics != nil && q.metrics.Retries != nil {
		q.metrics.Retries()
	}
	q.addWith(k, clampPriority(opts.Priority), int64(d), opts.Cause)
}

// Forget resets the failures of k in the limiter. It does not remove k from the
// queue.
func (q *Queue[K]) Forget(k K) { q.limiter.Forget(k) }

// NumRequeues returns the number of rate-limited adds of k since Forget.
func (q *Queue[K]) NumRequeues(k K) int { return q.limiter.NumRequeues(k) }

// Len returns the number of ready keys, without those in processing and those whose
// deadline is ahead.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.readyLen()
}

// Get waits for a ready key and hands it out; the caller must call Done with it.
// It returns ErrShutDown once the queue is shut down and has no ready key, and
// ctx.Err() if ctx ends first or has already ended.
func (q *Queue[K]) Get(ctx context.Context) (K, error) {
	var none K
	if err := ctx.Err(); err != nil {
		return none, err
	}
	q.mu.Lock()
	late := q.fireEarly()
	for q.readyLen() == 0 {
		if q.state != running {
			q.mu.Unlock()
			return none, ErrShutDown
		}
		w := q.park()
		q.mu.Unlock()
		awoken := w.wait(ctx)
		q.mu.Lock()
		if !awoken {
			q.withdraw(w)
			return none, ctx.Err()
		}
		q.spareWaiters = append(q.spareWaiters, w)
		q.waking = false
	}
	e := q.take()
	w := q.wake()
	if q.metrics == nil {
		k := e.key
		q.mu.Unlock()
		w.signal()
		return k, nil
	}
	e.started = q.now()
	k, priority, waited := e.key, e.priority, max(0, e.started-e.added)
	q.mu.Unlock()
	w.signal()
	late.report(q.metrics)
	if q.metrics.Depth != nil {
		q.metrics.Depth(int(priority), -1)
	}
	if q.metrics.QueueDuration != nil {
		q.metrics.QueueDuration(time.Duration(waited))
	}
	return k, nil
}

// Done ends the processing of k, which Get returned. If k was added meanwhile it is
// ready again. Done of a key that is not in processing does nothing.
func (q *Queue[K]) Done(k K) {
	q.mu.Lock()
	e := q.inProcessing(k)
	if e == nil {
		q.mu.Unlock()
		return
	}
	late := q.fireEarly()
	q.processing.remove(e)
	q.working--
	e.processing = false
	started, priority, again := e.started, e.priority, e.again
	var w *waiter
	switch {
	case again:
		e.again = false
		q.enter(e)
		w = q.wake()
	case e.heapIndex < 0:
		q.entries.drop(e)
	}
	drained := q.takeDrained()
	q.mu.Unlock()
	w.signal()
	if drained != nil {
		close(drained)
	}
	if q.metrics == nil {
		return
	}
	late.report(q.metrics)
	if q.metrics.WorkDuration != nil {
		q.metrics.WorkDuration(time.Since(q.epoch.Add(time.Duration(started - 1))))
	}
	if again && q.metrics.Depth != nil {
		q.metrics.Depth(int(priority), 1)
	}
}

// inProcessing returns the entry of k if it is in processing, else nil. There are
// few workers, so a linear search is usually cheaper than hashing k.
func (q *Queue[K]) inProcessing(k K) *entry[K] {
	if q.working <= 8 {
		e := q.processing.head
		for e != nil && e.key != k {
			e = e.next
		}
		return e
	}
	e := q.entries.find(k, q.entries.hash(k))
	if e == nil || !e.processing {
		return nil
	}
	return e
}

// addWith adds k now (delay 0) or later.
func (q *Queue[K]) addWith(k K, priority int32, delay int64, cause string) {
	tenant := ""
	if q.tenant != nil {
		tenant = q.tenant(k)
	}
	// Both are done before taking the lock, which many goroutines may be waiting for.
	hash, now := q.entries.hash(k), int64(0)
	if q.metrics != nil || delay > 1 || q.debounce > 0 {
		now = q.now()
	}
	q.mu.Lock()
	if q.state != running {
		q.mu.Unlock()
		return
	}
	late := q.fireEarly()
	e := q.entries.findOrAdd(k, hash)
	e.tenant = tenant
	switch {
	case delay > 1:
		q.delay(e, now, now+delay, false, priority, cause)
		q.mu.Unlock()
		late.report(q.metrics)
	case q.debounce > 0 && delay == 0 && !e.ready && !e.again:
		q.delay(e, now, now+q.debounce, true, priority, cause)
		q.mu.Unlock()
		late.report(q.metrics)
	default:
		c := q.add(e, now, priority, cause)
		w := q.wake()
		q.mu.Unlock()
		w.signal()
		late.report(q.metrics)
		c.report(q.metrics)
	}
}

// add makes a run of e pending now.
func (q *Queue[K]) add(e *entry[K], now int64, priority int32, cause string) change {
	switch {
	case e.ready && q.order != nil:
		q.order.Touch(e.key)
		return change{}
	case e.ready:
		from := e.priority
		if priority <= from {
			return change{}
		}
		q.ready.remove(e)
		e.priority, e.place = priority, q.nextPlace()
		q.ready.push(e)
		return change{moved: true, from: from, to: priority}
	case e.again:
		e.priority = max(e.priority, priority)
		return change{}
	}
	e.priority, e.cause, e.added = priority, cause, now
	if e.processing {
		e.again = true
		return change{added: true}
	}
	q.enter(e)
	return change{added: true, entered: true, to: priority}
}

func (q *Queue[K]) nextPlace() int64 {
	q.places++
	return q.places
}

// enter makes e ready.
func (q *Queue[K]) enter(e *entry[K]) {
	e.ready, e.place = true, q.nextPlace()
	if q.order != nil {
		q.order.Push(e.key)
		return
	}
	q.ready.push(e)
}

// take moves the next ready entry to processing.
func (q *Queue[K]) take() *entry[K] {
	var e *entry[K]
	if q.order != nil {
		e = q.popOrder()
	} else {
		e = q.ready.pop()
	}
	e.ready, e.processing = false, true
	q.processing.push(e)
	q.working++
	return e
}

// popOrder returns the entry of the key that the user's order returns. An order that
// returns unknown keys, or one twice, would break the promise of one worker per key.
func (q *Queue[K]) popOrder() *entry[K] {
	k := q.order.Pop()
	e := q.entries.find(k, q.entries.hash(k))
	if e == nil || !e.ready {
		q.mu.Unlock()
		panic("workqueue: Order.Pop returned a key that was not pushed")
	}
	return e
}

func (q *Queue[K]) readyLen() int {
	if q.order != nil {
		return q.order.Len()
	}
	return q.ready.n
}

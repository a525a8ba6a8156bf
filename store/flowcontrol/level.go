package flowcontrol

import (
	"iter"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
)

// expectedTime is the time charged to a request when it starts; the difference is charged when it ends.
const expectedTime = 3 * time.Millisecond

// level is a share of the server.
type level struct {
	name   string
	exempt bool
	uid    atomic.Value // string

	// Guarded by Controller.mu.
	nominal        int // seats it is entitled to
	guaranteed     int // seats that no other level uses
	limit          int // seats it may have at most, with borrowed ones
	used           int
	waiting        int      // requests
	waitingSeats   int      // that they wait for
	executing      int      // requests
	size           int      // how many queues it has; 0 if requests do not wait
	queues         []*queue // nil until the first request, as is each queue
	hand           int
	maxQueueLength int
	clock          float64 // virtual time: the start of the request that started last
	latest         float64 // that start, which is lower if a queue is behind
	usage          *usage  // nil of an exempt level
	running        *Seat   // running requests: a list in no order
	counts         counts
}

// queue holds requests of some flows in the order of their arrival.
type queue struct {
	waiters []*waiter
	running int
	start   float64 // virtual time at which its next request starts
}

// waiter is a request in a queue.
type waiter struct {
	seat  *Seat
	queue *queue        // nil when it has been started
	ready chan struct{} // closed then
}

// counts are numbers of requests since the level was created.
type counts struct{ dispatched, rejected, timedOut, cancelled int }

// shares is the weight of a level.
func shares(p *flowcontrolv1.PriorityLevelConfiguration) int {
	if l := p.Spec.Limited; l != nil && l.NominalConcurrencyShares != nil {
		return int(*l.NominalConcurrencyShares)
	}
	return 0
}

// configure sets the level's share of the seats. Called with the controller's mu held.
func (l *level) configure(p *flowcontrolv1.PriorityLevelConfiguration, seats, total int) {
	l.uid.Store(string(p.UID))
	spec := p.Spec.Limited
	if spec == nil {
		return
	}
	l.nominal = 1
	if total > 0 {
		l.nominal = max(1, (seats*shares(p)+total-1)/total)
	}
	l.guaranteed, l.limit = l.nominal, seats
	if spec.LendablePercent != nil {
		l.guaranteed -= l.nominal * int(*spec.LendablePercent) / 100
	}
	if spec.BorrowingLimitPercent != nil {
		l.limit = min(seats, l.nominal+l.nominal*int(*spec.BorrowingLimitPercent)/100)
	}
	l.limit = max(l.limit, l.nominal)
	q := spec.LimitResponse.Queuing
	if spec.LimitResponse.Type != flowcontrolv1.LimitResponseTypeQueue || q == nil {
		l.release()
		l.size, l.queues = 0, nil
		l.changed(time.Now())
		return
	}
	l.hand, l.maxQueueLength = max(1, int(q.HandSize)), int(q.QueueLengthLimit)
	l.resize(max(1, int(q.Queues)))
	l.waitingSeats = 0
	for _, q := range l.begun() {
		for _, w := range q.waiters {
			w.seat.seats = min(w.seat.seats, l.maxSeats())
			l.waitingSeats += w.seat.seats
		}
	}
	l.changed(time.Now())
}

// resize changes the number of queues; the waiters of removed queues move to the others.
func (l *level) resize(n int) {
	old := l.queues
	if l.size = n; old == nil {
		return
	}
	l.queues = make([]*queue, n)
	copy(l.queues, old)
	for i := n; i < len(old); i++ {
		if old[i].length() == 0 {
			continue
		}
		to := l.queue(i % n)
		for _, w := range old[i].waiters {
			w.queue, w.seat.queue = to, to
			to.waiters = append(to.waiters, w)
		}
	}
}

// queue returns a queue, which it makes before its first request: most levels use few of theirs.
func (l *level) queue(i int) *queue {
	if l.queues[i] == nil {
		l.queues[i] = &queue{start: l.clock}
	}
	return l.queues[i]
}

// begun yields the queues that have had a request, with their numbers.
func (l *level) begun() iter.Seq2[int, *queue] {
	return func(yield func(int, *queue) bool) {
		for i, q := range l.queues {
			if q != nil && !yield(i, q) {
				return
			}
		}
	}
}

// maxSeats is the greatest number of seats one request may take.
func (l *level) maxSeats() int { return max(1, l.nominal*15/100) }

// aboveGuarantee returns how many of the used seats are not guaranteed.
func (l *level) aboveGuarantee(used int) int { return max(0, used-l.guaranteed) }

// pick returns the queue of a flow: the shortest of its hand. Levels that do not queue have none.
func (l *level) pick(hash uint64) *queue {
	if l.size == 0 {
		return nil
	}
	if l.queues == nil {
		l.queues = make([]*queue, l.size)
	}
	first := -1
	for i := range deal(hash, l.size, l.hand) {
		if first < 0 || l.queues[i].length() < l.queues[first].length() {
			first = i
		}
	}
	best := l.queue(first)
	if best.length() == 0 {
		best.start = max(best.start, l.clock) // an idle queue gets no credit
	}
	return best
}

func (q *queue) length() int {
	if q == nil {
		return 0
	}
	return len(q.waiters) + q.running
}

// begin accounts for a request of the queue that starts.
func (l *level) begin(q *queue, seats int) {
	l.latest = q.start
	l.clock = max(l.clock, q.start)
	q.running++
	q.start += float64(seats) * expectedTime.Seconds()
}

// enter and exit maintain the list of running requests.
func (l *level) enter(s *Seat) {
	l.counts.dispatched++
	l.executing++
	s.started = time.Now()
	if s.next = l.running; s.next != nil {
		s.next.prev = s
	}
	l.running = s
	l.changed(s.started)
}

func (l *level) exit(s *Seat) {
	l.executing--
	if s.next != nil {
		s.next.prev = s.prev
	}
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		l.running = s.next
	}
	s.next, s.prev = nil, nil
}

// enqueue puts a request into the queue of its flow, and returns its length then; nil if that is full.
func (l *level) enqueue(s *Seat) (w *waiter, length int) {
	q := l.pick(s.flow.hash)
	if len(q.waiters) >= l.maxQueueLength {
		return nil, len(q.waiters)
	}
	w = &waiter{seat: s, queue: q, ready: make(chan struct{})}
	s.queue = q
	q.waiters = append(q.waiters, w)
	l.waiting++
	l.waitingSeats += s.seats
	l.changed(s.arrived)
	return w, len(q.waiters)
}

// remove removes a waiter that gave up.
func (l *level) remove(w *waiter) {
	for i, other := range w.queue.waiters {
		if other == w {
			w.queue.waiters = append(w.queue.waiters[:i:i], w.queue.waiters[i+1:]...)
			l.waiting--
			l.waitingSeats -= w.seat.seats
			l.changed(time.Now())
			break
		}
	}
	w.queue = nil
}

// nextQueue returns the queue whose request is next, by virtual time; nil if none waits.
func (l *level) nextQueue() *queue {
	if l.waiting == 0 {
		return nil
	}
	var best *queue
	for _, q := range l.begun() {
		if len(q.waiters) > 0 && (best == nil || q.start < best.start) {
			best = q
		}
	}
	return best
}

// startNext starts the first request of a queue.
func (l *level) startNext(q *queue) {
	w := q.waiters[0]
	q.waiters[0] = nil
	q.waiters = q.waiters[1:]
	l.waiting--
	l.waitingSeats -= w.seat.seats
	l.begin(q, w.seat.seats)
	l.enter(w.seat)
	w.queue = nil
	close(w.ready)
}

// release runs all waiting requests.
func (l *level) release() {
	for _, q := range l.begun() {
		for len(q.waiters) > 0 {
			l.used += q.waiters[0].seat.seats
			l.startNext(q)
		}
	}
}

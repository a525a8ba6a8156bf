package flowcontrol

import "time"

// mayRun reports whether the level can take more seats: of its own, or of the pool. Called with mu held, as
// are the others here.
func (c *Controller) mayRun(l *level, seats int) bool {
	used := l.used + seats
	if used <= l.guaranteed {
		return true
	}
	return used <= l.limit && c.lent+l.aboveGuarantee(used)-l.aboveGuarantee(l.used) <= c.pool
}

func (c *Controller) take(l *level, seats int) {
	c.lent += l.aboveGuarantee(l.used+seats) - l.aboveGuarantee(l.used)
	l.used += seats
}

func (c *Controller) put(l *level, seats int) {
	if c.config.Load().levels[l.name] == l {
		c.lent -= l.aboveGuarantee(l.used) - l.aboveGuarantee(l.used-seats)
	}
	l.used -= seats
}

// hasWaitingBelowNominal reports whether a level below its nominal seats has waiting requests.
func (c *Controller) hasWaitingBelowNominal() bool {
	for _, l := range c.levels {
		if l.waiting > 0 && l.used < l.nominal {
			return true
		}
	}
	return false
}

// dispatch runs the requests for which there are seats, levels below their nominal seats first.
func (c *Controller) dispatch() {
	for {
		var best *level
		var from *queue
		needy := false
		for _, l := range c.levels {
			q := l.nextQueue()
			if q == nil {
				continue
			}
			owed := l.used < l.nominal
			needy = needy || owed
			if c.mayRun(l, q.waiters[0].seat.seats) && (best == nil || l.load() < best.load()) {
				best, from = l, q
			}
		}
		if best == nil || needy && best.used >= best.nominal {
			return
		}
		c.take(best, from.waiters[0].seat.seats)
		best.startNext(from)
	}
}

// load is the part of its nominal seats that a level uses.
func (l *level) load() float64 { return float64(l.used) / float64(max(l.nominal, 1)) }

// LevelState is the state of a level at one time.
type LevelState struct {
	Name   string
	Exempt bool
	// Nominal, Guaranteed and Limit are seats: those it is entitled to, those that other levels cannot
	// borrow, and the maximum.
	Nominal, Guaranteed, Limit int
	// Used are the seats in use, Waiting the requests in its queues, Queues how many of those there are,
	// ActiveQueues how many have requests.
	Used, Waiting, Queues, ActiveQueues int
	// Executing are the requests that run. The others are counts since the level was created: of requests
	// that were started, rejected at once, rejected after too long a wait, and cancelled while waiting. Those
	// of exempt levels are not counted.
	Executing, Dispatched, Rejected, TimedOut, Cancelled int

	// What follows is empty for exempt levels. Available are the seats that the level may have now: what it
	// uses, what is left of its guarantee, and what others lend at this time.
	Available int
	Demand    Demand
	// DemandedSeats and UsedSeats are distributions over the time since the level was created of the seats
	// that it uses and its requests wait for, and of those that it uses, relative to the nominal ones.
	// WaitingRequests and ExecutingRequests are those of requests, relative to the places in its queues and
	// to its nominal seats.
	DemandedSeats, UsedSeats, WaitingRequests, ExecutingRequests Histogram
	// Clock is the virtual time of fair queueing, in seat-seconds, and Latest that at which the request that
	// was dispatched last has started. Next are the lowest and the highest one at which requests start that
	// are first in their queues, Discounted the same without the work of their queues that is in progress;
	// Clock if none waits.
	Clock, Latest    float64
	Next, Discounted Bounds
}

// Bounds are the lowest and the highest of some values.
type Bounds struct{ Low, High float64 }

func (b *Bounds) add(v float64, first bool) {
	if first {
		*b = Bounds{v, v}
	}
	b.Low, b.High = min(b.Low, v), max(b.High, v)
}

// Levels returns the state of all levels, ordered by name.
func (c *Controller) Levels() []LevelState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.config.Load().levels
	out := make([]LevelState, 0, len(all))
	for _, name := range sortedNames(all) {
		l := all[name]
		s := LevelState{Name: name, Exempt: l.exempt, Nominal: l.nominal, Guaranteed: l.guaranteed, Limit: l.limit, Used: l.used,
			Waiting: l.waiting, Queues: l.size,
			Dispatched: l.counts.dispatched, Rejected: l.counts.rejected, TimedOut: l.counts.timedOut, Cancelled: l.counts.cancelled}
		for seat := l.running; seat != nil; seat = seat.next {
			s.Executing++
		}
		for _, q := range l.begun() {
			if q.length() > 0 {
				s.ActiveQueues++
			}
		}
		if !l.exempt {
			c.measure(&s, l)
		}
		out = append(out, s)
	}
	return out
}

// measure fills what is measured of a level.
func (c *Controller) measure(s *LevelState, l *level) {
	now := time.Now()
	l.changed(now)
	s.Available = min(l.limit, max(l.guaranteed, l.used)+max(0, c.pool-c.lent))
	u := l.usage
	s.Demand = u.demand.Demand
	s.DemandedSeats, s.UsedSeats = u.demanded.At(now), u.seats.At(now)
	s.WaitingRequests, s.ExecutingRequests = u.waiting.At(now), u.executing.At(now)
	s.Clock, s.Latest = l.clock, l.latest
	s.Next, s.Discounted = Bounds{l.clock, l.clock}, Bounds{l.clock, l.clock}
	seats, first := l.seatsByQueue(), true
	for _, q := range l.begun() {
		if len(q.waiters) > 0 {
			s.Next.add(q.start, first)
			s.Discounted.add(q.start-float64(seats[q])*expectedTime.Seconds(), first)
			first = false
		}
	}
}

// seatsByQueue returns the seats that the running requests of each queue use.
func (l *level) seatsByQueue() map[*queue]int {
	seats := map[*queue]int{}
	for s := l.running; s != nil; s = s.next {
		seats[s.queue] += s.seats
	}
	return seats
}

// QueueState is the state of a queue of a level at one time.
type QueueState struct {
	Level string
	Index int
	// Waiting and Executing are requests, Seats those that its executing ones use, WaitingSeats those that
	// its waiting ones need.
	Waiting, Executing, Seats, WaitingSeats int
	// Work is what its waiting requests will be charged when they start, in seat-seconds.
	Work float64
	// Start is the virtual time, in seat-seconds, at which its next request starts: the queue with the lowest
	// is served first.
	Start float64
}

// Queues returns the state of all queues, ordered by level and index.
func (c *Controller) Queues() []QueueState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.config.Load().levels
	var out []QueueState
	for _, name := range sortedNames(all) {
		l := all[name]
		seats := l.seatsByQueue()
		for i := range l.size {
			q := &queue{start: l.clock}
			if l.queues != nil && l.queues[i] != nil {
				q = l.queues[i]
			}
			state := QueueState{Level: name, Index: i, Waiting: len(q.waiters), Executing: q.running, Seats: seats[q], Start: q.start}
			for _, w := range q.waiters {
				state.WaitingSeats += w.seat.seats
			}
			state.Work = float64(state.WaitingSeats) * expectedTime.Seconds()
			out = append(out, state)
		}
	}
	return out
}

// RequestState is the state of a waiting or running request at one time.
type RequestState struct {
	Level, Schema string
	// Distinguisher is the user or namespace that distinguishes flows of the schema; empty if none does.
	Distinguisher string
	// Queue is the index of its queue, Place its index there; -1 if it runs.
	Queue, Place int
	Arrived      time.Time
	// Started is when it began to run; zero while it waits.
	Started time.Time
	Seats   int
}

// Requests returns the requests of limited levels, ordered by level and queue: those that wait, in the order
// of their queues, and those that run.
func (c *Controller) Requests() []RequestState {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.config.Load().levels
	var out []RequestState
	for _, name := range sortedNames(all) {
		l := all[name]
		for s := l.running; s != nil; s = s.next {
			out = append(out, s.state(-1, -1))
		}
		for i, q := range l.begun() {
			for place, w := range q.waiters {
				out = append(out, w.seat.state(i, place))
			}
		}
	}
	return out
}

func (s *Seat) state(queue, place int) RequestState {
	return RequestState{Level: s.flow.Level, Schema: s.flow.Schema, Distinguisher: s.flow.distinguisher, Queue: queue, Place: place, Arrived: s.arrived, Started: s.started, Seats: s.seats}
}

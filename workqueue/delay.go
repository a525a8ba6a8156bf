package workqueue

import (
	"math"
	"time"
)

// maxDelay keeps deadlines from overflowing.
const maxDelay = time.Duration(math.MaxInt64 / 2)

// delayed is a binary heap of the waiting entries by deadline, then by the order
// they were added in, so that equal deadlines keep their order.
type delayed[K comparable] []delayedItem[K]

type delayedItem[K comparable] struct {
	at  int64
	seq uint64
	e   *entry[K]
}

func (h delayed[K]) less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h delayed[K]) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].e.heapIndex, h[j].e.heapIndex = int32(i), int32(j)
}

func (h delayed[K]) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h delayed[K]) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h.less(right, child) {
			child = right
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}

// schedule puts e where its deadline belongs: into the heap, elsewhere in it, or
// out of it.
func (q *Queue[K]) schedule(e *entry[K]) {
	at, i := e.deadline(), int(e.heapIndex)
	switch {
	case at == 0:
		if i >= 0 {
			q.unschedule(i)
		}
		return
	case i < 0:
		q.seq++
		i = len(q.delayed)
		e.heapIndex = int32(i)
		q.delayed = append(q.delayed, delayedItem[K]{at, q.seq, e})
		q.delayed.up(i)
	case at != q.delayed[i].at:
		q.seq++
		q.delayed[i].at, q.delayed[i].seq = at, q.seq
		q.delayed.up(i)
		q.delayed.down(int(e.heapIndex))
	}
}

func (q *Queue[K]) unschedule(i int) {
	n := len(q.delayed) - 1
	e := q.delayed[i].e
	q.delayed.swap(i, n)
	q.delayed[n] = delayedItem[K]{}
	q.delayed = q.delayed[:n]
	e.heapIndex = -1
	if i < n {
		q.delayed.up(i)
		q.delayed.down(i)
	}
}

// delay records that k is to be added at time at. A debounced add has a deadline
// of its own, so that it does not swallow a later one.
func (q *Queue[K]) delay(e *entry[K], now, at int64, bounce bool, priority int32, cause string) {
	slot := &e.waitAt
	if bounce {
		slot = &e.bounceAt
	}
	if e.heapIndex < 0 {
		e.waitPriority, e.waitCause, e.waitSince = priority, cause, now
	} else {
		e.waitPriority = max(e.waitPriority, priority)
	}
	if *slot == 0 || at < *slot {
		*slot = at
		q.schedule(e)
		q.arm(now)
	}
}

// arm sets the timer for the earliest deadline, unless it already fires no later.
func (q *Queue[K]) arm(now int64) {
	if len(q.delayed) == 0 {
		return
	}
	at := q.delayed[0].at
	if q.fires > 0 && q.firesAt <= at {
		return
	}
	q.firesAt = at
	d := time.Duration(at - now)
	if q.timer == nil {
		q.timer = time.AfterFunc(d, q.fire)
		q.fires++
	} else if !q.timer.Reset(d) {
		// Not active: either at rest, or it has just fired and that call of fire
		// is still to come, besides the one set up here.
		q.fires++
	}
}

// fire makes the keys ready whose deadline has come. It is the timer's function.
func (q *Queue[K]) fire() {
	q.mu.Lock()
	q.fires--
	if q.state != running {
		var done chan struct{}
		if q.fires == 0 {
			done = q.fired
		}
		q.mu.Unlock()
		if done != nil {
			close(done)
		}
		return
	}
	now := q.now()
	changes := q.release(now)
	q.arm(now)
	w := q.wake()
	q.mu.Unlock()
	w.signal()
	changes.report(q.metrics)
}

// release makes the keys ready whose deadline has come.
func (q *Queue[K]) release(now int64) (all changes) {
	for len(q.delayed) > 0 && q.delayed[0].at <= now {
		e := q.delayed[0].e
		if e.waitAt != 0 && e.waitAt <= now {
			e.waitAt = 0
		}
		if e.bounceAt != 0 && e.bounceAt <= now {
			e.bounceAt = 0
		}
		q.schedule(e)
		if c := q.add(e, now, e.waitPriority, e.waitCause); q.metrics != nil {
			all = append(all, c)
		}
	}
	return all
}

// fireEarly does what the timer is about to do, if the queue is seeded. Where time is virtual the timer and a
// worker often wake at the same moment, and the order of work must not depend on which of them is first.
func (q *Queue[K]) fireEarly() changes {
	if q.ready.rng == nil || q.state != running {
		return nil
	}
	return q.release(q.now())
}

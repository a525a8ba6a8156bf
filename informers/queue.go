package informers

import (
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// change is the pending notification of a handler about one key: a deletion, a state, or both in this order.
// The last one of a key takes in what follows, unless its state has been read.
type change[T metav1.Object] struct {
	key types.NamespacedName
	// deleted is the final state of a deleted incarnation that the handler has seen; unknown if the event of
	// the deletion was missed. known is the state of it that the handler has seen last.
	deleted, known *object[T]
	unknown        bool
	// now is the state to deliver, before the one that the handler has seen last, nil if it has seen none.
	before, now *object[T]
	initial     bool
	resync      bool
	// held is set if a later change of the key waits, because the state of this one has been read.
	held bool
	// mark is set on the entry behind the objects of the informer's first sync, and together with gap on the
	// one behind states that were read and merged nevertheless. They have no key.
	mark, gap bool
	// dropped is set when there is nothing left to deliver.
	dropped bool
}

// queue holds the pending changes of one handler, oldest first: one per key, and before it those whose states
// a reader has got, maxHeld of them in all. An object that was created and deleted before the handler got to
// it, and that no reader has got either, leaves no entry. So the number of changes is at most that of the
// objects that exist or that the handler has seen, and 2*maxHeld.
type queue[T metav1.Object] struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []change[T]
	head    int                          // changes before it have been taken
	dropped int                          // dropped ones after it
	held    int                          // held ones after it
	gap     bool                         // an entry with gap waits
	at      map[types.NamespacedName]int // index in waiting of the last change of a key
	busy    bool                         // a change is being delivered
	behind  time.Time                    // since when the queue has not been empty
}

// maxKept is the largest capacity, in changes, that a queue keeps when it becomes empty.
const maxKept = 4096

// maxHeld is how many changes a queue holds because their states have been read: enough for what happens in
// some seconds, and no more than some MB of states that are gone.
const maxHeld = 4096

func newQueue[T metav1.Object]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1), at: map[types.NamespacedName]int{}}
}

// slot returns the change that takes in the next state of a key, nil for its deletion. It adds one if there
// is none.
func (q *queue[T]) slot(key types.NamespacedName, next *object[T]) *change[T] {
	if i, ok := q.at[key]; ok {
		switch s := &q.waiting[i]; {
		case !s.read(next):
			return s
		case q.held == maxHeld:
			q.putGap()
			return &q.waiting[q.at[key]]
		default:
			s.held = true
			q.held++
		}
	}
	q.begin()
	q.at[key] = len(q.waiting)
	q.waiting = append(q.waiting, change[T]{key: key})
	return &q.waiting[len(q.waiting)-1]
}

// read reports whether a reader may have got a result that is right for the state of the change only, and
// neither for the one before it nor for next.
func (c *change[T]) read(next *object[T]) bool {
	switch {
	case c.now == nil || c.resync:
		// The handler has seen the state before.
		return false
	case c.now.read.Load():
		return true
	}
	return c.before != nil && next != nil && c.now.absentBetween(c.before, next)
}

// begin is called before a change is added.
func (q *queue[T]) begin() {
	if !q.busy && q.head == len(q.waiting) {
		q.behind = time.Now()
	}
	if len(q.waiting) == cap(q.waiting) && q.head+q.dropped > len(q.waiting)/2 {
		q.compact()
	}
}

// compact moves the waiting changes to the front, over those that have been taken or are dropped.
func (q *queue[T]) compact() {
	kept := q.waiting[:0]
	for i := q.head; i < len(q.waiting); i++ {
		c := q.waiting[i]
		if c.dropped {
			continue
		}
		if !c.mark && !c.held {
			q.at[c.key] = len(kept)
		}
		kept = append(kept, c)
	}
	clear(q.waiting[len(kept):])
	q.waiting, q.head, q.dropped = kept, 0, 0
}

// put adds the change of an object from old to now. Either may be nil; otherwise they have the same UID. For
// a deletion final is the last state, nil if that is old.
func (q *queue[T]) put(old, now, final *object[T], initial, unknown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case now == nil:
		s := q.slot(old.key, nil)
		if final == nil {
			final = old
		}
		known := old
		if s.now != nil {
			known = s.before
		}
		switch {
		case s.now == nil || s.before != nil:
			s.before, s.now, s.resync = nil, nil, false
			s.deleted, s.known, s.unknown = final, known, unknown
		case s.deleted != nil:
			// The deletion of an earlier incarnation is pending; the handler has not seen this one.
			s.now, s.initial = nil, false
		default:
			delete(q.at, s.key)
			*s = change[T]{dropped: true}
			q.dropped++
		}
	case old == nil:
		s := q.slot(now.key, now)
		s.before, s.now, s.initial = nil, now, initial
	default:
		s := q.slot(now.key, now)
		if s.now == nil {
			s.before = old
		}
		s.now, s.resync = now, false
	}
}

// putResync queues the state again as a resync, unless a change of the key is waiting.
func (q *queue[T]) putResync(o *object[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.at[o.key]; ok {
		return
	}
	s := q.slot(o.key, o)
	s.before, s.now, s.resync = o, o, true
}

func (q *queue[T]) putMark() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin()
	q.waiting = append(q.waiting, change[T]{mark: true})
}

// putGap notes that a state which was read is merged. The lock is held.
func (q *queue[T]) putGap() {
	if !q.gap {
		q.gap = true
		q.begin()
		q.waiting = append(q.waiting, change[T]{mark: true, gap: true})
	}
}

// signal wakes the handler. It is called without locks.
func (q *queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the oldest change. Until the next take it counts as being delivered.
func (q *queue[T]) take() (change[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head < len(q.waiting) {
		c := q.waiting[q.head]
		q.waiting[q.head] = change[T]{}
		q.head++
		if c.dropped {
			q.dropped--
			continue
		}
		switch {
		case c.gap:
			q.gap = false
		case c.mark:
		case c.held:
			q.held--
		default:
			delete(q.at, c.key)
		}
		q.busy = true
		return c, true
	}
	q.busy = false
	q.empty()
	return change[T]{}, false
}

// empty resets a queue in which nothing waits. The lock is held.
func (q *queue[T]) empty() {
	if cap(q.waiting) > maxKept {
		// A map never shrinks.
		q.waiting, q.at = nil, map[types.NamespacedName]int{}
	}
	q.waiting, q.head, q.dropped, q.held, q.gap = q.waiting[:0], 0, 0, 0, false
}

// drop removes all waiting changes.
func (q *queue[T]) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.waiting)
	clear(q.at)
	q.empty()
}

// depth returns the number of objects whose changes wait or are being delivered, and for how long it has not
// been 0.
func (q *queue[T]) depth() (int, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.length()
	if n == 0 {
		return 0, 0
	}
	return n, time.Since(q.behind)
}

// length is depth without the time. The lock is held.
func (q *queue[T]) length() int {
	n := len(q.waiting) - q.head - q.dropped - q.held
	if q.busy {
		n++
	}
	return n
}

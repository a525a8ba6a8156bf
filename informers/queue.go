package informers

import (
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// change is the pending notification of a handler about one key: a deletion, a state, or both in this order.
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
	// mark is set on the entry behind the objects of the informer's first sync. It has no key.
	mark bool
	// dropped is set when there is nothing left to deliver.
	dropped bool
}

// queue holds the pending changes of one handler, at most one per key, oldest first. An object that was
// created and deleted before the handler got to it leaves no entry, so there is never more than one change
// for each object that exists or that the handler has seen.
type queue[T metav1.Object] struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []change[T]
	head    int                          // changes before it have been taken
	dropped int                          // dropped ones after it
	at      map[types.NamespacedName]int // index in waiting
	busy    bool                         // a change is being delivered
	behind  time.Time                    // since when the queue has not been empty
}

// maxKept is the largest capacity, in changes, that a queue keeps when it becomes empty.
const maxKept = 4096

func newQueue[T metav1.Object]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1), at: map[types.NamespacedName]int{}}
}

// slot returns the change of a key, adding one if there is none.
func (q *queue[T]) slot(key types.NamespacedName) *change[T] {
	if i, ok := q.at[key]; ok {
		return &q.waiting[i]
	}
	q.begin()
	q.at[key] = len(q.waiting)
	q.waiting = append(q.waiting, change[T]{key: key})
	return &q.waiting[len(q.waiting)-1]
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
		if !c.mark {
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
		s := q.slot(old.key)
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
		s := q.slot(now.key)
		s.before, s.now, s.initial = nil, now, initial
	default:
		s := q.slot(now.key)
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
	s := q.slot(o.key)
	s.before, s.now, s.resync = o, o, true
}

func (q *queue[T]) putMark() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin()
	q.waiting = append(q.waiting, change[T]{mark: true})
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
		if !c.mark {
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
	q.waiting, q.head, q.dropped = q.waiting[:0], 0, 0
}

// drop removes all waiting changes.
func (q *queue[T]) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.waiting)
	clear(q.at)
	q.empty()
}

// depth returns the number of changes that wait or are being delivered, and for how long it has not been 0.
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
	n := len(q.waiting) - q.head - q.dropped
	if q.busy {
		n++
	}
	return n
}

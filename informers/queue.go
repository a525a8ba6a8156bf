package informers

import (
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// change is what a handler is to be told about one key: nothing or a deletion, then nothing or a state.
type change[T metav1.Object] struct {
	key types.NamespacedName
	// gone is the last state of an incarnation the handler knows that has been deleted; unknown if that was
	// not seen itself. was is the state of it that the handler knows.
	deleted, known *object[T]
	unknown        bool
	// now is the state to tell, before is the one the handler knows, nil for one that is new to it.
	before, now *object[T]
	initial     bool
	resync      bool
	// mark tells that everything known at the informer's first sync is in front of it.
	mark bool
	// void is set when there is nothing left to tell.
	void bool
}

// queue holds what one handler is yet to be told, at most one change per key, oldest first. What came and
// went before the handler heard of it leaves nothing behind, so there is never more than one change for each
// object the handler knows or that exists.
type queue[T metav1.Object] struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []change[T]
	head    int                          // changes before it have been taken
	voids   int                          // void ones after it
	at      map[types.NamespacedName]int // index in waiting
	busy    bool                         // a change is being told
	behind  time.Time                    // since when there has always been something to tell
}

// roomy is how many changes the memory of a queue that is empty again may be good for.
const roomy = 4096

func newQueue[T metav1.Object]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1), at: map[types.NamespacedName]int{}}
}

// slot returns the change of a key, making one if need be.
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
	if len(q.waiting) == cap(q.waiting) && q.head+q.voids > len(q.waiting)/2 {
		q.compact()
	}
}

// compact moves what waits to the front, over what has been taken or is void.
func (q *queue[T]) compact() {
	kept := q.waiting[:0]
	for i := q.head; i < len(q.waiting); i++ {
		c := q.waiting[i]
		if c.void {
			continue
		}
		if !c.mark {
			q.at[c.key] = len(kept)
		}
		kept = append(kept, c)
	}
	clear(q.waiting[len(kept):])
	q.waiting, q.head, q.voids = kept, 0, 0
}

// put notes that an object went from old to now; either may be nil, and both are always of one incarnation.
// For a deletion final is the last state, nil if that is old.
func (q *queue[T]) put(old, now, final *object[T], initial, unknown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case now == nil:
		s := q.slot(old.key)
		if final == nil {
			final = old
		}
		was := old
		if s.now != nil {
			was = s.before
		}
		switch {
		case s.now == nil || s.before != nil:
			s.before, s.now, s.resync = nil, nil, false
			s.deleted, s.known, s.unknown = final, was, unknown
		case s.deleted != nil:
			// Of an earlier incarnation it is to be told the end, of the latest it never heard and need not.
			s.now, s.initial = nil, false
		default:
			delete(q.at, s.key)
			*s = change[T]{void: true}
			q.voids++
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

// repeat tells the state again, unless a change is waiting anyway.
func (q *queue[T]) repeat(o *object[T]) {
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

// take removes and returns the oldest change. Until the next take it counts as being told.
func (q *queue[T]) take() (change[T], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head < len(q.waiting) {
		c := q.waiting[q.head]
		q.waiting[q.head] = change[T]{}
		q.head++
		if c.void {
			q.voids--
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

// empty makes room. The lock is held, and nothing waits.
func (q *queue[T]) empty() {
	if cap(q.waiting) > roomy {
		// A map never shrinks.
		q.waiting, q.at = nil, map[types.NamespacedName]int{}
	}
	q.waiting, q.head, q.voids = q.waiting[:0], 0, 0
}

// drop forgets what waits.
func (q *queue[T]) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.waiting)
	clear(q.at)
	q.empty()
}

// depth returns how many changes are yet to be told, the one under way included, and since when there has
// always been one.
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
	n := len(q.waiting) - q.head - q.voids
	if q.busy {
		n++
	}
	return n
}

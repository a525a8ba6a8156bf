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
	// gone is an incarnation the handler knows that has been deleted; unknown if that was not seen itself.
	gone    *object[T]
	unknown bool
	// now is the state to tell, before is the one the handler knows, nil for one that is new to it.
	before, now *object[T]
	initial     bool
	resync      bool
	// mark tells that everything known at the informer's first sync is in front of it.
	mark bool
}

// queue holds what one handler is yet to be told, at most one change per key, oldest first.
type queue[T metav1.Object] struct {
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	waiting []change[T]
	at      map[types.NamespacedName]int // index in waiting
	since   time.Time                    // when the oldest change came
}

func newQueue[T metav1.Object]() *queue[T] {
	return &queue[T]{wake: make(chan struct{}, 1), at: map[types.NamespacedName]int{}}
}

// slot returns the change of a key, making one if need be.
func (q *queue[T]) slot(key types.NamespacedName) *change[T] {
	if i, ok := q.at[key]; ok {
		return &q.waiting[i]
	}
	if len(q.waiting) == 0 {
		q.since = time.Now()
	}
	q.at[key] = len(q.waiting)
	q.waiting = append(q.waiting, change[T]{key: key})
	return &q.waiting[len(q.waiting)-1]
}

// put notes that an object went from old to now; either may be nil, and both differ in incarnation never.
func (q *queue[T]) put(old, now *object[T], initial, unknown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case now == nil:
		s := q.slot(old.key)
		switch {
		case s.now != nil && s.before == nil:
			// The handler never heard of it, and need not.
			s.now, s.initial = nil, false
		default:
			s.before, s.now, s.resync = nil, nil, false
			s.gone, s.unknown = old, unknown
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
	q.waiting = append(q.waiting, change[T]{mark: true})
}

// signal wakes the handler. It is called without locks.
func (q *queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns everything that waits. spare is memory to use for what comes next.
func (q *queue[T]) take(spare []change[T]) []change[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.waiting
	if len(out) > 1024 {
		q.at = map[types.NamespacedName]int{}
	} else {
		clear(q.at)
	}
	q.waiting = spare[:0]
	return out
}

// depth returns how many keys wait and for how long the oldest has.
func (q *queue[T]) depth() (int, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return 0, 0
	}
	return len(q.waiting), time.Since(q.since)
}

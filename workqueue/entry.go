package workqueue

import "time"

// entry is the state of one key. It exists while the key is ready, processing or
// waiting. Invariants, under the queue's lock:
//
//  1. ready implies not processing and not again; again implies processing.
//  2. ready entries are in a class (or in Options.Order), processing ones in
//     Queue.processing; both use the links prev and next.
//  3. heapIndex >= 0 exactly while waitAt or bounceAt is set, and then the
//     entry's place in the heap is its deadline().
//  4. priority, cause and added describe the pending run (ready or again), or
//     the running one if none is pending; waitPriority, waitCause and waitSince
//     the delayed one.
type entry[K comparable] struct {
	key    K
	hash   uint64
	chain  *entry[K] // in its bucket of the table
	tenant string

	ready, processing, again bool

	priority int32
	cause    string
	added    int64 // when the pending run was requested, if metrics are on
	place    int64 // its number among all that became ready: the lower, the longer it is
	started  int64 // when processing began, if metrics are on

	class *class[K]
	flow  *flow[K] // nil unless the queue has tenants

	prev, next   *entry[K] // in the class, in Queue.processing or in table.spare
	fprev, fnext *entry[K] // in the flow

	waitAt       int64 // deadline of AddAfter, 0 for none
	bounceAt     int64 // end of the debounce window, 0 for none
	waitSince    int64
	waitCause    string
	waitPriority int32
	heapIndex    int32
}

// deadline is when the entry's next delayed add is due, 0 for never.
func (e *entry[K]) deadline() int64 {
	if e.waitAt == 0 || e.bounceAt != 0 && e.bounceAt < e.waitAt {
		return e.bounceAt
	}
	return e.waitAt
}

// list is a chain through prev and next, oldest first.
type list[K comparable] struct{ head, tail *entry[K] }

func (l *list[K]) push(e *entry[K]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *list[K]) remove(e *entry[K]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// now is the time since the queue was made, at least 1, because 0 means never.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.epoch)) + 1 }

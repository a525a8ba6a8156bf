package scheduler

import (
	"container/heap"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Back-off of a pod that failed to be placed, and how long one that fits nowhere waits without any event.
const (
	backoffInitial = time.Second
	backoffMax     = 10 * time.Second
	unplacedMax    = 5 * time.Minute
)

// queue orders the pods that wait for a node: by priority, then by how long they have waited. A pod is active
// (may be tried now), backing off (may be tried later), unplaced (waits for an event), or being tried. Safe
// for concurrent use.
type queue struct {
	mu     sync.Mutex
	pods   map[types.UID]*queued
	active activeHeap
	serial uint64
	moves  uint64 // counts events; a pod that was being tried when one came is tried again
	wake   chan struct{}
}

type queued struct {
	pod      *corev1.Pod
	info     *podInfo
	attempts int
	since    time.Time
	serial   uint64
	index    int       // in the active heap, -1 when not in it
	notUntil time.Time // end of the back-off
	trying   bool
	tryMoves uint64    // moves when the try began
	changed  bool      // while it was being tried, in a way that may make it fit
	hurried  bool      // while it was being tried
	unplaced time.Time // since when it waits for an event; zero if it does not
}

// try is one attempt to place a pod: the pod as it was when the attempt began, whatever becomes of the entry.
type try struct {
	entry *queued
	pod   *corev1.Pod
	info  *podInfo
}

func newQueue() *queue {
	return &queue{pods: map[types.UID]*queued{}, wake: make(chan struct{}, 1)}
}

type activeHeap []*queued

func (h activeHeap) Len() int { return len(h) }
func (h activeHeap) Less(i, j int) bool {
	a, b := priorityOf(h[i].pod), priorityOf(h[j].pod)
	if a != b {
		return a > b
	}
	if !h[i].since.Equal(h[j].since) {
		return h[i].since.Before(h[j].since)
	}
	return h[i].serial < h[j].serial
}
func (h activeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *activeHeap) Push(x any) {
	q := x.(*queued)
	q.index = len(*h)
	*h = append(*h, q)
}
func (h *activeHeap) Pop() any {
	old := *h
	q := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	q.index = -1
	return q
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// set adds a pod or, if it is known, takes in its new state. retry says that the change may make it fit.
func (q *queue) set(info *podInfo, retry bool) { q.put(info, retry, true) }

// update is set for a pod that is not to be added.
func (q *queue) update(info *podInfo, retry bool) { q.put(info, retry, false) }

func (q *queue) put(info *podInfo, retry, add bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[info.pod.UID]
	if p == nil {
		if !add {
			return
		}
		q.serial++
		p = &queued{since: time.Now(), serial: q.serial, index: -1}
		q.pods[info.pod.UID] = p
		retry = true
	}
	p.pod, p.info = info.pod, info
	if p.index >= 0 {
		heap.Fix(&q.active, p.index)
		return
	}
	if retry {
		p.changed = p.trying
		p.unplaced = time.Time{}
		q.activate(p, time.Now())
	}
	q.signal()
}

// activate makes a pod active if its back-off is over; otherwise next brings it in at that time.
func (q *queue) activate(p *queued, now time.Time) {
	if p.index < 0 && !p.trying && !p.notUntil.After(now) {
		heap.Push(&q.active, p)
	}
}

// remove takes a pod out.
func (q *queue) remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil {
		if p.index >= 0 {
			heap.Remove(&q.active, p.index)
		}
		delete(q.pods, uid)
	}
}

// holds reports whether an entry is still in the queue.
func (q *queue) holds(p *queued, uid types.UID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pods[uid] == p
}

// hurry lets a pod be tried at once, whatever its back-off: what it waited for has come.
func (q *queue) hurry(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[uid]
	if p == nil {
		return
	}
	p.notUntil, p.unplaced, p.hurried = time.Time{}, time.Time{}, p.trying
	q.activate(p, time.Now())
	q.signal()
}

// next returns the pod to try now, or how long to wait for one (0: until signalled).
func (q *queue) next() (*try, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var soonest time.Time
	if len(q.active) == 0 || len(q.pods) > len(q.active) {
		soonest = q.ripen(now)
	}
	if len(q.active) > 0 {
		p := heap.Pop(&q.active).(*queued)
		p.trying, p.tryMoves, p.changed, p.hurried = true, q.moves, false, false
		p.attempts++
		return &try{p, p.pod, p.info}, 0
	}
	if soonest.IsZero() {
		return nil, 0
	}
	return nil, max(soonest.Sub(now), time.Millisecond)
}

// ripen activates what has waited long enough and returns when the next one will have.
func (q *queue) ripen(now time.Time) (soonest time.Time) {
	for _, p := range q.pods {
		if p.index >= 0 || p.trying {
			continue
		}
		at := p.notUntil
		if !p.unplaced.IsZero() {
			at = p.unplaced.Add(unplacedMax)
		}
		if !at.After(now) {
			p.unplaced = time.Time{}
			q.activate(p, now)
			continue
		}
		if soonest.IsZero() || at.Before(soonest) {
			soonest = at
		}
	}
	return soonest
}

// failed puts a pod back that could not be placed (waits for an event) or bound (backs off only).
func (q *queue) failed(t *try, unplaced bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := t.entry
	p.trying = false
	if q.pods[t.pod.UID] != p {
		return // deleted meanwhile
	}
	now := time.Now()
	wait := backoffInitial
	for range min(p.attempts-1, 10) {
		wait = min(2*wait, backoffMax)
	}
	p.notUntil = now.Add(wait)
	switch {
	case p.hurried:
		p.notUntil = time.Time{}
		q.activate(p, now)
	case unplaced && !p.changed && q.moves == p.tryMoves:
		p.unplaced = now
	}
	q.signal()
}

// move lets all unplaced pods be tried again: something changed that may make them fit.
func (q *queue) move() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moves++
	now := time.Now()
	for _, p := range q.pods {
		if !p.unplaced.IsZero() {
			p.unplaced = time.Time{}
			q.activate(p, now)
		}
	}
	q.signal()
}

// counts is how many pods wait in which way.
func (q *queue) counts() (active, backoff, unplaced int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range q.pods {
		switch {
		case p.index >= 0:
			active++
		case !p.unplaced.IsZero():
			unplaced++
		case !p.trying:
			backoff++
		}
	}
	return
}

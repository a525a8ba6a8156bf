package scheduler

import (
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Back-off of a pod that failed to be placed, and how long one that fits nowhere waits without any event.
const (
	backoffInitial = time.Second
	backoffMax     = 10 * time.Second
	unplacedMax    = 5 * time.Minute
)

// maxEvents is how many events are kept for the pods that are being tried.
const maxEvents = 8192

// orderWindow is what the ends of the back-offs of refused pods are rounded up to: those that end together
// are in the order of the active pods.
const orderWindow = time.Second

// queue orders the pods that wait for a node. A pod is active (may be tried now), backing off (is tried
// later, or when no pod is active), failing (is tried later, because something other than the pod was the
// cause), unplaced (waits for an event), or being tried. Safe for concurrent use. Invariants:
//
//  1. A pod is in exactly one of active, backing, failing and unplaced, or is being tried.
//  2. An unplaced pod is in the set of each plugin that refused it. An event looks only at the sets of the
//     plugins that it may satisfy.
type queue struct {
	mu       sync.Mutex
	opts     queueOptions
	pods     map[types.UID]*queued
	active   podHeap
	backing  podHeap // by the end of the back-off, then as the active ones
	failing  podHeap // by the end of the back-off
	unplaced podHeap // by since when they wait
	// refused are the unplaced pods by who refused them.
	refused map[refuser]map[*queued]bool
	serial  uint64
	// events are those since the first of the pods that are being tried began, or the last of them; the first
	// has the number firstEvent.
	events     []*Event
	firstEvent uint64
	trying     int
	tries      uint64 // that have begun
	wake       chan struct{}
}

type queueOptions struct {
	less                    func(a, b *QueuedPod) bool
	initial, max, flushedAt time.Duration
	profile                 func(p *Pod) *Profile
}

// refuser is a plugin of a profile; an empty name is that of a refusal that any event may lift.
type refuser struct {
	profile *Profile
	plugin  string
}

type place int

const (
	nowhere place = iota
	active
	backing
	failing
	unplaced
)

type queued struct {
	QueuedPod
	serial   uint64
	at       place
	index    int       // in the heap
	notUntil time.Time // end of the back-off
	waits    time.Time // since when it is unplaced
	trying   bool
	tryEvent uint64 // number of the next event when the try began
	number   uint64 // of the last try
	changed  bool   // while it was being tried, in a way that may make it fit
	hurried  bool   // while it was being tried
	refused  []string
	// refusals is how often the pod was refused, errors how many attempts in a row have failed otherwise: the
	// back-off is that of errors if there are any.
	refusals, errors int
}

// try is one attempt to place a pod: the pod as it was when the attempt began, whatever becomes of the entry.
type try struct {
	*Pod
	entry  *queued
	number uint64 // of all tries, from 1
}

func newQueue(opts queueOptions) *queue {
	q := &queue{opts: opts, pods: map[types.UID]*queued{}, refused: map[refuser]map[*queued]bool{}, wake: make(chan struct{}, 1)}
	inOrder := func(a, b *queued) bool {
		if opts.less(&a.QueuedPod, &b.QueuedPod) {
			return true
		}
		return !opts.less(&b.QueuedPod, &a.QueuedPod) && a.serial < b.serial
	}
	q.active.less = inOrder
	q.backing.less = func(a, b *queued) bool {
		if !a.notUntil.Equal(b.notUntil) {
			return a.notUntil.Before(b.notUntil)
		}
		return inOrder(a, b)
	}
	q.failing.less = func(a, b *queued) bool { return a.notUntil.Before(b.notUntil) }
	q.unplaced.less = func(a, b *queued) bool { return a.waits.Before(b.waits) }
	return q
}

// podHeap implements heap.Interface.
type podHeap struct {
	list []*queued
	less func(a, b *queued) bool
}

func (h *podHeap) Len() int           { return len(h.list) }
func (h *podHeap) Less(i, j int) bool { return h.less(h.list[i], h.list[j]) }
func (h *podHeap) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

func (h *podHeap) Push(x any) {
	p := x.(*queued)
	p.index = len(h.list)
	h.list = append(h.list, p)
}

func (h *podHeap) Pop() any {
	last := len(h.list) - 1
	p := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return p
}

func (q *queue) heapOf(at place) *podHeap {
	switch at {
	case active:
		return &q.active
	case backing:
		return &q.backing
	case failing:
		return &q.failing
	}
	return &q.unplaced
}

// move puts a pod at another place.
func (q *queue) move(p *queued, to place) {
	if p.at != nowhere {
		heap.Remove(q.heapOf(p.at), p.index)
	}
	if p.at == unplaced {
		q.unrefuse(p)
	}
	if p.at = to; to != nowhere {
		heap.Push(q.heapOf(to), p)
	}
}

func (q *queue) unrefuse(p *queued) {
	for _, name := range p.refused {
		key := refuser{q.opts.profile(p.Pod), name}
		if delete(q.refused[key], p); len(q.refused[key]) == 0 {
			delete(q.refused, key)
		}
	}
	p.refused = nil
}

// retry lets a pod be tried again when its back-off is over.
func (q *queue) retry(p *queued, now time.Time) {
	switch {
	case p.trying || p.at == active:
	case p.notUntil.After(now):
		to := backing
		if p.errors > 0 {
			to = failing
		}
		if p.at != to {
			q.move(p, to)
		}
	default:
		q.move(p, active)
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// set adds a pod or, if it is known, takes in its new state. retry says that the change may make it fit.
func (q *queue) set(info *Pod, retry bool) { q.put(info, retry, true) }

// update is set for a pod that is not to be added.
func (q *queue) update(info *Pod, retry bool) { q.put(info, retry, false) }

func (q *queue) put(info *Pod, retry, add bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[info.pod.UID]
	if p == nil {
		if !add {
			return
		}
		q.serial++
		p = &queued{QueuedPod: QueuedPod{Since: time.Now()}, serial: q.serial}
		q.pods[info.pod.UID] = p
		retry = true
	}
	p.Pod = info
	if p.at == active || p.at == backing {
		heap.Fix(q.heapOf(p.at), p.index)
	}
	if p.at == active {
		return
	}
	if retry {
		p.changed = p.trying
		q.retry(p, time.Now())
	}
	q.signal()
}

// remove takes a pod out.
func (q *queue) remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil {
		q.move(p, nowhere)
		q.ended(p)
		delete(q.pods, uid)
	}
}

// ended notes the end of a try.
func (q *queue) ended(p *queued) {
	if !p.trying {
		return
	}
	p.trying = false
	if q.trying--; q.trying == 0 {
		q.firstEvent += uint64(len(q.events))
		clear(q.events)
		q.events = q.events[:0]
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
	p.notUntil, p.hurried = time.Time{}, p.trying
	q.retry(p, time.Now())
	q.signal()
}

// again lets a pod be tried again when its back-off is over.
func (q *queue) again(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil {
		p.changed = p.trying
		q.retry(p, time.Now())
		q.signal()
	}
}

// next returns the pod to try now, or how long to wait for one (0: until signalled). If none is active, it is
// the first of those that back off.
func (q *queue) next() (*try, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var soonest time.Time
	for _, h := range []*podHeap{&q.backing, &q.failing} {
		for len(h.list) > 0 && !h.list[0].notUntil.After(now) {
			q.move(h.list[0], active)
		}
	}
	if len(q.failing.list) > 0 {
		soonest = q.failing.list[0].notUntil
	}
	for len(q.unplaced.list) > 0 {
		p := q.unplaced.list[0]
		if at := p.waits.Add(q.opts.flushedAt); at.After(now) {
			if soonest.IsZero() || at.Before(soonest) {
				soonest = at
			}
			break
		}
		q.retry(p, now)
	}
	for _, h := range []*podHeap{&q.active, &q.backing} {
		if len(h.list) > 0 {
			return q.begin(h.list[0]), 0
		}
	}
	if soonest.IsZero() {
		return nil, 0
	}
	return nil, max(soonest.Sub(now), time.Millisecond)
}

// begin takes a pod out for a try.
func (q *queue) begin(p *queued) *try {
	q.move(p, nowhere)
	q.trying++
	p.trying, p.changed, p.hurried = true, false, false
	p.tryEvent = q.firstEvent + uint64(len(q.events))
	p.Attempts++
	q.tries++
	p.number = q.tries
	return &try{p.Pod, p, p.number}
}

// take returns a pod to try now if it waits, in whatever way; nil if it is not there or is being tried.
func (q *queue) take(uid types.UID) *try {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil && !p.trying {
		return q.begin(p)
	}
	return nil
}

// has reports whether a pod waits or is being tried, and which.
func (q *queue) has(uid types.UID) (there, trying bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[uid]
	return p != nil, p != nil && p.trying
}

// backedOff puts a pod back that could not be placed or bound, for reasons that no event lifts; it is tried
// again after its back-off.
func (q *queue) backedOff(t *try) { q.failed(t, nil, false) }

// waitsFor puts a pod back that fits nowhere. It waits for an event that may satisfy one of the plugins that
// refused it; those since the try began are looked at now.
func (q *queue) waitsFor(t *try, plugins []string) { q.failed(t, plugins, true) }

func (q *queue) failed(t *try, plugins []string, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := t.entry
	if q.pods[t.pod.UID] != p {
		return // deleted meanwhile
	}
	now := time.Now()
	if waits && len(plugins) > 0 {
		p.refusals, p.errors = p.refusals+1, 0
		p.notUntil = now.Add(q.backoff(p.refusals)).Truncate(orderWindow).Add(orderWindow)
	} else {
		p.errors++
		p.notUntil = now.Add(q.backoff(p.errors))
	}
	if p.hurried {
		p.notUntil = time.Time{}
	}
	lifted := p.changed || p.hurried || q.liftedSince(t, plugins)
	q.ended(p)
	if !waits || lifted {
		q.retry(p, now)
		q.signal()
		return
	}
	p.waits, p.refused = now, plugins
	q.move(p, unplaced)
	for _, name := range plugins {
		key := refuser{q.opts.profile(p.Pod), name}
		if q.refused[key] == nil {
			q.refused[key] = map[*queued]bool{}
		}
		q.refused[key][p] = true
	}
	q.signal()
}

// backoff is how long a pod is not tried that has failed so many times.
func (q *queue) backoff(times int) time.Duration {
	wait := q.opts.initial
	for range min(times-1, 30) {
		wait = min(2*wait, q.opts.max)
	}
	return wait
}

// postpone puts a pod back that was not tried after all. It is tried again after the time, or with others.
func (q *queue) postpone(t *try, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := t.entry
	if q.pods[t.pod.UID] != p {
		return // deleted meanwhile
	}
	q.ended(p)
	p.Attempts--
	p.notUntil = time.Now().Add(wait)
	q.move(p, failing)
	q.signal()
}

// liftedSince reports whether an event since the try began may have made the pod fit.
func (q *queue) liftedSince(t *try, plugins []string) bool {
	profile := q.opts.profile(t.Pod)
	if t.entry.tryEvent < q.firstEvent {
		return true // not all of them are known
	}
	for _, e := range q.events[t.entry.tryEvent-q.firstEvent:] {
		if !e.concerns(t.entry) {
			continue
		}
		for _, name := range plugins {
			if h := profile.hints[name]; h.wants(e) && h.mayHelp(e, t.Pod) {
				return true
			}
		}
	}
	return false
}

// happened lets those unplaced pods be tried again that an event may make fit.
func (q *queue) happened(e *Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.trying > 0 {
		q.events = append(q.events, e)
		if len(q.events) >= maxEvents {
			q.firstEvent += maxEvents / 2
			q.events = slices.Delete(q.events, 0, maxEvents/2)
		}
	}
	if len(q.unplaced.list) == 0 {
		return
	}
	now := time.Now()
	for key, pods := range q.refused {
		h := key.profile.hints[key.plugin]
		if !h.wants(e) {
			continue
		}
		for p := range pods {
			if e.concerns(p) && h.mayHelp(e, p.Pod) {
				q.retry(p, now)
			}
		}
	}
	q.signal()
}

// counts is how many pods wait in which way.
func (q *queue) counts() (active, backing, unplaced int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.active.list), len(q.backing.list) + len(q.failing.list), len(q.unplaced.list)
}

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
// cause), unplaced (waits for an event), gated (a PreEnqueue plugin keeps it out), or being tried. Safe for
// concurrent use. Invariants:
//
//  1. A pod is in exactly one of active, backing, failing, unplaced and gated, or is being tried.
//  2. An unplaced or gated pod is in the set of each plugin that refused it. An event looks only at the
//     sets of the plugins that it may satisfy.
//  3. PreEnqueue plugins are called without the lock: when a pod comes or changes, and at the begin of the
//     try of a pod that an event or time has moved.
type queue struct {
	mu       sync.Mutex
	opts     queueOptions
	pods     map[types.UID]*queued
	active   podHeap
	backing  podHeap // by the end of the back-off, then as the active ones
	failing  podHeap // by the end of the back-off
	unplaced podHeap // by since when they wait
	gated    int
	// refused are the unplaced and gated pods by who refused them.
	refused map[refuser]map[*queued]bool
	// concerned is used again for each event.
	concerned []*queued
	serial    uint64
	// events are those since the first of the pods that are being tried began, or the last of them; the first
	// has the number firstEvent.
	events     []*Event
	firstEvent uint64
	trying     int
	tries      uint64 // that have begun
	// reordered is set when the order has changed.
	reordered bool
	wake      chan struct{}
}

type queueOptions struct {
	// less may say that it has changed the order.
	less                    func(a, b *QueuedPod) (less, changed bool)
	initial, max, flushedAt time.Duration
	profile                 func(p *Pod) *Profile
	// hints calls a plugin that is not of this package, see [Scheduler.hints].
	hints func(p *Profile, plugin string, e *Event, pods []*Pod) []bool
	// queued is [Metrics.Queued], and hinted [Metrics.Hint].
	queued func(queue, event string)
	hinted func(plugin, event, hint string, took time.Duration)
}

// The events that are none of the cluster, by the names that upstream's metrics have for them.
const (
	podAdded      = "UnschedulablePodAdd"
	podUpdated    = "UnschedulablePodUpdate"
	podDeleted    = "UnschedulablePodDelete"
	attemptFailed = "ScheduleAttemptFailure"
	backedOff     = "BackoffComplete"
	waitedLong    = "UnschedulableTimeout"
	popped        = "PopFromBackoffQ"
)

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
	gated
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
	// recheck lets PreEnqueue plugins be called at the begin of the next try.
	recheck bool
	// flushed is set if no event has let the pod be tried, but the time that it has waited.
	flushed bool
	refused []string
	// refusals is how often the pod was refused, errors how many attempts in a row have failed otherwise: the
	// back-off is that of errors if there are any.
	refusals, errors int
}

// try is one attempt to place a pod: the pod as it was when the attempt began, whatever becomes of the entry.
type try struct {
	*Pod
	entry   *queued
	number  uint64 // of all tries, from 1
	recheck bool
	flushed bool
}

func newQueue(opts queueOptions) *queue {
	q := &queue{opts: opts, pods: map[types.UID]*queued{}, refused: map[refuser]map[*queued]bool{}, wake: make(chan struct{}, 1)}
	inOrder := func(a, b *queued) bool {
		return q.less(a, b) || !q.less(b, a) && a.serial < b.serial
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

func (q *queue) less(a, b *queued) bool {
	less, changed := q.opts.less(&a.QueuedPod, &b.QueuedPod)
	q.reordered = q.reordered || changed
	return less
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

// names of the places in metrics.
var placeNames = map[place]string{active: "active", backing: "backoff", failing: "backoff", unplaced: "unschedulable", gated: "unschedulable"}

// move puts a pod at another place. cause is the event that does it.
func (q *queue) move(p *queued, to place, cause string) {
	if f := q.opts.queued; f != nil && to != nowhere {
		f(placeNames[to], cause)
	}
	switch p.at {
	case nowhere:
	case gated:
		q.gated--
	default:
		heap.Remove(q.heapOf(p.at), p.index)
	}
	if p.at == unplaced || p.at == gated {
		q.unrefuse(p)
	}
	switch p.at = to; to {
	case nowhere:
	case gated:
		q.gated++
	default:
		heap.Push(q.heapOf(to), p)
	}
}

// refuse lets a pod wait for events that may satisfy the plugins which have refused it.
func (q *queue) refuse(p *queued, to place, plugins []string, cause string) {
	q.move(p, to, cause)
	p.refused = plugins
	for _, name := range plugins {
		key := refuser{q.opts.profile(p.Pod), name}
		if q.refused[key] == nil {
			q.refused[key] = map[*queued]bool{}
		}
		q.refused[key][p] = true
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
func (q *queue) retry(p *queued, now time.Time, cause string) {
	p.recheck = p.recheck || p.at == unplaced || p.at == gated
	switch {
	case p.trying || p.at == active:
	case p.notUntil.After(now):
		to := backing
		if p.errors > 0 {
			to = failing
		}
		if p.at != to {
			q.move(p, to, cause)
		}
	default:
		q.move(p, active, cause)
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
	p, cause := q.pods[info.pod.UID], podUpdated
	if p == nil {
		if !add {
			return
		}
		p = q.enter(info)
		retry, cause = true, podAdded
	}
	p.Pod, p.recheck = info, false // that was done
	retry = retry || p.at == gated
	if p.at == active || p.at == backing {
		heap.Fix(q.heapOf(p.at), p.index)
	}
	if p.at == active {
		return
	}
	if retry {
		p.changed = p.trying
		q.retry(p, time.Now(), cause)
		p.recheck = false
	}
	q.signal()
}

func (q *queue) enter(info *Pod) *queued {
	q.serial++
	p := &queued{QueuedPod: QueuedPod{Pod: info, Since: time.Now()}, serial: q.serial}
	q.pods[info.pod.UID] = p
	return p
}

// gate keeps a pod out that a PreEnqueue plugin refuses, until the pod changes or there is an event that may
// satisfy the plugin. If the plugin failed, it is called again after the back-off.
func (q *queue) gate(info *Pod, plugin string, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, cause := q.pods[info.pod.UID], podUpdated
	if p == nil {
		p, cause = q.enter(info), podAdded
	}
	switch {
	case p.trying:
		p.changed, p.recheck = true, true
	case failed:
		q.gateFailed(p)
	case p.at != gated || p.refused[0] != plugin:
		q.refuse(p, gated, []string{plugin}, cause)
	}
	p.Pod = info
}

func (q *queue) gateFailed(p *queued) {
	p.errors++
	p.notUntil, p.recheck = time.Now().Add(q.backoff(p.errors)), true
	q.move(p, failing, attemptFailed)
	q.signal()
}

// gateTry is gate for a pod whose try has begun.
func (q *queue) gateTry(t *try, plugin string, failed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := t.entry
	if q.pods[t.pod.UID] != p {
		return // deleted meanwhile
	}
	lifted := p.changed || p.hurried || q.liftedSince(t, []string{plugin})
	q.ended(p)
	p.Attempts--
	switch {
	case failed:
		q.gateFailed(p)
	case lifted:
		p.recheck = true
		q.retry(p, time.Now(), attemptFailed)
		q.signal()
	default:
		q.refuse(p, gated, []string{plugin}, attemptFailed)
	}
}

// remove takes a pod out.
func (q *queue) remove(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil {
		q.move(p, nowhere, "")
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
	q.retry(p, time.Now(), AssignedPodDelete.String())
	q.signal()
}

// again lets a pod be tried again when its back-off is over.
func (q *queue) again(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil {
		p.changed = p.trying
		q.retry(p, time.Now(), NodeUpdate.String())
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
	if q.reordered {
		q.reordered = false
		heap.Init(&q.active)
		heap.Init(&q.backing)
	}
	for _, h := range []*podHeap{&q.backing, &q.failing} {
		for len(h.list) > 0 && !h.list[0].notUntil.After(now) {
			q.move(h.list[0], active, backedOff)
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
		p.flushed = true
		q.retry(p, now, waitedLong)
	}
	for _, h := range []*podHeap{&q.active, &q.backing} {
		if len(h.list) > 0 {
			if f := q.opts.queued; f != nil && h == &q.backing {
				f("active", popped)
			}
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
	q.move(p, nowhere, "")
	q.trying++
	p.trying, p.changed, p.hurried = true, false, false
	p.tryEvent = q.firstEvent + uint64(len(q.events))
	p.Attempts++
	q.tries++
	p.number = q.tries
	t := &try{p.Pod, p, p.number, p.recheck, p.flushed}
	p.recheck, p.flushed = false, false
	return t
}

// take returns a pod to try now if it waits and is not gated; nil if it is not there or is being tried.
func (q *queue) take(uid types.UID) *try {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.pods[uid]; p != nil && !p.trying && p.at != gated {
		return q.begin(p)
	}
	return nil
}

// has reports whether a pod that is not gated waits or is being tried, and which.
func (q *queue) has(uid types.UID) (there, trying bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.pods[uid]
	return p != nil && p.at != gated, p != nil && p.trying
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
		q.retry(p, now, attemptFailed)
		q.signal()
		return
	}
	p.waits = now
	q.refuse(p, unplaced, plugins, attemptFailed)
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
	q.move(p, failing, attemptFailed)
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
			if profile.hints[name].wants(e) && len(q.helped(refuser{profile, name}, e, []*queued{t.entry})) > 0 {
				return true
			}
		}
	}
	return false
}

// happened lets those unplaced pods be tried again that an event may make fit. It returns the event's name in
// metrics.
func (q *queue) happened(e *Event) (name string) {
	name = e.label()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.trying > 0 {
		q.events = append(q.events, e)
		if len(q.events) >= maxEvents {
			q.firstEvent += maxEvents / 2
			q.events = slices.Delete(q.events, 0, maxEvents/2)
		}
	}
	if len(q.refused) == 0 {
		return name
	}
	now := time.Now()
	for key, pods := range q.refused {
		if !key.profile.hints[key.plugin].wants(e) {
			continue
		}
		q.concerned = q.concerned[:0]
		for p := range pods {
			if e.concerns(p) {
				q.concerned = append(q.concerned, p)
			}
		}
		for _, p := range q.helped(key, e, q.concerned) {
			q.retry(p, now, name)
		}
	}
	clear(q.concerned)
	q.signal()
	return name
}

// helped returns those of some refused pods that an event may make fit, in list.
func (q *queue) helped(by refuser, e *Event, list []*queued) []*queued {
	h := by.profile.hints[by.plugin]
	switch {
	case !h.looks(e) || len(list) == 0:
		return list
	case !h.foreign:
		measures := q.opts.hinted != nil // one of them is enough
		return slices.DeleteFunc(list, func(p *queued) bool {
			if !measures {
				return !h.ask.QueueingHint(e, p.Pod)
			}
			measures = false
			began := time.Now()
			helps := h.ask.QueueingHint(e, p.Pod)
			q.opts.hinted(by.plugin, e.label(), hintNames[helps], time.Since(began))
			return !helps
		})
	}
	pods := make([]*Pod, len(list))
	for i, p := range list {
		pods[i] = p.Pod
	}
	began := time.Now()
	answers := q.opts.hints(by.profile, by.plugin, e, pods)
	if q.opts.hinted != nil {
		q.opts.hinted(by.plugin, e.label(), hintNames[answers[0]], time.Since(began)/time.Duration(len(pods)))
	}
	out := list[:0]
	for i, p := range list {
		if answers[i] {
			out = append(out, p)
		}
	}
	return out
}

// hintNames are the names of what hints say, in metrics.
var hintNames = map[bool]string{true: "Queue", false: "QueueSkip"}

// refusals is how many pods wait by the plugin that has refused them, and events how many events are kept.
func (q *queue) refusals() (pods map[refuser]int, events int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pods = map[refuser]int{}
	for by, list := range q.refused {
		pods[by] = len(list)
	}
	return pods, len(q.events)
}

// counts is how many pods wait in which way.
func (q *queue) counts() PendingPods {
	q.mu.Lock()
	defer q.mu.Unlock()
	return PendingPods{len(q.active.list), len(q.backing.list) + len(q.failing.list), len(q.unplaced.list), q.gated}
}

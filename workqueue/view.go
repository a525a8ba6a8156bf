package workqueue

import (
	"cmp"
	"slices"
	"time"
)

// State is the state of a key.
type State string

// A key can be in processing and waiting at once; it is then shown as in
// processing, with Delay set.
const (
	Ready      State = "ready"      // Get may hand it out
	Processing State = "processing" // between Get and Done
	Waiting    State = "waiting"    // its deadline is ahead
)

// Entry describes one key of a queue, for a debug view.
type Entry[K comparable] struct {
	Key      K      `json:"key"`
	State    State  `json:"state"`
	Priority int    `json:"priority"`
	Tenant   string `json:"tenant,omitempty"`
	Cause    string `json:"cause,omitempty"` // first cause of the run
	// Age is the time since the run was first requested; of keys that are not Waiting 0 without
	// Options.Metrics.
	Age      time.Duration `json:"age"`
	Delay    time.Duration `json:"delay,omitempty"` // until the deadline ahead
	Again    bool          `json:"again,omitempty"` // in processing, and to run again after Done
	Requeues int           `json:"requeues,omitempty"`
}

// Entries returns a snapshot of the queue: keys in processing, then ready keys
// oldest first by priority, then waiting keys by deadline. It takes time and
// memory in proportion to the number of keys.
func (q *Queue[K]) Entries() []Entry[K] {
	q.mu.Lock()
	now := q.now()
	all := make([]Entry[K], 0, q.entries.n)
	for e := q.processing.head; e != nil; e = e.next {
		all = append(all, q.entry(e, now))
	}
	for _, e := range q.readyEntries() {
		all = append(all, q.entry(e, now))
	}
	waiting := slices.Clone(q.delayed)
	slices.SortFunc(waiting, func(a, b delayedItem[K]) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq))
	})
	for _, item := range waiting {
		if e := item.e; !e.ready && !e.processing {
			all = append(all, q.entry(e, now))
		}
	}
	q.mu.Unlock()
	for i := range all {
		all[i].Requeues = q.limiter.NumRequeues(all[i].Key)
	}
	return all
}

// Entry returns the entry of one key, and whether the queue contains it. A worker
// may use it to get the priority of the key it is processing.
func (q *Queue[K]) Entry(k K) (Entry[K], bool) {
	hash := q.entries.hash(k)
	q.mu.Lock()
	e := q.entries.find(k, hash)
	if e == nil {
		q.mu.Unlock()
		return Entry[K]{}, false
	}
	v := q.entry(e, q.now())
	q.mu.Unlock()
	v.Requeues = q.limiter.NumRequeues(k)
	return v, true
}

// Stats returns the counts and ages of the queue. It takes time in proportion to
// the keys in processing.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	s := Stats{Ready: q.readyLen(), Processing: q.working, Waiting: len(q.delayed)}
	if q.metrics == nil {
		return s
	}
	for _, c := range q.ready.heap {
		s.OldestReady = max(s.OldestReady, time.Duration(now-c.all.head.added))
	}
	for e := q.processing.head; e != nil; e = e.next {
		d := time.Duration(now - e.started)
		s.UnfinishedWork += d
		s.LongestRunning = max(s.LongestRunning, d)
	}
	return s
}

// readyEntries returns the ready entries, highest priority first, oldest first.
func (q *Queue[K]) readyEntries() []*entry[K] {
	all := make([]*entry[K], 0, q.readyLen())
	if q.order != nil {
		for _, e := range q.entries.buckets {
			for ; e != nil; e = e.chain {
				if e.ready {
					all = append(all, e)
				}
			}
		}
		slices.SortFunc(all, func(a, b *entry[K]) int { return cmp.Compare(a.place, b.place) })
		return all
	}
	classes := slices.Clone(q.ready.heap)
	slices.SortFunc(classes, func(a, b *class[K]) int { return cmp.Compare(b.priority, a.priority) })
	for _, c := range classes {
		for e := c.all.head; e != nil; e = e.next {
			all = append(all, e)
		}
	}
	return all
}

func (q *Queue[K]) entry(e *entry[K], now int64) Entry[K] {
	v := Entry[K]{Key: e.key, Tenant: e.tenant, Again: e.again}
	if at := e.deadline(); at != 0 {
		v.Delay = time.Duration(max(0, at-now))
	}
	if e.ready || e.processing {
		v.State = Ready
		if e.processing {
			v.State = Processing
		}
		v.Priority, v.Cause = int(e.priority), e.cause
		if q.metrics != nil {
			v.Age = time.Duration(now - e.added)
		}
		return v
	}
	v.State = Waiting
	v.Priority, v.Cause, v.Age = int(e.waitPriority), e.waitCause, time.Duration(now-e.waitSince)
	return v
}

package workqueue

import "time"

// Metrics are functions called by a queue. Each may be nil. They are called
// outside the queue's lock, so calls of different goroutines may be in
// another order than the events: counts are passed as differences, whose sum does
// not depend on the order. The comments name the metric of Kubernetes components
// that each function feeds (label "name" is the queue's name). Two more families
// are read with [Queue.Stats].
type Metrics struct {
	// Depth is called when the number of ready keys of a priority changes.
	// workqueue_depth (gauge; sum over priorities).
	Depth func(priority, delta int)

	// Adds is called when a run of a key becomes pending, not for adds that are
	// merged into a pending run. workqueue_adds_total.
	Adds func()

	// Retries is called when a key is added with a delay or a rate limit.
	// workqueue_retries_total.
	Retries func()

	// QueueDuration is called when a key is handed out, with the time since it was
	// added or, for a delayed key, since its deadline.
	// workqueue_queue_duration_seconds.
	QueueDuration func(d time.Duration)

	// WorkDuration is called by Done with the time since Get.
	// workqueue_work_duration_seconds.
	WorkDuration func(d time.Duration)
}

// Stats describe a queue at one moment, for metrics that are collected on scrape
// instead of being updated on each event.
type Stats struct {
	Ready      int // keys Get would hand out now
	Processing int // keys between Get and Done
	Waiting    int // keys with a deadline ahead, including debounced ones

	// OldestReady is how long the next key of a priority has waited, of all
	// priorities the longest. Zero if Options.Order is set or Options.Metrics is not.
	OldestReady time.Duration

	// UnfinishedWork is the sum of the times since Get of the keys in processing:
	// workqueue_unfinished_work_seconds. Zero unless Options.Metrics is set.
	UnfinishedWork time.Duration

	// LongestRunning is the longest of those times:
	// workqueue_longest_running_processor_seconds. Zero unless Options.Metrics
	// is set.
	LongestRunning time.Duration
}

// change is the effect of an add, kept until it can be reported without the lock.
type change struct {
	added    bool // a run became pending
	entered  bool // it is ready, at priority to
	moved    bool // a ready key went from priority from to priority to
	from, to int32
}

// changes are the effects of several adds.
type changes []change

func (all changes) report(m *Metrics) {
	for _, c := range all {
		c.report(m)
	}
}

func (c change) report(m *Metrics) {
	if m == nil {
		return
	}
	if c.added && m.Adds != nil {
		m.Adds()
	}
	if m.Depth == nil {
		return
	}
	if c.moved {
		m.Depth(int(c.from), -1)
	}
	if c.moved || c.entered {
		m.Depth(int(c.to), 1)
	}
}

package workqueue

import "time"

// Metrics is told what a queue does. Each function may be nil. They are called
// outside the queue's lock, so calls of different goroutines may arrive in
// another order than the events: counts are given as differences, which add up
// regardless. The comments name the metric each function feeds when the families
// are to equal those of Kubernetes components (label name is the queue's name).
// Two more families are read, not pushed: see [Queue.Stats].
type Metrics struct {
	// Depth: the number of ready keys of this priority changed by delta.
	// workqueue_depth (gauge; sum over priorities).
	Depth func(priority, delta int)

	// Adds: a run of a key became pending. Adds that were merged into a pending
	// run are not counted. workqueue_adds_total.
	Adds func()

	// Retries: a key was added with a delay or a rate limit.
	// workqueue_retries_total.
	Retries func()

	// QueueDuration: a key was handed out this long after it was added (or, for
	// a delayed key, after its deadline). workqueue_queue_duration_seconds.
	QueueDuration func(d time.Duration)

	// WorkDuration: Done was called this long after Get.
	// workqueue_work_duration_seconds.
	WorkDuration func(d time.Duration)
}

// Stats are facts about a queue at one moment, for metrics that are read when
// somebody asks rather than pushed when something happens.
type Stats struct {
	Ready      int // keys Get would hand out now
	Processing int // keys between Get and Done
	Waiting    int // keys with a deadline ahead, including debounced ones

	// OldestReady is how long the key that will be the next of its priority has
	// waited, of all priorities the longest. Zero if Options.Order is set or
	// Options.Metrics is not.
	OldestReady time.Duration

	// UnfinishedWork is the sum of the time the keys in processing have been
	// there: workqueue_unfinished_work_seconds. Zero unless Options.Metrics is set.
	UnfinishedWork time.Duration

	// LongestRunning is the longest of those times:
	// workqueue_longest_running_processor_seconds. Zero unless Options.Metrics
	// is set.
	LongestRunning time.Duration
}

// change is what an add did, kept until the lock is free and it can be reported.
type change struct {
	added    bool // a run became pending
	entered  bool // it is ready, at priority to
	moved    bool // a ready key went from priority from to priority to
	from, to int32
}

// changes are what several adds did.
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

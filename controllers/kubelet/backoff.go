package kubelet

import (
	"sync"
	"time"
)

// The delays between starts of a container that keeps ending, and between pulls of an image that keep
// failing.
const (
	restartBackoffInitial = 10 * time.Second
	imageBackoffInitial   = 10 * time.Second
	imageBackoffMax       = 5 * time.Minute
)

// backoffs are doubling delays by key. Safe for concurrent use.
type backoffs struct {
	initial, max time.Duration

	mu    sync.Mutex
	byKey map[string]*delay
}

type delay struct {
	length time.Duration
	last   time.Time // when it was lengthened
}

func newBackoffs(initial, max time.Duration) *backoffs {
	return &backoffs{initial: initial, max: max, byKey: map[string]*delay{}}
}

// left is how long to wait if the last attempt ended at end; 0 means go ahead.
func (b *backoffs) left(key string, end time.Time) (left, length time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.byKey[key]
	if d == nil || b.stale(d, end) {
		return 0, 0
	}
	return max(time.Until(end.Add(d.length)), 0), d.length
}

// stale reports that the attempt ended so long after the delay was set that it counts as a success.
func (b *backoffs) stale(d *delay, end time.Time) bool { return end.Sub(d.last) > 2*b.max }

// next lengthens the delay before a new attempt.
func (b *backoffs) next(key string, end time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.byKey[key]
	switch {
	case d == nil:
		b.byKey[key] = &delay{length: b.initial, last: time.Now()}
	case b.stale(d, end):
		d.length, d.last = b.initial, time.Now()
	default:
		d.length, d.last = min(2*d.length, b.max), time.Now()
	}
}

func (b *backoffs) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.byKey, key)
}

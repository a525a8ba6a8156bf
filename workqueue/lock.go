package workqueue

import "sync"

// lock is a mutex for sections of some ten nanoseconds that many goroutines take again and again. Goroutines
// that find it held first take gate, so at most one of them at a time competes with the goroutine that is
// running, and the others sleep. A single competitor that goes to sleep lets the running goroutine do many
// sections with warm caches; with several, a plain sync.Mutex moves between processors at every section, and
// after a millisecond hands itself from sleeper to sleeper. Waiting is bounded as that of sync.Mutex is, once
// for each of the two.
type lock struct{ mu, gate sync.Mutex }

func (l *lock) Lock() {
	if l.mu.TryLock() {
		return
	}
	l.gate.Lock()
	l.mu.Lock()
	l.gate.Unlock()
}

func (l *lock) Unlock() { l.mu.Unlock() }

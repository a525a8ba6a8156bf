package workqueue

import (
	"runtime"
	"sync"
)

// lock is a mutex for sections of some ten nanoseconds. With more goroutines than processors, sync.Mutex puts
// those that find it taken to sleep at once, and when one of them has slept for a millisecond hands itself
// from sleeper to sleeper: each section then costs a switch of goroutines, many times the section itself, for
// as long as the contention lasts. So whoever finds this lock taken looks again for about as long as a few
// sections take, then lets other goroutines run, for the holder may be one that was interrupted, and sleeps
// only after that.
type lock struct{ mu sync.Mutex }

const (
	lockLooks  = 64 // about 100 ns
	lockYields = 16
)

func (l *lock) Lock() {
	if !l.mu.TryLock() {
		l.wait()
	}
}

func (l *lock) Unlock() { l.mu.Unlock() }

func (l *lock) wait() {
	for range lockYields {
		for range lockLooks {
			if l.mu.TryLock() {
				return
			}
		}
		runtime.Gosched()
	}
	l.mu.Lock()
}

package scheduler

import "sync"

// awaited are channels to signal by what they wait for: a claim, a volume or the end of a pod.
type awaited struct {
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
}

func newAwaited() awaited { return awaited{waiting: map[string]map[chan struct{}]bool{}} }

// wake signals those that wait for something.
func (a *awaited) wake(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for ch := range a.waiting[key] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// await lets ch be signalled for the given keys until the returned function is called.
func (a *awaited) await(ch chan struct{}, keys []string) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if a.waiting[key] == nil {
			a.waiting[key] = map[chan struct{}]bool{}
		}
		a.waiting[key][ch] = true
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, key := range keys {
			if delete(a.waiting[key], ch); len(a.waiting[key]) == 0 {
				delete(a.waiting, key)
			}
		}
	}
}

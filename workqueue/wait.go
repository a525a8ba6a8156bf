package workqueue

import "context"

// waiter is a caller of Get that found nothing. It is signalled at most once
// between park and its next look at the queue, always without the lock held.
type waiter struct{ ch chan struct{} }

// park adds the caller to the idle ones.
func (q *Queue[K]) park() *waiter {
	var w *waiter
	if n := len(q.spareWaiters) - 1; n >= 0 {
		w, q.spareWaiters = q.spareWaiters[n], q.spareWaiters[:n]
	} else {
		w = &waiter{ch: make(chan struct{}, 1)}
	}
	q.idle = append(q.idle, w)
	return w
}

// wake chooses an idle caller of Get to signal, if there is work. One at a time
// is enough: the one signalled wakes another if it leaves work behind, and before
// it runs callers that are awake may take the work first, which saves
// putting them to sleep. So if a key is ready and a caller idle, waking is set.
func (q *Queue[K]) wake() *waiter {
	n := len(q.idle) - 1
	if q.waking || n < 0 || q.readyLen() == 0 {
		return nil
	}
	w := q.idle[n]
	q.idle = q.idle[:n]
	q.waking = true
	return w
}

// withdraw withdraws a waiter whose context ended. It is called with the lock held
// and releases it.
func (q *Queue[K]) withdraw(w *waiter) {
	for i, other := range q.idle {
		if other == w {
			q.idle = append(q.idle[:i], q.idle[i+1:]...)
			q.spareWaiters = append(q.spareWaiters, w)
			q.mu.Unlock()
			return
		}
	}
	// It was signalled meanwhile: pass the signal on.
	q.waking = false
	next := q.wake()
	q.mu.Unlock()
	next.signal()
	<-w.ch
	q.mu.Lock()
	q.spareWaiters = append(q.spareWaiters, w)
	q.mu.Unlock()
}

// wait returns true when signalled and false when ctx ends.
func (w *waiter) wait(ctx context.Context) bool {
	select {
	case <-w.ch:
		return true
	case <-ctx.Done():
		return false
	}
}

// signal of a nil waiter does nothing. The channel has room for the one signal.
func (w *waiter) signal() {
	if w != nil {
		w.ch <- struct{}{}
	}
}

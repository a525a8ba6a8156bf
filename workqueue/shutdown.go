package workqueue

import "context"

// ShutDown makes the queue ignore all later adds and drops the keys whose deadline
// is ahead. Keys that are ready, or become so because they were added while
// in processing, are still handed out; then Get returns ErrShutDown. It does not
// wait for workers, and makes a ShutDownWithDrain in progress return. When it
// returns the queue owns no timer and no goroutine.
func (q *Queue[K]) ShutDown() {
	q.mu.Lock()
	q.state = shutDown
	drained := q.drained
	q.drained = nil
	fired := q.close()
	q.mu.Unlock()
	if drained != nil {
		close(drained)
	}
	if fired != nil {
		<-fired
	}
}

// ShutDownWithDrain is ShutDown, and then waits until every ready key was handed
// out and Done was called for every key in processing. If ctx ends first it
// returns context.Cause(ctx), and the queue is shut down nevertheless. It
// returns nil if ShutDown is called meanwhile.
func (q *Queue[K]) ShutDownWithDrain(ctx context.Context) error {
	q.mu.Lock()
	if q.state == running {
		q.state = draining
	}
	if q.state == draining && q.drained == nil && q.readyLen()+q.working > 0 {
		q.drained = make(chan struct{})
	}
	drained := q.drained
	fired := q.close()
	q.mu.Unlock()
	if fired != nil {
		<-fired
	}
	if drained == nil {
		return nil
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close stops the timer and wakes all waiters. It is called with the lock held,
// which it releases temporarily. If the timer's function is running it
// returns a channel that is closed when that has ended.
func (q *Queue[K]) close() (fired chan struct{}) {
	if q.timer != nil && q.timer.Stop() {
		q.fires--
	}
	if q.fires > 0 && q.fired == nil {
		q.fired = make(chan struct{})
	}
	fired = q.fired
	for _, item := range q.delayed {
		e := item.e
		e.heapIndex, e.waitAt, e.bounceAt = -1, 0, 0
		if !e.ready && !e.processing {
			q.entries.drop(e)
		}
	}
	q.delayed = nil
	idle := q.idle
	q.idle = nil
	q.mu.Unlock()
	for _, w := range idle {
		w.signal()
	}
	q.mu.Lock()
	return fired
}

// takeDrained returns the channel to close if the queue has just become empty.
func (q *Queue[K]) takeDrained() chan struct{} {
	if q.drained == nil || q.working > 0 || q.readyLen() > 0 {
		return nil
	}
	drained := q.drained
	q.drained = nil
	return drained
}

package controller

import "github.com/keelson-dev/keelson/workqueue"

// QueueView reads the work queue of a controller whatever the type of its keys. The functions may be called
// concurrently.
type QueueView struct {
	Stats   func() workqueue.Stats
	Entries func() []workqueue.Entry[any]
}

// QueueView returns the view of the controller's work queue.
func (c *Controller[K]) QueueView() QueueView {
	return QueueView{Stats: c.queue.Stats, Entries: func() []workqueue.Entry[any] { return entries(c.queue) }}
}

// entries are those of a queue, whatever the type of its keys.
func entries[K comparable](q *workqueue.Queue[K]) []workqueue.Entry[any] {
	of := q.Entries()
	out := make([]workqueue.Entry[any], len(of))
	for i, e := range of {
		out[i] = workqueue.Entry[any]{
			Key: e.Key, State: e.State, Priority: e.Priority, Tenant: e.Tenant, Cause: e.Cause,
			Age: e.Age, Delay: e.Delay, Again: e.Again, Requeues: e.Requeues,
		}
	}
	return out
}

package cache

// Delivered reports whether the cache has reached revision and deliver of every open watch has returned with
// all events up to there. It asks nobody: after a write elsewhere a quiet cache reaches the store's revision
// only when somebody asks the store for Progress. It is for those who must know that a server has nothing
// left to say, such as tests; it visits every watch.
func (c *Cache) Delivered(revision int64) bool {
	c.mu.Lock()
	routed := c.routed
	c.mu.Unlock()
	return routed >= revision && c.routes.idle()
}

// idle reports whether no watch has anything to deliver.
func (r *routes) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, group := range r.groups {
		for _, w := range group {
			// In this order: a watch is busy before it takes what is pending.
			if w.pending.Load() != 0 || w.busy.Load() {
				return false
			}
		}
	}
	return true
}

package cache

// Delivered reports whether the cache has reached revision and deliver of every open watch has returned with
// all events up to it. It does not read the store: a cache of keys that do not change reaches the revision of
// a write elsewhere only when something calls Progress of the store. It is for callers that must know that a
// server has nothing left to deliver, such as tests; it visits every watch.
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
			// In this order: a watch is busy before it reads what is pending.
			if w.pending.Load() != 0 || w.busy.Load() {
				return false
			}
		}
	}
	return true
}

package cache

// SnapshotAt reads the event log only, which At does first.
func (c *Cache) SnapshotAt(revision int64) (*Snapshot, error) { return c.snapshotAt(revision) }

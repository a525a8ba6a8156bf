package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/store"
)

// Check is the outcome of one comparison of the cache with the store.
type Check string

// The values are those of Kubernetes' metric of the same comparison.
const (
	CheckSucceeded Check = "success" // the cache was equal to the store at the same revision
	CheckFailed    Check = "failure" // it was not
	CheckError     Check = "error"   // the store could not be read
)

// A comparison reads keys in pages of checkPage keys and pauses after each for checkRest times as long as the
// page took, at most maxRest, so that it is a small part of the load of a store.
const (
	checkPage = 1000
	checkRest = 9
	maxRest   = time.Second
)

var errInconsistent = errors.New("cache: inconsistent with the store")

// inconsistency is the first difference between the cache and the store.
type inconsistency struct {
	revision       int64 // compared at
	key            string
	cached, stored int64 // revisions of the key; zero: absent
}

func (e *inconsistency) Error() string {
	if e.key == "" {
		return fmt.Sprintf("the cache is at revision %d, which the store has not reached", e.revision)
	}
	return fmt.Sprintf("at revision %d, %q has revision %d in the cache and %d in the store", e.revision, e.key, e.cached, e.stored)
}

// span is the revisions between two, exclusive of both.
type span struct{ after, before int64 }

func (s span) has(revision int64) bool { return revision > s.after && revision < s.before }

// check compares the cache with the store about every Options.CheckEvery until ctx ends.
func (c *Cache) check(ctx context.Context) {
	every := c.opts.CheckEvery
	if every < 0 {
		return
	}
	for {
		// Spread, so that the caches of a server take turns.
		timer := time.NewTimer(every + backoff.Spread(ctx, every/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		snap := c.fresh(ctx)
		err := c.compare(ctx, snap)
		if ctx.Err() != nil {
			return
		}
		outcome := CheckError
		if wrong, ok := errors.AsType[*inconsistency](err); ok {
			outcome = CheckFailed
			c.opts.Logger.Error("watch cache is inconsistent with the store and is filled again", "prefix", c.prefix, "err", wrong)
			c.markInconsistent(snap)
		} else if err != nil {
			c.opts.Logger.Warn("comparison of watch cache with store failed", "prefix", c.prefix, "err", err)
		} else {
			outcome = CheckSucceeded
			c.mu.Lock()
			if snap.epoch == c.epoch {
				c.lastVerified = max(c.lastVerified, snap.revision)
			}
			c.mu.Unlock()
		}
		if hook := c.opts.Metrics.Checked; hook != nil {
			hook(outcome)
		}
	}
}

// fresh returns a state whose revision the store still has: a cache of keys that rarely change may have been
// at an old revision for long.
func (c *Cache) fresh(ctx context.Context) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.store.Capabilities().Progress {
		if revision, err := c.storeRevision(ctx); err == nil {
			_, _ = c.Wait(ctx, revision) // on error the current snapshot is compared, if it can be
		}
	}
	return c.snapshot.Load()
}

// compare returns the first difference between a state of the cache and what the store held at its revision,
// an *inconsistency.
func (c *Cache) compare(ctx context.Context, snap *Snapshot) error {
	opts := store.ListOptions{Limit: checkPage, Revision: snap.revision, KeysOnly: true}
	for {
		start := time.Now()
		page, err := c.store.List(ctx, c.prefix, opts)
		if _, future := errors.AsType[*store.FutureRevisionError](err); future {
			// The store no longer has what the cache saw: it was restored from a backup.
			return &inconsistency{revision: snap.revision}
		}
		if err != nil {
			return err
		}
		if err := c.comparePage(snap, opts.After, page); err != nil || !page.More {
			return err
		}
		opts.After = page.Items[len(page.Items)-1].Key
		if rest := min(checkRest*time.Since(start), maxRest); rest > 0 && !jitteredSleep(ctx, rest) {
			return ctx.Err()
		}
	}
}

func (c *Cache) comparePage(snap *Snapshot, after string, page store.ListResult) error {
	wrong := func(key string, cached, stored int64) error {
		return &inconsistency{revision: snap.revision, key: key, cached: cached, stored: stored}
	}
	items := page.Items
	for o := range snap.Range(c.prefix, after) {
		switch {
		case len(items) == 0 && page.More:
			return nil
		case len(items) == 0 || o.Key < items[0].Key:
			return wrong(o.Key, o.Revision, 0)
		case o.Key > items[0].Key:
			return wrong(items[0].Key, 0, items[0].Revision)
		case o.Revision != items[0].Revision:
			return wrong(o.Key, o.Revision, items[0].Revision)
		}
		items = items[1:]
	}
	if len(items) > 0 {
		return wrong(items[0].Key, 0, items[0].Revision)
	}
	return nil
}

// markInconsistent makes reads go to the store and the cache be filled again, unless it has been filled since
// snap was current. It reports whether the cache was consistent before.
func (c *Cache) markInconsistent(snap *Snapshot) bool {
	c.mu.Lock()
	if snap.epoch != c.epoch {
		c.mu.Unlock()
		return false
	}
	c.highest = max(c.highest, c.latest().revision)
	first := !c.inconsistent.Swap(true)
	c.past.Store(nil) // it may have been made from an inconsistent state
	refill := c.refill
	c.mu.Unlock()
	if refill != nil {
		refill()
	}
	return first
}

// markConsistent records that the state at revision has just been listed. Called with mu held.
func (c *Cache) markConsistent(revision int64) {
	if c.inconsistent.Swap(false) {
		if c.suspect == (span{}) {
			c.suspect.after = c.lastVerified
		}
		if revision < c.highest { // restored from a backup, of which revision is not known
			c.suspect.after = 0
		}
		c.suspect.before = revision
	}
	c.lastVerified = revision
}

// Inconsistent reports whether the last comparison with the store failed and the cache has not been filled
// again yet.
func (c *Cache) Inconsistent() bool { return c.inconsistent.Load() }

// isSuspect reports whether a client that has the state at revision may have a wrong one, and must list
// again.
func (c *Cache) isSuspect(revision int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.suspect.has(revision) || c.lost(revision)
}

// lost reports whether only the store before a restore from a backup had a revision. Called with mu held.
func (c *Cache) lost(revision int64) bool {
	return revision > c.snapshot.Load().revision && revision <= c.highest
}

// setRefill sets how the cache is filled again; nil while it is being filled.
func (c *Cache) setRefill(refill func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refill = refill
}

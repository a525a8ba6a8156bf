package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/keelson-dev/keelson/store"
)

// Check is the outcome of one comparison of the cache with the store.
type Check string

// The outcomes, in the words of Kubernetes' metric.
const (
	CheckSucceeded Check = "success" // the cache was what the store held at the same revision
	CheckFailed    Check = "failure" // it was not
	CheckError     Check = "error"   // the store could not be read
)

// A comparison reads keys in pages of checkPage, and rests checkRest times as long as a page took, at most
// maxRest, so that it is never more than a small part of the work of a store.
const (
	checkPage = 1000
	checkRest = 9
	maxRest   = time.Second
)

var errInconsistent = errors.New("cache: the cache is not what the store holds")

// inconsistency is the first difference between the cache and the store.
type inconsistency struct {
	revision       int64 // compared at
	key            string
	cached, stored int64 // revisions of the key; zero: not there
}

func (e *inconsistency) Error() string {
	if e.key == "" {
		return fmt.Sprintf("the cache is at revision %d, which the store has not reached", e.revision)
	}
	return fmt.Sprintf("at revision %d, %q is of revision %d in the cache and of %d in the store", e.revision, e.key, e.cached, e.stored)
}

// span is the revisions between two, both excluded.
type span struct{ after, before int64 }

func (s span) has(revision int64) bool { return revision > s.after && revision < s.before }

// check compares the cache with the store again and again until ctx ends.
func (c *Cache) check(ctx context.Context) {
	every := c.options.CheckEvery
	if every < 0 {
		return
	}
	for {
		timer := time.NewTimer(every + rand.N(every/2+1)) // so that the caches of a server take turns
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
			c.options.Logger.Error("watch cache is inconsistent with the store and is filled again", "prefix", c.prefix, "err", wrong)
			c.distrust(snap)
		} else if err != nil {
			c.options.Logger.Warn("watch cache could not be compared with the store", "prefix", c.prefix, "err", err)
		} else {
			outcome = CheckSucceeded
			c.mu.Lock()
			if snap.epoch == c.epoch {
				c.sound = max(c.sound, snap.revision)
			}
			c.mu.Unlock()
		}
		if hook := c.options.Metrics.Checked; hook != nil {
			hook(outcome)
		}
	}
}

// fresh returns a state that the store still knows: where nothing happens a cache may have been at an old
// revision for long.
func (c *Cache) fresh(ctx context.Context) *Snapshot {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.store.Capabilities().Progress {
		if revision, err := c.store.Progress(ctx, c.prefix); err == nil {
			_, _ = c.Wait(ctx, revision) // else what there is is compared, if it can be
		}
	}
	return c.snapshot.Load()
}

// compare returns the first difference between a state of the cache and what the store held at its revision,
// an *inconsistency.
func (c *Cache) compare(ctx context.Context, snap *Snapshot) error {
	o := store.ListOptions{Limit: checkPage, Revision: snap.revision, KeysOnly: true}
	for {
		began := time.Now()
		page, err := c.store.List(ctx, c.prefix, o)
		if _, future := errors.AsType[*store.FutureRevisionError](err); future {
			// What has been seen is not there any more: the store is an older backup of itself.
			return &inconsistency{revision: snap.revision}
		}
		if err != nil {
			return err
		}
		if err := c.comparePage(snap, o.After, page); err != nil || !page.More {
			return err
		}
		o.After = page.Items[len(page.Items)-1].Key
		if rest := min(checkRest*time.Since(began), maxRest); rest > 0 && !pause(ctx, rest) {
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

// distrust has reads go to the store and the cache filled again, unless that has happened since snap.
func (c *Cache) distrust(snap *Snapshot) {
	c.mu.Lock()
	refill := c.refill
	if snap.epoch == c.epoch {
		c.doubted.Store(true)
		c.past.Store(nil) // it may have been made with what is wrong
	} else {
		refill = nil
	}
	c.mu.Unlock()
	if refill != nil {
		refill()
	}
}

// trust says that the state is right again, because the store has just been listed. Called with mu held.
func (c *Cache) trust(revision int64) {
	if c.doubted.Swap(false) {
		if c.missed == (span{}) {
			c.missed.after = c.sound
		}
		c.missed.before = revision
	}
	c.sound = revision
}

// Doubted reports whether the cache has been found wrong and not been filled again yet.
func (c *Cache) Doubted() bool { return c.doubted.Load() }

// hasMissed reports whether a client that knows the state at revision may know a wrong one, and must list
// again.
func (c *Cache) hasMissed(revision int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missed.has(revision)
}

// setRefill says how the cache is filled again.
func (c *Cache) setRefill(refill func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refill = refill
}

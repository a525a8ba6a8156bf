package memory

import (
	"slices"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/ordered"
)

// checkpointEvery is how many commits apart the log keeps the whole (shared) state, and so the most commits
// that reading an old revision undoes.
const checkpointEvery = 64

// commit is one revision's events: immutable once in the log.
type commit struct {
	revision int64
	events   []store.Event // Prev always set
	bytes    int
	after    *ordered.Map[*store.KV] // the state after it, in every checkpointEvery-th commit
}

// log holds the latest commits. Revisions are consecutive, so a commit's index follows from its revision.
type log struct {
	floor   int64     // commits up to floor have been dropped
	commits []*commit // commits[i].revision == floor+1+i
	events  int
	bytes   int
}

// add appends a commit and drops old ones beyond the bounds.
func (l *log) add(c *commit, after ordered.Map[*store.KV], opts Options) {
	for _, e := range c.events {
		c.bytes += len(e.KV.Key) + len(e.KV.Value)
	}
	if c.revision%checkpointEvery == 0 {
		c.after = &after
	}
	l.commits = append(l.commits, c)
	l.events += len(c.events)
	l.bytes += c.bytes
	drop := l.floor
	for events, bytes := l.events, l.bytes; drop < c.revision-1 && (events > opts.LogEvents || bytes > opts.LogBytes); drop++ {
		old := l.commits[drop-l.floor]
		events -= len(old.events)
		bytes -= old.bytes
	}
	l.dropTo(drop)
}

// dropTo drops the commits up to floor.
func (l *log) dropTo(floor int64) {
	n := int(floor - l.floor)
	if n <= 0 {
		return
	}
	for i, c := range l.commits[:n] {
		l.events -= len(c.events)
		l.bytes -= c.bytes
		l.commits[i] = nil // append moves the rest to a new array at times
	}
	l.commits = l.commits[n:]
	l.floor = floor
}

// from returns up to limit commits, the first of the given revision, which must be above floor.
func (l *log) from(revision int64, limit int) []*commit {
	first := int(revision - l.floor - 1)
	if first >= len(l.commits) {
		return nil
	}
	return slices.Clone(l.commits[first:min(len(l.commits), first+limit)])
}

// since returns a state not before revision and the commits to undo from it to get there.
func (l *log) since(revision int64, current ordered.Map[*store.KV]) (ordered.Map[*store.KV], []*commit) {
	newer := l.commits[revision-l.floor:]
	for i, c := range newer {
		if c.after != nil {
			return *c.after, slices.Clone(newer[:i+1])
		}
	}
	return current, slices.Clone(newer)
}

// undoCommits undoes commits, the last one first.
func undoCommits(items ordered.Map[*store.KV], undo []*commit) ordered.Map[*store.KV] {
	edit := items.Edit()
	for _, c := range slices.Backward(undo) {
		for _, e := range c.events {
			if e.Prev == nil {
				edit.Delete(e.KV.Key)
			} else {
				edit.Set(e.KV.Key, e.Prev)
			}
		}
	}
	return edit.Map()
}

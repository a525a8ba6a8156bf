package memory

import (
	"context"
	"strings"

	"github.com/keelson-dev/keelson/store"
)

// chunk is the number of commits a watch takes from the log at a time.
const chunk = 256

// watcher is one call of Watch. It has no buffer: pending is its place in the log, set by
// the commit that first concerns it, so a watch whose keys are quiet costs nothing and
// does not expire however much else is written.
type watcher struct {
	prefix string
	wake   chan struct{}

	// Guarded by Store.mu.
	after    int64 // everything up to here has been taken or is not wanted
	pending  int64 // first commit that may hold something to take; zero: none
	reported int64 // revision of the last batch
	progress bool  // an (empty) batch has been asked for
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, prefix string, from int64, o store.WatchOptions, deliver func(store.Batch) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	from = max(from, s.origin)
	w := &watcher{prefix: prefix, wake: make(chan struct{}, 1), after: from, reported: from}
	s.register(w)
	defer s.unregister(w)
	for {
		if err := s.check(ctx); err != nil {
			return err
		}
		batch, taken, err := s.take(w)
		if err != nil {
			return err
		}
		if batch.Revision > 0 {
			if err := deliver(batch); err != nil {
				return err
			}
		}
		if taken {
			continue
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		case <-s.done:
		}
	}
}

func (s *Store) register(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.after < s.state.Load().revision {
		// It reports when it has caught up, for who called Progress before it was open asks nobody again.
		w.pending, w.progress = w.after+1, true
	}
	group := s.watchers[w.prefix]
	if group == nil {
		group = map[*watcher]struct{}{}
		s.watchers[w.prefix] = group
	}
	group[w] = struct{}{}
}

func (s *Store) unregister(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers[w.prefix], w)
	if len(s.watchers[w.prefix]) == 0 {
		delete(s.watchers, w.prefix)
	}
}

// take returns the next batch of a watch, with revision zero if there is nothing to
// deliver, and whether it took anything from the log.
func (s *Store) take(w *watcher) (store.Batch, bool, error) {
	s.mu.Lock()
	upTo := s.state.Load().revision
	var commits []*commit
	if w.pending != 0 {
		if w.pending <= s.log.floor {
			err := &store.ExpiredError{Compacted: s.log.floor}
			s.mu.Unlock()
			return store.Batch{}, false, err
		}
		commits = s.log.from(w.pending, chunk)
		last := commits[len(commits)-1].revision
		w.pending = 0
		if last < upTo {
			w.pending, upTo = last+1, last
		}
	}
	report := w.progress && w.pending == 0 && upTo >= w.after
	if w.pending == 0 {
		w.progress = false
	}
	w.after = max(w.after, upTo)
	s.mu.Unlock()

	events := w.filter(commits)
	if len(events) == 0 && !report {
		return store.Batch{}, len(commits) > 0, nil
	}
	s.mu.Lock()
	w.reported = upTo
	s.mu.Unlock()
	return store.Batch{Revision: upTo, Events: events}, true, nil
}

// filter returns the events under the watch's prefix. A commit whose events all are, and
// that comes alone, is shared and not copied.
func (w *watcher) filter(commits []*commit) []store.Event {
	var out []store.Event
	shared := false
	for _, c := range commits {
		n := c.matching(w.prefix)
		if n == 0 {
			continue
		}
		if out == nil && n == len(c.events) {
			out, shared = c.events, true
			continue
		}
		if shared {
			out, shared = append(make([]store.Event, 0, 2*len(out)+n), out...), false
		}
		for _, e := range c.events {
			if strings.HasPrefix(e.KV.Key, w.prefix) {
				out = append(out, e)
			}
		}
	}
	return out
}

// matching counts the events under prefix.
func (c *commit) matching(prefix string) int {
	n := 0
	for i := range c.events {
		if strings.HasPrefix(c.events[i].KV.Key, prefix) {
			n++
		}
	}
	return n
}

// notice records that a commit has events under the watch's prefix and reports whether the watch must be
// woken. Called with Store.mu held.
func (w *watcher) notice(c *commit) bool {
	if w.pending != 0 || c.revision <= w.after {
		return false
	}
	w.pending = c.revision
	return true
}

func wake(ws []*watcher) {
	for _, w := range ws {
		poke(w.wake)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

package memory

import (
	"context"
	"strings"

	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/internal/wake"
)

// maxCommits is the number of commits that a watch reads from the log at a time.
const maxCommits = 256

// logReader is one call of Watch. It has no buffer: pending is its place in the log, set by the first unread
// commit that concerns it, so a watch whose keys do not change costs nothing and does not expire however much
// else is written.
type logReader struct {
	prefix string
	wake   wake.Signal

	// Guarded by Store.mu.
	after    int64 // everything up to here has been read or is before the watch
	pending  int64 // first unread commit that may concern the watch; zero: none
	reported int64 // revision of the last batch
	report   bool  // a batch, empty if need be, has been requested
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, prefix string, from int64, opts store.WatchOptions, deliver func(store.Batch) error) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	from = max(from, s.origin)
	r := &logReader{prefix: prefix, wake: wake.New(), after: from, reported: from}
	s.register(r)
	defer s.unregister(r)
	for {
		if err := s.check(ctx); err != nil {
			return err
		}
		batch, read, err := s.nextBatch(r)
		if err != nil {
			return err
		}
		if batch.Revision > 0 {
			if err := deliver(batch); err != nil {
				return err
			}
		}
		if read {
			continue
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		case <-s.done:
		}
	}
}

func (s *Store) register(r *logReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.after < s.state.Load().revision {
		// It reports when it has caught up: a caller of Progress from before the watch opened does not repeat
		// the request.
		r.pending, r.report = r.after+1, true
	}
	group := s.readers[r.prefix]
	if group == nil {
		group = map[*logReader]struct{}{}
		s.readers[r.prefix] = group
	}
	group[r] = struct{}{}
}

func (s *Store) unregister(r *logReader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers[r.prefix], r)
	if len(s.readers[r.prefix]) == 0 {
		delete(s.readers, r.prefix)
	}
}

// nextBatch returns the next batch of a watch, with revision zero if there is nothing to deliver, and whether
// it read anything from the log.
func (s *Store) nextBatch(r *logReader) (batch store.Batch, read bool, err error) {
	s.mu.Lock()
	upTo := s.state.Load().revision
	var commits []*commit
	if r.pending != 0 {
		if r.pending <= s.log.floor {
			err := &store.ExpiredError{Compacted: s.log.floor}
			s.mu.Unlock()
			return store.Batch{}, false, err
		}
		commits = s.log.from(r.pending, maxCommits)
		last := commits[len(commits)-1].revision
		r.pending = 0
		if last < upTo {
			r.pending, upTo = last+1, last
		}
	}
	report := r.report && r.pending == 0 && upTo >= r.after
	if r.pending == 0 {
		r.report = false
	}
	r.after = max(r.after, upTo)
	s.mu.Unlock()

	events := r.filter(commits)
	if len(events) == 0 && !report {
		return store.Batch{}, len(commits) > 0, nil
	}
	s.mu.Lock()
	r.reported = upTo
	s.mu.Unlock()
	return store.Batch{Revision: upTo, Events: events}, true, nil
}

// filter returns the events under the watch's prefix. The events of a single commit are shared, and not
// copied, if all of them are under it.
func (r *logReader) filter(commits []*commit) []store.Event {
	var out []store.Event
	shared := false
	for _, c := range commits {
		n := c.matching(r.prefix)
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
			if strings.HasPrefix(e.KV.Key, r.prefix) {
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
func (r *logReader) notice(c *commit) bool {
	if r.pending != 0 || c.revision <= r.after {
		return false
	}
	r.pending = c.revision
	return true
}

func wakeAll(rs []*logReader) {
	for _, r := range rs {
		r.wake.Set()
	}
}

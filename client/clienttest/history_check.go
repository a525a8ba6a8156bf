package clienttest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// call is one call of a client.
type call struct {
	verb     string // get, create, update, delete
	key      string
	value    string // that a create or update writes; no two writes share one
	expected int64  // the revision an update or delete insists on; 0: none

	ordered bool         // events are known
	events  []watchEvent // of the key, all of them
}

// reply is its reply.
type reply struct {
	item
	reason  metav1.StatusReason // of a refusal that the state explains
	failed  bool                // no reply, or one that does not say what happened
	refused bool                // with failed: it is known that nothing happened
}

// keyState is the state of one key in the model.
type keyState struct {
	exists bool
	value  string
	// revision is that of the last write, 0 while no reply has contained it.
	revision int64
	// floor is a revision that the last write must be above.
	floor int64
	// events is how many events of the key have happened. Where the events are known, it is the whole state.
	events int
}

// register is the porcupine model of one key of the API: the possible replies of a kube-apiserver to each
// call.
var register = (&porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(call).key
			byKey[key] = append(byKey[key], op)
		}
		return slices.Collect(maps.Values(byKey))
	},
	Init: func() []any { return []any{keyState{}} },
	Step: func(state, in, out any) []any {
		var next []any
		for _, s := range step(state.(keyState), in.(call), out.(reply)) {
			next = append(next, s)
		}
		return next
	},
	DescribeOperation: func(in, out any) string {
		c := in.(call)
		return fmt.Sprintf("%s %s %q expected=%d -> %+v", c.verb, c.key, c.value, c.expected, out)
	},
}).ToModel()

// step returns the possible states of the key after the call, none if the reply is impossible.
func step(s keyState, in call, out reply) []keyState {
	if in.ordered {
		var possible []keyState
		for _, n := range follow(s.events, in, out) {
			possible = append(possible, keyState{events: n})
		}
		return possible
	}
	written := keyState{exists: true, value: in.value, revision: out.revision, floor: max(s.floor, s.revision)}
	gone := keyState{floor: max(s.floor, s.revision)}
	if out.failed {
		// It may have taken effect, at a revision that no reply contains.
		possible := []keyState{s}
		known, fits := s.atRevision(in.expected)
		switch {
		case in.verb == "create" && !s.exists:
			possible = append(possible, written)
		case in.verb == "update" && s.exists && fits:
			written.floor = known.revision
			possible = append(possible, written)
		case in.verb == "delete" && s.exists && (in.expected == 0 || fits):
			possible = append(possible, gone)
		}
		return possible
	}
	switch out.reason {
	case metav1.StatusReasonNotFound:
		return statesIf(!s.exists && in.verb != "create", s)
	case metav1.StatusReasonAlreadyExists:
		return statesIf(s.exists && in.verb == "create", s)
	case metav1.StatusReasonConflict:
		return statesIf(s.exists && in.expected != 0 && s.revision != in.expected, s)
	}
	known, fits := s.atRevision(in.expected)
	switch in.verb {
	case "get":
		known, fits = s.atRevision(out.revision)
		return statesIf(s.exists && fits && s.value == out.value, known)
	case "create":
		return statesIf(!s.exists && out.revision > written.floor && out.value == in.value, written)
	case "update":
		return statesIf(s.exists && fits && out.revision > known.revision && out.value == in.value, written)
	default: // delete
		return statesIf(s.exists && (in.expected == 0 || fits), gone)
	}
}

// atRevision returns the state with its revision known to be r, and whether that is possible.
func (s keyState) atRevision(r int64) (keyState, bool) {
	if s.revision != 0 {
		return s, s.revision == r
	}
	fits := r > s.floor
	s.revision = r
	return s, fits
}

func statesIf(possible bool, s keyState) []keyState {
	if !possible {
		return nil
	}
	return []keyState{s}
}

// Check returns everything in the history that a correct API cannot have replied:
//
//   - calls on one key for which no order explains the replies (linearizability): a stale read, a stale
//     update accepted, a write acknowledged and lost;
//   - watch streams that are out of order, miss an event that another watcher or an acknowledged write
//     proves, have one twice, or disagree with each other;
//   - lists that show no single revision.
func (h *History) Check() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	log, err := h.mergeEvents()
	wrong := []error{err}
	all := h.explained(log)
	for _, calls := range register.Partition(all) {
		switch porcupine.CheckOperationsTimeout(register, calls, time.Minute) {
		case porcupine.Ok:
		case porcupine.Unknown:
			wrong = append(wrong, fmt.Errorf("no order of the %d calls on one key was found in a minute", len(calls)))
		default:
			wrong = append(wrong, fmt.Errorf("no order explains the replies, not linearizable:\n%s", describeFailure(calls)))
		}
	}
	for i, s := range h.streams {
		wrong = append(wrong, named(fmt.Sprintf("watch stream %d from revision %d", i, s.from.revision), s.check(log)))
	}
	wrong = append(wrong, h.checkAcknowledged(all, log), h.checkListings(log))
	return errors.Join(wrong...)
}

// describeFailure describes the last calls of the shortest beginning of a history that no order explains.
func describeFailure(calls []porcupine.Operation) string {
	var ends []int64
	for _, op := range calls {
		ends = append(ends, op.Return)
	}
	slices.Sort(ends)
	shortest := sort.Search(len(ends), func(i int) bool {
		return porcupine.CheckOperationsTimeout(register, truncate(calls, ends[i]), time.Minute) != porcupine.Ok
	})
	if shortest == len(ends) {
		return "(only the whole history)"
	}
	shown := truncate(calls, ends[shortest])
	slices.SortFunc(shown, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range shown[max(0, len(shown)-shownCalls):] {
		fmt.Fprintf(&b, "  %d to %d, client %d: %s\n", op.Call, op.Return, op.ClientId, register.DescribeOperation(op.Input, op.Output))
	}
	return b.String()
}

// shownCalls is the number of calls an explanation shows.
const shownCalls = 25

// truncate returns the history up to a time: calls that had not returned have an unknown outcome, and
// reads among them are omitted.
func truncate(calls []porcupine.Operation, at int64) []porcupine.Operation {
	var known []porcupine.Operation
	for _, op := range calls {
		if op.Return > at {
			if op.Call > at || op.Input.(call).verb == "get" {
				continue
			}
			op.Output, op.Return = reply{failed: true}, 1<<62
		}
		known = append(known, op)
	}
	return known
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// mergeEvents returns the events of all watchers, by revision.
func (h *History) mergeEvents() (map[int64]watchEvent, error) {
	log := map[int64]watchEvent{}
	var wrong []error
	for _, s := range h.streams {
		for _, e := range s.events {
			if other, ok := log[e.revision]; ok && other != e {
				wrong = append(wrong, fmt.Errorf("watchers disagree: %+v and %+v", other, e))
			}
			log[e.revision] = e
		}
	}
	return log, errors.Join(wrong...)
}

// check compares one stream with the events of all others.
func (s *watchStream) check(log map[int64]watchEvent) error {
	state := maps.Clone(s.from.items)
	last := s.from.revision
	var wrong []error
	has := map[int64]bool{}
	for _, e := range s.events {
		if e.revision <= last {
			wrong = append(wrong, fmt.Errorf("revision %d after %d: %+v", e.revision, last, e))
		}
		last = e.revision
		has[e.revision] = true
		if _, exists := state[e.key]; exists == (e.kind == client.Added) {
			wrong = append(wrong, fmt.Errorf("%+v while the object's existence was %v", e, exists))
		}
		apply(state, e)
	}
	for _, r := range slices.Sorted(maps.Keys(log)) {
		if r > s.from.revision && r <= s.seen && !has[r] {
			wrong = append(wrong, fmt.Errorf("missed %+v", log[r]))
		}
	}
	return errors.Join(wrong...)
}

func apply(state map[string]item, e watchEvent) {
	if e.kind == client.Deleted {
		delete(state, e.key)
		return
	}
	state[e.key] = item{e.revision, e.value}
}

// checkAcknowledged checks that the watchers received every write whose revision a reply or a read contained.
func (h *History) checkAcknowledged(calls []porcupine.Operation, log map[int64]watchEvent) error {
	var wrong []error
	for _, op := range calls {
		in, out := op.Input.(call), op.Output.(reply)
		if out.revision == 0 || in.verb == "get" || in.verb == "delete" {
			continue
		}
		want := watchEvent{out.revision, client.Modified, in.key, in.value}
		if in.verb == "create" {
			want.kind = client.Added
		}
		if e, ok := log[out.revision]; ok && e != want || !ok && h.covers(out.revision) {
			wrong = append(wrong, fmt.Errorf("acknowledged %+v, but the watchers saw %+v", want, e))
		}
	}
	return errors.Join(wrong...)
}

// covers reports whether a stream covers the revision.
func (h *History) covers(r int64) bool {
	return slices.ContainsFunc(h.streams, func(s *watchStream) bool { return s.from.revision < r && r <= s.seen })
}

// checkListings replays the log and compares every list with the state at its revision, as far as the
// watchers saw everything.
func (h *History) checkListings(log map[int64]watchEvent) error {
	all := slices.Clone(h.listings)
	for _, s := range h.streams {
		all = append(all, s.from)
	}
	if len(h.streams) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b listing) int { return int(a.revision - b.revision) })
	first, known := h.covered()
	state, at := maps.Clone(first.from.items), first.from.revision
	revisions := slices.Sorted(maps.Keys(log))
	var wrong []error
	for _, l := range all {
		if l.revision < at || l.revision > known {
			continue
		}
		for len(revisions) > 0 && revisions[0] <= l.revision {
			if revisions[0] > at {
				apply(state, log[revisions[0]])
			}
			revisions = revisions[1:]
		}
		if !maps.Equal(state, l.items) {
			wrong = append(wrong, fmt.Errorf("the list at revision %d has %v, the events up to there make %v", l.revision, l.items, state))
		}
	}
	return errors.Join(wrong...)
}

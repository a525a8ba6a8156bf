package clienttest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
)

// explained returns the calls with the events of their keys, which fix the order of all writes, and the
// outcomes of writes without a reply as far as anything shows them: the revision of one that took effect, and
// without those that took none. Where the watchers did not receive every event, these are the calls as they
// were recorded. Without the events, each write without a reply doubles the orders to try. log is that of
// mergeEvents.
func (h *History) explained(log map[int64]watchEvent) []porcupine.Operation {
	revisions := h.revisions(log)
	if !h.complete(revisions) {
		return h.calls
	}
	events := map[string][]watchEvent{}
	for _, r := range slices.Sorted(maps.Keys(log)) {
		events[log[r].key] = append(events[log[r].key], log[r])
	}
	deletions := unexplained(h.calls, log)
	var calls []porcupine.Operation
	for _, op := range h.calls {
		in, out := op.Input.(call), op.Output.(reply)
		if out.failed && in.verb == "delete" {
			if deletions[in.key] <= 0 {
				continue
			}
		} else if out.failed {
			r, effective := revisions[written{in.key, in.value}]
			if !effective {
				continue
			}
			op.Output = reply{item: item{r, in.value}}
		}
		in.events, in.ordered = events[in.key], true
		op.Input = in
		calls = append(calls, op)
	}
	return calls
}

// follow returns how many events of the key may have happened after a call, given how many had before it:
// nothing if the reply is impossible.
func follow(before int, in call, out reply) []int {
	var now watchEvent
	if before > 0 {
		now = in.events[before-1]
	}
	exists := now.key != "" && now.kind != client.Deleted
	fits := exists && (in.expected == 0 || in.expected == now.revision)
	writes := false // the next event is that of the call
	if before < len(in.events) {
		switch next := in.events[before]; in.verb {
		case "create":
			writes = next.kind == client.Added && next.value == in.value && (out.failed || next.revision == out.revision)
		case "update":
			writes = fits && next.kind == client.Modified && next.value == in.value && (out.failed || next.revision == out.revision)
		case "delete":
			writes = fits && next.kind == client.Deleted
		}
	}
	stays := out.failed
	switch {
	case out.failed:
	case out.reason == metav1.StatusReasonNotFound:
		stays, writes = !exists && in.verb != "create", false
	case out.reason == metav1.StatusReasonAlreadyExists:
		stays, writes = exists && in.verb == "create", false
	case out.reason == metav1.StatusReasonConflict:
		stays, writes = exists && !fits, false
	case in.verb == "get":
		stays = exists && now.revision == out.revision && now.value == out.value
	}
	var after []int
	if stays {
		after = append(after, before)
	}
	if writes {
		after = append(after, before+1)
	}
	return after
}

// written identifies a create or update: no two write one value.
type written struct{ key, value string }

// unexplained returns how many events of deletions there are of each key beyond those that were acknowledged.
func unexplained(calls []porcupine.Operation, log map[int64]watchEvent) map[string]int {
	n := map[string]int{}
	for _, e := range log {
		if e.kind == client.Deleted {
			n[e.key]++
		}
	}
	for _, op := range calls {
		if in, out := op.Input.(call), op.Output.(reply); in.verb == "delete" && !out.failed && out.reason == "" {
			n[in.key]--
		}
	}
	return n
}

// revisions returns the revisions of all writes that anything shows.
func (h *History) revisions(log map[int64]watchEvent) map[written]int64 {
	shown := map[written]int64{}
	for _, e := range log {
		if e.kind != client.Deleted {
			shown[written{e.key, e.value}] = e.revision
		}
	}
	list := func(l listing) {
		for key, i := range l.items {
			shown[written{key, i.value}] = i.revision
		}
	}
	for _, l := range h.listings {
		list(l)
	}
	for _, s := range h.streams {
		list(s.from)
	}
	for _, op := range h.calls {
		if out := op.Output.(reply); out.revision != 0 {
			shown[written{op.Input.(call).key, out.value}] = out.revision
		}
	}
	return shown
}

// complete reports whether the watchers received every event from before the first call to after the last
// reply. A write that none of them shows then took no effect before all calls with a reply had ended.
func (h *History) complete(revisions map[written]int64) bool {
	if len(h.streams) == 0 || len(h.calls) == 0 {
		return false
	}
	first, known := h.covered()
	begun := slices.MinFunc(h.calls, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) }).Call
	last, ok := revisions[written{key: h.opts.Prefix + "last"}] // written after all calls have ended
	return ok && last <= known && first.begun < begun
}

// covered returns the stream that began at the lowest revision, and the revision up to which the streams
// cover all from there on. There must be a stream.
func (h *History) covered() (first *watchStream, known int64) {
	streams := slices.SortedFunc(slices.Values(h.streams), func(a, b *watchStream) int {
		return cmp.Or(cmp.Compare(a.from.revision, b.from.revision), cmp.Compare(a.begun, b.begun))
	})
	first, known = streams[0], streams[0].seen
	for _, s := range streams[1:] {
		if s.from.revision > known {
			break // no watcher covers the gap
		}
		known = max(known, s.seen)
	}
	return first, known
}

package clienttest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// TestCheckFindsLies takes a valid history, changes one thing in it that no server may do, and expects an
// error.
func TestCheckFindsLies(t *testing.T) {
	for name, tc := range map[string]struct {
		lie  func(h *History)
		want string
	}{
		"nothing": {func(*History) {}, ""},
		"lost event": {func(h *History) {
			s := h.streams[0]
			s.events = append(s.events[:3:3], s.events[4:]...)
		}, "missed"},
		"event lost by all": {func(h *History) {
			for _, s := range h.streams {
				for i, e := range s.events {
					if e.kind == client.Modified && e.revision > h.streams[0].from.revision && e.revision > h.streams[1].from.revision {
						s.events = append(s.events[:i:i], s.events[i+1:]...)
						break
					}
				}
			}
		}, "acknowledged"},
		"doubled event": {func(h *History) {
			s := h.streams[0]
			s.events = append(s.events[:4:4], s.events[3:]...)
		}, "after"},
		"swapped events": {func(h *History) {
			s := h.streams[0]
			s.events[3], s.events[4] = s.events[4], s.events[3]
		}, "after"},
		"altered event": {func(h *History) { h.streams[0].events[3].value = "other" }, "watchers disagree"},
		"list of two revisions": {func(h *History) {
			for i := range h.listings {
				l := &h.listings[i]
				l.items[h.opts.Prefix+"0"] = item{l.revision, "from another time"}
			}
		}, "the list at revision"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := Start(t, Options{})
				h, err := Record(t.Context(), 7, HistoryOptions{Calls: 60}, s.Conn(t, rest.Options{}))
				require.NoError(t, err)
				tc.lie(h)
				if tc.want == "" {
					require.NoError(t, h.Check())
				} else {
					require.ErrorContains(t, h.Check(), tc.want)
				}
			})
		})
	}
}

// Writes without a reply, however many, are taken for what the events and the reads show of them.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Start(t, Options{})
		h, err := Record(t.Context(), 7, HistoryOptions{Calls: 400}, s.Conn(t, rest.Options{}))
		require.NoError(t, err)
		lost, effective := 0, 0
		for i, op := range h.calls {
			if in, out := op.Input.(call), op.Output.(reply); in.verb != "get" && (in.verb != "delete" || i%8 == 0) && i%2 == 0 {
				if lost++; out.reason == "" {
					effective++
				}
				h.calls[i].Output, h.calls[i].Return = reply{failed: true}, 1<<62
			}
		}
		require.Greater(t, effective, 50)
		require.Greater(t, lost, effective+10)
		require.NoError(t, h.Check())
		unknown := 0
		log, err := h.mergeEvents()
		require.NoError(t, err)
		for _, op := range h.explained(log) {
			if op.Output.(reply).failed {
				unknown++
				require.Equal(t, "delete", op.Input.(call).verb)
			}
		}
		require.Less(t, unknown, lost/3)

		missed := slices.Clone(h.streams[0].events)
		for i, e := range slices.Backward(missed) {
			if e.kind == client.Modified {
				for _, s := range h.streams {
					s.events = slices.DeleteFunc(slices.Clone(s.events), func(other watchEvent) bool { return other == e })
				}
				h.calls = append(h.calls, porcupine.Operation{Input: call{verb: "get", key: e.key}, Output: reply{item: item{e.revision, e.value}}, Call: h.calls[0].Call, Return: 1 << 61})
				require.ErrorContains(t, h.Check(), "acknowledged", "event %d", i)
				break
			}
		}
	})
}

// TestStep is a table of the model's steps: which states are possible after a call without a reply.
func TestStep(t *testing.T) {
	there := keyState{exists: true, value: "a", revision: 5}
	lost := reply{failed: true}
	require.Len(t, step(there, call{verb: "update", value: "b", expected: 5}, lost), 2)
	require.Len(t, step(there, call{verb: "update", value: "b", expected: 4}, lost), 1)
	require.Len(t, step(there, call{verb: "create", value: "b"}, lost), 1)
	require.Len(t, step(there, call{verb: "delete"}, lost), 2)
	require.Len(t, step(keyState{}, call{verb: "create", value: "b"}, lost), 2)

	maybe := step(there, call{verb: "update", value: "b", expected: 5}, lost)[1]
	require.Empty(t, step(maybe, call{verb: "get"}, reply{item: item{5, "b"}}), "the unacknowledged write is above the one it replaced")
	fixed := step(maybe, call{verb: "get"}, reply{item: item{9, "b"}})
	require.Len(t, fixed, 1)
	require.Empty(t, step(fixed[0], call{verb: "get"}, reply{item: item{8, "b"}}), "a read fixes its revision")
	require.Empty(t, step(there, call{verb: "get"}, reply{item: item{5, "z"}}))
	require.Empty(t, step(there, call{verb: "update", value: "b", expected: 4}, reply{item: item{6, "b"}}), "a stale update accepted")
}

package clienttest

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/rest"
)

// TestCheckFindsLies takes a true history, changes one thing in it that no server may do, and expects to be
// told.
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
				l.items[h.opts.Prefix+"0"] = found{l.revision, "from another time"}
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

// TestStep is the model's own table: what may follow from a call that got no answer.
func TestStep(t *testing.T) {
	there := keyState{exists: true, value: "a", revision: 5}
	lost := answer{failed: true}
	require.Len(t, step(there, call{verb: "update", value: "b", expected: 5}, lost), 2)
	require.Len(t, step(there, call{verb: "update", value: "b", expected: 4}, lost), 1)
	require.Len(t, step(there, call{verb: "create", value: "b"}, lost), 1)
	require.Len(t, step(there, call{verb: "delete"}, lost), 2)
	require.Len(t, step(keyState{}, call{verb: "create", value: "b"}, lost), 2)

	maybe := step(there, call{verb: "update", value: "b", expected: 5}, lost)[1]
	require.Empty(t, step(maybe, call{verb: "get"}, answer{found: found{5, "b"}}), "the unacknowledged write is above the one it replaced")
	fixed := step(maybe, call{verb: "get"}, answer{found: found{9, "b"}})
	require.Len(t, fixed, 1)
	require.Empty(t, step(fixed[0], call{verb: "get"}, answer{found: found{8, "b"}}), "a read fixes its revision")
	require.Empty(t, step(there, call{verb: "get"}, answer{found: found{5, "z"}}))
	require.Empty(t, step(there, call{verb: "update", value: "b", expected: 4}, answer{found: found{6, "b"}}), "a stale update accepted")
}

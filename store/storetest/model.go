package storetest

import (
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/store"
)

// model is a naive store: it keeps a whole copy of the state for every revision. The revisions are those of
// the store under test.
type model struct {
	state    map[string]store.KV
	revision int64
	history  []modelState
	events   []store.Event
}

type modelState struct {
	revision int64
	state    map[string]store.KV
}

func newModel(revision int64) *model {
	m := &model{state: map[string]store.KV{}, revision: revision}
	m.history = []modelState{{revision, map[string]store.KV{}}}
	return m
}

func (m *model) current(key string) *store.KV {
	if kv, ok := m.state[key]; ok {
		return &kv
	}
	return nil
}

// check returns the error that the operations must return.
func (m *model) check(ops []store.Op, guards []store.Guard) error {
	for _, g := range guards {
		if !g.Holds(m.current(g.Key)) {
			return &store.GuardError{Guard: g, Current: m.current(g.Key)}
		}
	}
	for _, op := range ops {
		if err := op.Check(m.current(op.Key)); err != nil {
			return err
		}
	}
	return nil
}

// apply commits operations that pass check at a revision.
func (m *model) apply(ops []store.Op, revision int64) {
	m.state = maps.Clone(m.state)
	for _, op := range ops {
		prev := m.current(op.Key)
		if op.Type == store.OpDelete {
			delete(m.state, op.Key)
			m.events = append(m.events, store.Event{Type: store.Delete, KV: store.KV{Key: op.Key, Revision: revision}, Prev: prev})
			continue
		}
		kv := store.KV{Key: op.Key, Value: op.Value, Revision: revision, CreateRevision: revision}
		if prev != nil {
			kv.CreateRevision = prev.CreateRevision
		}
		m.state[op.Key] = kv
		m.events = append(m.events, store.Event{Type: store.Put, KV: kv, Prev: prev})
	}
	m.revision = revision
	m.history = append(m.history, modelState{revision, m.state})
}

// at returns the state at a revision.
func (m *model) at(revision int64) map[string]store.KV {
	i, found := slices.BinarySearchFunc(m.history, revision, func(s modelState, r int64) int {
		switch {
		case s.revision < r:
			return -1
		case s.revision > r:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return m.history[i].state
}

// list is List over a state.
func list(state map[string]store.KV, prefix string, limit int, after string) (items []store.KV, remaining int64) {
	for _, key := range slices.Sorted(maps.Keys(state)) {
		switch {
		case !strings.HasPrefix(key, prefix) || key <= after:
		case limit > 0 && len(items) == limit:
			remaining++
		default:
			items = append(items, state[key])
		}
	}
	return items, remaining
}

// eventsAfter are those that a watch must deliver.
func (m *model) eventsAfter(prefix string, revision int64) []store.Event {
	var out []store.Event
	for _, e := range m.events {
		if e.KV.Revision > revision && strings.HasPrefix(e.KV.Key, prefix) {
			out = append(out, e)
		}
	}
	return out
}

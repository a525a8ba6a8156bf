package admission

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Round coordinates the mutating plugins of one request. If a webhook has changed the object, all plugins run
// a second time, so that those before it see the change, and never a third time.
type Round struct {
	again  bool
	second bool
	states map[any]any
}

// Again requests a second round.
func (r *Round) Again() { r.again = true }

// Next begins the second round if one was requested, and reports whether it did.
func (r *Round) Next() bool {
	if !r.again || r.second {
		return false
	}
	r.second = true
	return true
}

// Second reports whether this is the second round.
func (r *Round) Second() bool { return r.second }

// state returns the state that a plugin keeps between the rounds.
func state[T any](r *Round, plugin any) *T {
	if s, ok := r.states[plugin].(*T); ok {
		return s
	}
	if r.states == nil {
		r.states = map[any]any{}
	}
	s := new(T)
	r.states[plugin] = s
	return s
}

// reinvocation is the state of a plugin's webhooks or policies between its rounds.
type reinvocation struct {
	called map[string]bool // those with the reinvocation policy IfNeeded
	due    map[string]bool // those to call in the second round
	output metav1.Object   // the object after the first round
}

// begin begins a round. Other plugins may have changed the object since the first one.
func (r *reinvocation) begin(a *Attributes) {
	if a.Round.second && a.Object != nil && !codec.Equal(r.output, a.Object) {
		r.changed()
	}
}

// end ends a round.
func (r *reinvocation) end(a *Attributes) {
	if a.Round.again && !a.Round.second && a.Object != nil {
		r.output = codec.DeepCopy(a.Object)
	}
}

// record records a call of one, and whether it has changed the object.
func (r *reinvocation) record(a *Attributes, id string, again, changed bool) {
	if changed {
		r.changed()
		a.Round.Again()
	}
	if again {
		if r.called == nil {
			r.called = map[string]bool{}
		}
		r.called[id] = true
	}
}

// changed marks those as due that were called before a change.
func (r *reinvocation) changed() {
	if r.due == nil {
		r.due = map[string]bool{}
	}
	maps.Copy(r.due, r.called)
	clear(r.called)
}

package admission

import (
	"maps"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// Round coordinates the mutating plugins of one request. When a webhook has changed the object, all plugins
// run a second time, so that those before it see the change; not a third time, however the second one ends.
type Round struct {
	again  bool
	second bool
	states map[any]any
}

// Again asks for a second round.
func (r *Round) Again() { r.again = true }

// Next begins the second round, and reports whether there is to be one.
func (r *Round) Next() bool {
	if !r.again || r.second {
		return false
	}
	r.second = true
	return true
}

// Second reports whether this is the second round.
func (r *Round) Second() bool { return r.second }

// state returns what a plugin keeps of the first round for the second one.
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

// reinvocation is what a plugin keeps between its rounds about the webhooks or policies it consults.
type reinvocation struct {
	called map[string]bool // those that want to be consulted again
	due    map[string]bool // those that are to be
	output metav1.Object   // the object after the first round
}

// begin begins a round. In the second one the plugins between may have changed the object.
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

// consulted notes that one has been consulted, and has changed the object or not.
func (r *reinvocation) consulted(a *Attributes, id string, again, changed bool) {
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

// changed makes those due that were consulted before a change.
func (r *reinvocation) changed() {
	if r.due == nil {
		r.due = map[string]bool{}
	}
	maps.Copy(r.due, r.called)
	clear(r.called)
}

package scheduler

import (
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"
	"time"
)

const (
	decisionTimeout = time.Second
	// stallPause is how long a plugin that has stalled is not called, so that it holds up others for a small
	// part of the time.
	stallPause = 30 * time.Second
	// stallPoll is how long a decision that is overdue, and that no plugin of others is busy with, may go on
	// before it is looked at again.
	stallPoll = 10 * time.Millisecond
)

// watch follows a decision that calls plugins which are not of this package. Its state says who may end it:
// the goroutine that decides, or while a plugin is called the one that waits for it.
type watch struct{ state atomic.Int32 }

const (
	deciding int32 = iota
	calling
	abandoned
)

// enter and leave surround the call of a plugin. leave does not return if the decision was abandoned
// meanwhile: the state of the cluster belongs to others then.
func (w *watch) enter() {
	if w != nil {
		w.state.Store(calling)
	}
}

func (w *watch) leave() {
	if w != nil && w.state.Load() != deciding && !w.state.CompareAndSwap(calling, deciding) {
		runtime.Goexit()
	}
}

// over reports whether the decision was abandoned.
func (w *watch) over() bool { return w != nil && w.state.Load() == abandoned }

// stall is a plugin that was left behind.
type stall struct {
	plugin   string
	until    time.Time
	returned <-chan struct{}
}

// over reports whether the plugin may be called again.
func (x *stall) over() bool {
	select {
	case <-x.returned:
		return !time.Now().Before(x.until)
	default:
		return false
	}
}

// watched runs part of a decision with a profile. s.mu is held, and f uses the cluster. If plugins that are
// not of this package take longer than the limit, the one that is busy is left behind: what the decision has
// changed of the cluster is taken back, and the failure is returned. Until the plugin may be called again,
// watched returns such a failure at once. Without such plugins it is a call of f.
func (s *Scheduler) watched(p *Profile, f func()) *Status {
	if !p.foreign {
		f()
		return nil
	}
	if x := s.stalls[p.name]; x != nil {
		if !x.over() {
			return notCalled(x.plugin, s.opts.DecisionTimeout)
		}
		delete(s.stalls, p.name)
	}
	c, w := s.cluster, &watch{}
	open, mark := c.journal.open, c.Mark()
	c.watch = w
	defer func() { c.watch = nil }()
	done := make(chan struct{})
	finished := false
	go func() {
		defer close(done)
		f()
		finished = true
	}()
	overdue := s.overdue()
	for {
		select {
		case <-done:
			if !finished { // a plugin has ended the goroutine
				return s.abandon(p, w, mark, open, done)
			}
			c.Keep(mark)
			return nil
		case <-overdue:
		}
		if w.state.CompareAndSwap(calling, abandoned) {
			return s.abandon(p, w, mark, open, done)
		}
		overdue = time.After(stallPoll)
	}
}

// abandon takes back what a decision has changed that a plugin does not return to.
func (s *Scheduler) abandon(p *Profile, w *watch, mark Mark, open int, returned <-chan struct{}) *Status {
	w.state.Store(abandoned)
	c := s.cluster
	cy := c.cycle(p)
	c.Rollback(mark)
	c.journal.open = open
	for _, list := range cy.expected {
		for _, r := range list {
			c.release(r)
		}
	}
	c.within = nil
	delete(c.cycles, p) // it is in use
	if called := cy.reserving; len(called) > 0 {
		pod, node := cy.pod, cy.reservingOn
		s.after(returned, func() { s.unreserveThose(p, called, pod, node) })
	}
	s.stalls[p.name] = &stall{plugin: cy.running, until: time.Now().Add(s.stallPause), returned: returned}
	return overdueCall(cy.running, s.opts.DecisionTimeout)
}

// after calls f when a plugin has returned that was left behind. One that never returns does not keep Run
// from returning: f is not called then.
func (s *Scheduler) after(returned <-chan struct{}, f func()) {
	s.late.Go(func() {
		select {
		case <-returned:
			f()
		case <-s.ended:
		}
	})
}

func overdueCall(plugin string, limit time.Duration) *Status {
	return refusal(Error, plugin, fmt.Sprintf("plugin %s did not return within %s", plugin, limit))
}

func notCalled(plugin string, limit time.Duration) *Status {
	return refusal(Error, plugin, fmt.Sprintf("plugin %s is not called: a former call took longer than %s", plugin, limit))
}

// isForeign reports whether a plugin is none of this package.
func isForeign(p Plugin) bool {
	t := reflect.TypeOf(p)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath() != reflect.TypeFor[Scheduler]().PkgPath()
}

package scheduler

import (
	"context"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

const (
	searchBudget = 100 * time.Millisecond
	// searching is how many searches for devices are made aside at a time.
	searching = 2
	// searchTries is how often a search is made again because claims have changed meanwhile.
	searchTries = 5
)

// longSearch is the failure of a decision that must be made aside.
var longSearch = refusal(Error, "DynamicResources", "the search for devices takes long")

// searchLimits limit the searches for devices of one decision. The zero value sets no limit.
type searchLimits struct {
	left *time.Duration
	done <-chan struct{}
}

// begin limits what follows to a budget until the returned function is called.
func (l *searchLimits) begin(budget time.Duration) (end func()) {
	l.left = &budget
	return func() { l.left = nil }
}

// limit lowers a timeout, of which 0 and less is none, to what is left. It is false if the timeout is lower.
func (l *searchLimits) limit(timeout *time.Duration) bool {
	if l.left == nil || *timeout > 0 && *timeout < *l.left {
		return false
	}
	*timeout = *l.left
	return true
}

func (l *searchLimits) spend(d time.Duration) {
	if l.left != nil {
		*l.left -= d
	}
}

// settledSearch is what a pod gets on a node.
type settledSearch struct {
	pod  types.UID
	node string
	plan *devicePlan
}

// decideAside decides on a copy of the cluster, so that others are scheduled meanwhile. The result counts if
// no claim, slice or class has changed since the copy was made, and if the node still has room; else it is
// done again. Such pods preempt none.
func (s *Scheduler) decideAside(ctx context.Context, t *try) (o outcome, ok bool) {
	began := time.Now()
	o.profile = s.profileOf(t.Pod)
	defer func() {
		if ok {
			s.measure(&o, began)
		}
	}()
	for range searchTries {
		s.mu.Lock()
		if !s.queue.holds(t.entry, t.pod.UID) {
			s.mu.Unlock()
			return o, false
		}
		aside, changes := s.cluster.Fork(), s.cluster.devices.changes
		s.mu.Unlock()
		aside.devices.limits.done = ctx.Done()
		cy := aside.decide(o.profile, t.Pod, nil)
		if ctx.Err() != nil {
			return o, false
		}
		s.mu.Lock()
		s.cluster.addCalls(aside)
		s.mu.Unlock()
		if cy.selected == nil {
			o.Decision, o.failed, o.refused = cy.decision(), cy.failed, cy.refusedBy()
			o.release, o.preemption = cy.unusable(), "not tried for a pod whose devices are searched for so long."
			return o, true
		}
		found := &settledSearch{t.pod.UID, cy.selected.name, aside.planDevices(t.Pod, cy.selected)}
		if done, ok := s.settleSearch(t, &o, found, changes); done {
			return o, ok
		}
	}
	o.refuse(&Status{Code: Error, Plugin: "DynamicResources", Reasons: []string{"claims have changed while devices were searched for"}}, "")
	return o, true
}

// settleSearch places a pod as a search says. It is not done if that holds no longer.
func (s *Scheduler) settleSearch(t *try, o *outcome, found *settledSearch, changes uint64) (done, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.holds(t.entry, t.pod.UID) {
		return true, false
	}
	c, fits := s.cluster, false
	n := c.existing(found.node)
	if n == nil || c.devices.changes != changes {
		return false, false
	}
	c.devices.settled = found
	defer func() { c.devices.settled = nil }()
	inTime := s.within(o, func() {
		if fits = c.fitsNow(o.profile, t.Pod, n); fits {
			s.assume(t, o, n.name)
		}
	})
	return !inTime || fits, true
}

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// guarded calls a plugin and turns a panic into a failure.
func guarded(p Plugin, f func() *Status) (st *Status) {
	defer func() {
		if r := recover(); r != nil {
			st = &Status{Code: Error, Plugin: p.Name(), Reasons: []string{fmt.Sprintf("plugin %s panicked: %v", p.Name(), r)}}
		}
	}()
	if st = f(); !st.OK() {
		st = named(st, p)
	}
	return st
}

// stallGrace is how long a plugin has to return after its time is over.
const stallGrace = time.Second

// limited calls a plugin that may do I/O. Its context ends after limit; one that does not return then is left
// behind, and has failed.
func limited(ctx context.Context, limit time.Duration, p Plugin, f func(ctx context.Context) *Status) *Status {
	st, _ := leave(ctx, limit, p, f)
	return st
}

// leave is limited that also returns, for a call that was left behind, a channel that is closed when it
// returns.
func leave(ctx context.Context, limit time.Duration, p Plugin, f func(ctx context.Context) *Status) (*Status, <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done, returned := make(chan *Status, 1), make(chan struct{})
	go func() {
		defer close(returned)
		done <- guarded(p, func() *Status { return f(ctx) })
	}()
	select {
	case st := <-done:
		return st, nil
	case <-ctx.Done():
	}
	timer := time.NewTimer(stallGrace)
	defer timer.Stop()
	select {
	case st := <-done:
		return st, nil
	case <-timer.C:
		return overdueCall(p.Name(), limit), returned
	}
}

// reserveAll calls the Reserve plugins of a profile; if one refuses, all are taken back.
func (c *Cluster) reserveAll(p *Profile, pod *Pod, node string, sampled bool) *Status {
	if len(p.reserve) == 0 {
		return nil
	}
	cy := c.cycle(p)
	cy.pod, cy.watch, cy.reservingOn = pod, c.watch, node
	for i, r := range p.reserve {
		cy.running, cy.reserving = r.Name(), p.reserve[:i+1]
		w, began := cy.watchOf(r), time.Now()
		w.enter()
		st := guarded(r, func() *Status { return r.Reserve(pod, node) })
		w.leave()
		c.measured.pluginOf(sampled, r, "Reserve", st, began)
		if !st.OK() {
			cy.unreserve(p.reserve[:i+1], pod, node)
			return st
		}
	}
	cy.reserving = nil
	return nil
}

// unreserve takes back within a decision what plugins keep for a placement, the last first.
func (cy *Cycle) unreserve(list []ReservePlugin, pod *Pod, node string) {
	cy.pod, cy.watch, cy.reservingOn = pod, cy.cluster.watch, node
	for i, r := range slices.Backward(list) {
		cy.running, cy.reserving = r.Name(), list[:i]
		w := cy.watchOf(r)
		w.enter()
		guarded(r, func() *Status {
			r.Unreserve(pod, node)
			return nil
		})
		w.leave()
	}
	cy.reserving = nil
}

// preBinds reports whether a PreBind plugin has something to do for a pod.
func (s *Scheduler) preBinds(pod *Pod, o *outcome) bool {
	if len(o.profile.prebind) == 0 {
		return false
	}
	defer func(began time.Time) { s.opts.Metrics.pointOf(o.profile, "PreBindPreFlight", nil, began) }(time.Now())
	return slices.ContainsFunc(o.profile.prebind, func(b PreBindPlugin) bool {
		x, ok := b.(PreBindPreFlight)
		works := true
		guarded(b, func() *Status {
			works = !ok || x.PreBindPreFlight(pod, o.Node)
			return nil
		})
		return works
	})
}

func (s *Scheduler) preBindAll(ctx context.Context, pod *Pod, o *outcome) *Status {
	for _, b := range o.profile.prebind {
		began := time.Now()
		st := limited(ctx, s.opts.PluginTimeout, b, func(ctx context.Context) *Status { return b.PreBind(ctx, pod, o.Node) })
		s.opts.Metrics.pluginOf(o.sampled, b, "PreBind", st, began)
		if !st.OK() {
			return st
		}
	}
	return nil
}

func (s *Scheduler) postBindAll(ctx context.Context, pod *Pod, o *outcome, failed func(*Status)) {
	if len(o.profile.postbind) == 0 {
		return
	}
	all := time.Now()
	for _, b := range o.profile.postbind {
		began := time.Now()
		st := limited(ctx, s.opts.PluginTimeout, b, func(ctx context.Context) *Status {
			b.PostBind(ctx, pod, o.Node)
			return nil
		})
		s.opts.Metrics.pluginOf(o.sampled, b, "PostBind", st, began)
		if !st.OK() {
			failed(st)
		}
	}
	s.opts.Metrics.pointOf(o.profile, "PostBind", nil, all)
}

// maxPermitWait is the longest that a pod waits for its permission.
const maxPermitWait = 15 * time.Minute

// WaitingPod is a placed pod whose binding a Permit plugin delays.
type WaitingPod struct {
	*Pod
	Node string
	// Plugins are the names of those that have not allowed it yet.
	Plugins []string
}

// waiting are the pods that Permit plugins delay.
type waiting struct {
	mu   sync.Mutex
	pods map[types.UID]*waitingPod
}

type waitingPod struct {
	WaitingPod
	verdict chan *Status // has room for one
}

func newWaiting() waiting { return waiting{pods: map[types.UID]*waitingPod{}} }

// Waiting returns the pods whose binding Permit plugins delay.
func (s *Scheduler) Waiting() (out []WaitingPod) {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	for _, p := range s.waiting.pods {
		w := p.WaitingPod
		w.Plugins = slices.Clone(w.Plugins)
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b WaitingPod) int { return a.pod.Key().Compare(b.pod.Key()) })
	return out
}

// Allow lets a waiting pod be bound, as far as the plugin is concerned. It is false if the pod does not wait.
func (s *Scheduler) Allow(uid types.UID, plugin string) bool {
	w := &s.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p == nil {
		return false
	}
	p.Plugins = slices.DeleteFunc(p.Plugins, func(n string) bool { return n == plugin })
	if len(p.Plugins) == 0 {
		w.decide(p, nil)
	}
	return true
}

// Reject takes back the placement of a waiting pod in the name of a plugin. It is false if the pod does not
// wait.
func (s *Scheduler) Reject(uid types.UID, plugin, reason string) bool {
	return s.waiting.rejectFor(uid, plugin, reason)
}

func (w *waiting) reject(uid types.UID, reason string) { w.rejectFor(uid, "", reason) }

func (w *waiting) rejectFor(uid types.UID, plugin, reason string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[uid]
	if p != nil {
		w.decide(p, &Status{Code: Unschedulable, Plugin: plugin, Reasons: []string{reason}})
	}
	return p != nil
}

// decide gives the verdict about a pod, which does not wait any more from then on. The lock is held.
func (w *waiting) decide(p *waitingPod, st *Status) {
	delete(w.pods, p.pod.UID)
	p.verdict <- st
}

// permit calls the Permit plugins and waits for those that delay the pod.
func (s *Scheduler) permit(ctx context.Context, t *try, o *outcome) *Status {
	if len(o.profile.permit) == 0 {
		return nil
	}
	w := &waitingPod{WaitingPod: WaitingPod{Pod: t.Pod, Node: o.Node}, verdict: make(chan *Status, 1)}
	for _, p := range o.profile.permit {
		w.Plugins = append(w.Plugins, p.Name())
	}
	gang := o.profile.gangPermit && s.grouped(t.Pod)
	if gang {
		w.Plugins = append(w.Plugins, gangScheduling)
	}
	s.waiting.mu.Lock()
	s.waiting.pods[t.pod.UID] = w
	s.waiting.mu.Unlock()
	defer func() {
		s.waiting.mu.Lock()
		delete(s.waiting.pods, t.pod.UID)
		s.waiting.mu.Unlock()
	}()
	all, longest := time.Now(), time.Duration(0)
	for _, p := range o.profile.permit {
		began := time.Now()
		var wait time.Duration
		st := limited(ctx, s.opts.PluginTimeout, p, func(ctx context.Context) (st *Status) {
			var asked time.Duration
			if st, asked = p.Permit(ctx, t.Pod, o.Node); ctx.Err() == nil {
				wait = asked
			}
			return st
		})
		s.opts.Metrics.pluginOf(o.sampled, p, "Permit", st, began)
		switch {
		case st.OK():
			s.Allow(t.pod.UID, p.Name())
		case st.Code == Wait:
			longest = max(longest, min(wait, maxPermitWait))
		default:
			s.opts.Metrics.pointOf(o.profile, "Permit", st, all)
			return st
		}
	}
	if gang {
		wait, st := s.quorum(t.Pod)
		if !st.OK() {
			return st
		}
		longest = max(longest, wait)
	}
	st := NewStatus(Success)
	if longest > 0 {
		st.Code = Wait
	}
	s.opts.Metrics.pointOf(o.profile, "Permit", st, all)
	if len(w.verdict) == 0 {
		s.expectOn(ctx, t, o)
	}
	if f := s.opts.Metrics.PermitWaited; f != nil && longest > 0 {
		began := time.Now()
		st := s.waiting.wait(ctx, w, longest)
		f(st.code().String(), time.Since(began))
		return st
	}
	return s.waiting.wait(ctx, w, longest)
}

// wait returns the verdict about a pod: that of the plugins, or a refusal after the given time.
func (w *waiting) wait(ctx context.Context, p *waitingPod, longest time.Duration) *Status {
	select {
	case st := <-p.verdict:
		return st
	default:
	}
	timer := time.NewTimer(max(longest, time.Millisecond))
	defer timer.Stop()
	select {
	case st := <-p.verdict:
		return st
	case <-timer.C:
	case <-ctx.Done():
		return &Status{Code: Error, Reasons: []string{ctx.Err().Error()}}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case st := <-p.verdict:
		return st
	default:
	}
	delete(w.pods, p.pod.UID) // it is too late to allow it
	return &Status{Code: Unschedulable, Plugin: p.Plugins[0], Reasons: []string{fmt.Sprintf("pod was not permitted within %s by %s", longest, p.Plugins[0])}}
}

// pluginFailed counts a failure of a plugin.
func (s *Scheduler) pluginFailed(profile *Profile, st *Status) {
	if f := s.opts.Metrics.PluginFailed; f != nil && st != nil && st.Code == Error {
		f(profile.name, st.Plugin)
	}
}

// measure reports an attempt.
func (s *Scheduler) measure(o *outcome, began time.Time) {
	s.pluginFailed(o.profile, o.failed)
	f := s.opts.Metrics.Attempt
	if f == nil {
		return
	}
	result := "scheduled"
	switch {
	case o.failed != nil:
		result = "error"
	case o.Node == "":
		result = "unschedulable"
	}
	f(o.profile.name, result, time.Since(began))
}

package scheduler

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// callLimits limits how long plugins that are not of this package may take at the points of the queue, where
// nothing can cancel them and others wait meanwhile: PreEnqueue, QueueSort, queueing hints and Unreserve.
// Safe for concurrent use.
type callLimits struct {
	mu      sync.Mutex
	stalled map[call]*stall
	limit   time.Duration
	overdue func(call) <-chan time.Time
	pause   func() time.Duration
}

// call is a point of a plugin.
type call struct {
	by Plugin
	at string
}

// each calls f(0) to f(n-1), each of which is one call of the plugin, and returns how many have returned. If
// they are fewer, the plugin has panicked, did not return in time, or is not called because that was so
// before and its pause is not over. What f sets counts only of the calls that have returned.
func (l *callLimits) each(c call, n int, f func(i int)) (done int, st *Status) {
	if !isForeign(c.by) {
		for i := range n {
			f(i)
		}
		return n, nil
	}
	l.mu.Lock()
	if x := l.stalled[c]; x != nil {
		if !x.over() {
			l.mu.Unlock()
			return 0, notCalled(c.by.Name(), l.limit)
		}
		delete(l.stalled, c)
	}
	l.mu.Unlock()
	return l.run(c, n, f)
}

// run is each without the pause.
func (l *callLimits) run(c call, n int, f func(i int)) (int, *Status) {
	var calls atomic.Int64
	var left atomic.Bool
	var st *Status
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		st = refusal(Error, c.by.Name(), fmt.Sprintf("plugin %s has ended its goroutine", c.by.Name()))
		st = guarded(c.by, func() *Status {
			for i := 0; i < n && !left.Load(); i++ {
				f(i)
				calls.Store(int64(i + 1))
			}
			return nil
		})
	}()
	seen := int64(0)
	overdue := l.overdue(c)
	for {
		select {
		case <-returned:
			return int(calls.Load()), st
		case <-overdue:
		}
		now := calls.Load()
		if now == seen {
			left.Store(true)
			l.mu.Lock()
			l.stalled[c] = &stall{plugin: c.by.Name(), until: time.Now().Add(l.pause()), returned: returned}
			l.mu.Unlock()
			return int(now), overdueCall(c.by.Name(), l.limit)
		}
		seen, overdue = now, l.overdue(c)
	}
}

// busy returns a channel that is closed when the plugin returns from a call that it was left behind in; nil
// if it is in none.
func (l *callLimits) busy(c call) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.stalled[c]
	if x == nil {
		return nil
	}
	select {
	case <-x.returned:
		return nil
	default:
		return x.returned
	}
}

// preEnqueue calls the PreEnqueue plugins, and returns the answer of the first that refuses a pod.
func (s *Scheduler) preEnqueue(p *Pod) (answer *Status) {
	profile, all := s.profileOf(p), time.Now()
	sampled := s.entered.Add(1)%sampleEvery == 1
	defer func() { s.opts.Metrics.pointOf(profile, "PreEnqueue", answer, all) }()
	for _, plugin := range profile.enqueue {
		began := time.Now()
		var answer *Status
		_, st := s.calls.each(call{plugin, "PreEnqueue"}, 1, func(int) { answer = plugin.PreEnqueue(p) })
		if st == nil {
			st = answer
		}
		s.opts.Metrics.pluginOf(sampled, plugin, "PreEnqueue", st, began)
		if !st.OK() {
			st = named(st, plugin)
			if st.Code == Error {
				s.atFault(profile, p, "FailedScheduling", st)
			}
			return st
		}
	}
	return nil
}

// hints returns for which pods a plugin says that an event may make them fit. All are, for which it fails.
func (s *Scheduler) hints(profile *Profile, plugin string, e *Event, pods []*Pod) []bool {
	answers := make([]bool, len(pods))
	h := profile.hints[plugin]
	for from := 0; from < len(pods); {
		rest := pods[from:]
		said := make([]bool, len(rest))
		done, st := s.calls.each(call{h.ask, "QueueingHint"}, len(rest), func(i int) { said[i] = h.ask.QueueingHint(e, rest[i]) })
		copy(answers[from:], said[:done])
		from += done
		if st == nil {
			continue
		}
		answers[from] = true
		s.atFault(profile, rest[done], "PluginFailed", st)
		from++
	}
	return answers
}

// sorter returns the order of the queue. A plugin that fails is not called for a while; the order is that of
// PrioritySort then.
func (s *Scheduler) sorter(by QueueSortPlugin) func(a, b *QueuedPod) (less, changed bool) {
	if !isForeign(by) {
		return func(a, b *QueuedPod) (bool, bool) { return by.Less(a, b), false }
	}
	var until time.Time // guarded by the queue's lock, as its order is
	return func(a, b *QueuedPod) (less, changed bool) {
		if !until.IsZero() && time.Now().Before(until) {
			return PrioritySort{}.Less(a, b), false
		}
		changed = !until.IsZero()
		until = time.Time{}
		x, y := *a, *b // the plugin may read them when the queue has changed them
		var answer bool
		_, st := s.calls.each(call{by, "QueueSort"}, 1, func(int) { answer = by.Less(&x, &y) })
		if st == nil {
			return answer, changed
		}
		until = time.Now().Add(s.stallPause)
		s.atFault(s.profileOf(a.Pod), a.Pod, "PluginFailed", st)
		return PrioritySort{}.Less(a, b), true
	}
}

// unreserve calls the Reserve plugins for a placement that is taken back, the last first. One that does not
// return in time is left behind, and called for further placements when it has.
func (s *Scheduler) unreserve(p *Profile, pod *Pod, node string) {
	s.unreserveThose(p, p.reserve, pod, node)
}

// unreserveThose is unreserve for some of the plugins.
func (s *Scheduler) unreserveThose(p *Profile, list []ReservePlugin, pod *Pod, node string) {
	if len(list) == 0 {
		return
	}
	defer func(began time.Time) { s.opts.Metrics.pointOf(p, "Unreserve", nil, began) }(time.Now())
	for _, r := range slices.Backward(list) {
		at := call{r, "Unreserve"}
		if returned := s.calls.busy(at); returned != nil {
			s.after(returned, func() { s.unreserveThose(p, []ReservePlugin{r}, pod, node) })
			continue
		}
		if _, st := s.calls.run(at, 1, func(int) { r.Unreserve(pod, node) }); st != nil {
			s.atFault(p, pod, "PluginFailed", st)
		}
	}
}

// atFault counts a failure of a plugin, and records it in an event of the pod.
func (s *Scheduler) atFault(profile *Profile, p *Pod, reason string, st *Status) {
	s.pluginFailed(profile, st)
	s.recorders[p.pod.Spec.SchedulerName].Eventf(p.pod, corev1.EventTypeWarning, reason, "%s", st.Message())
}

package kubelet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// The kinds of probes.
const (
	liveness  = "liveness"
	readiness = "readiness"
	startup   = "startup"
)

// probes runs the probes of running containers and keeps their results. Safe for concurrent use.
type probes struct {
	k *Kubelet

	running sync.WaitGroup
	mu      sync.Mutex
	stopped bool
	// active are the probes that run, by pod. They are cancelled with mu held: nothing is noted of them
	// afterwards.
	active map[types.UID]map[probeKey]context.CancelFunc
	// results by container id.
	results map[string]*probeResult
}

type probeKey struct {
	pod         types.UID
	containerID string
	kind        string
}

type probeResult struct {
	ready, started bool
	failed         string // the kind of probe that says the container must be restarted
}

func newProbes(k *Kubelet) *probes {
	return &probes{k: k, active: map[types.UID]map[probeKey]context.CancelFunc{}, results: map[string]*probeResult{}}
}

// ready reports whether a running container passes its readiness probe; without one it does.
func (p *probes) ready(c *corev1.Container, run *container) bool {
	if c.ReadinessProbe == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.results[run.id]
	return r != nil && r.ready
}

// started reports whether a running container has passed its startup probe; without one it has.
func (p *probes) started(c *corev1.Container, run *container) bool {
	if !run.running() {
		return false
	}
	if c.StartupProbe == nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.results[run.id]
	return r != nil && r.started
}

// failed is the kind of probe for which a container must be restarted; empty if there is none.
func (p *probes) failed(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.results[id]; r != nil {
		return r.failed
	}
	return ""
}

// watch runs the probes of a pod's running containers and ends those of all others. Of a pod that is ending
// only the readiness probes go on, so that its services see when it stops serving; nothing makes its
// containers restart.
func (p *probes) watch(ctx context.Context, pod *corev1.Pod, v *view, ending bool) {
	want := map[probeKey]*corev1.Probe{}
	names := map[string]string{}
	each := func(c *corev1.Container) {
		run := v.latest(c.Name)
		if !run.running() {
			return
		}
		names[run.id] = c.Name
		started := p.started(c, run)
		for kind, probe := range map[string]*corev1.Probe{liveness: c.LivenessProbe, readiness: c.ReadinessProbe, startup: c.StartupProbe} {
			if probe == nil || kind == startup && started || kind != startup && !started || ending && kind != readiness {
				continue
			}
			want[probeKey{pod.UID, run.id, kind}] = probe
		}
	}
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			each(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		each(&pod.Spec.Containers[i])
	}
	alive := map[string]bool{}
	for _, c := range v.containers {
		alive[c.id] = c.running()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.cancel(pod.UID, func(key probeKey) bool { return want[key] == nil })
	for id, is := range alive {
		if !is {
			delete(p.results, id)
		}
	}
	ip := first(p.k.podIPs(ctx, pod, v.current()))
	for key, probe := range want {
		if p.active[pod.UID][key] != nil {
			continue
		}
		run := v.latest(names[key.containerID])
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until it is not wanted, or stopAll
		if p.active[pod.UID] == nil {
			p.active[pod.UID] = map[probeKey]context.CancelFunc{}
		}
		p.active[pod.UID][key] = cancel
		w := &prober{p: p, key: key, probe: probe, pod: pod, spec: specOf(pod, run.name), run: run, ip: ip}
		p.running.Go(func() { w.loop(ctx) })
	}
}

// adopt takes over what an earlier kubelet found out about a container that still runs.
func (p *probes) adopt(id string, st *corev1.ContainerStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[id] = &probeResult{ready: st.Ready, started: st.Started != nil && *st.Started}
}

// forget drops the results of a pod's containers.
func (p *probes) forget(v *view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range v.containers {
		delete(p.results, c.id)
	}
	p.k.metrics.probed.DeletePartialMatch(prometheus.Labels{"pod_uid": string(v.uid)})
	p.k.metrics.probeTook.DeletePartialMatch(prometheus.Labels{"namespace": v.namespace, "pod": v.name})
}

// end ends the probes of a pod whose containers have stopped.
func (p *probes) end(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel(uid, func(probeKey) bool { return true })
}

// cancel ends those probes of a pod for which f returns true. The lock is held.
func (p *probes) cancel(uid types.UID, f func(probeKey) bool) {
	of := p.active[uid]
	for key, cancel := range of {
		if f(key) {
			cancel()
			delete(of, key)
		}
	}
	if len(of) == 0 {
		delete(p.active, uid)
	}
}

func (p *probes) stopAll() {
	p.mu.Lock()
	p.stopped = true
	for uid := range p.active {
		p.cancel(uid, func(probeKey) bool { return true })
	}
	p.mu.Unlock()
	p.running.Wait()
}

// prober runs one probe of one container until it is cancelled.
type prober struct {
	p     *probes
	key   probeKey
	probe *corev1.Probe
	pod   *corev1.Pod
	spec  *corev1.Container
	run   *container
	ip    string

	passes, failures int
	// found counts the outcomes, and took their durations; nil before the first.
	found [outcomes]prometheus.Counter
	took  prometheus.Observer
}

func (w *prober) loop(ctx context.Context) {
	period := time.Duration(max(w.probe.PeriodSeconds, 1)) * time.Second
	delay := time.Duration(w.probe.InitialDelaySeconds)*time.Second - time.Since(w.run.started)
	if delay <= 0 && time.Since(w.run.started) > 10*time.Second {
		delay = backoff.Spread(ctx, period) // after a restart of this process: not all at once
	}
	for {
		if backoff.Sleep(ctx, delay) != nil {
			return
		}
		began := time.Now()
		if w.once(ctx) {
			return
		}
		delay = period - time.Since(began)
	}
}

// once runs the probe and takes note of the result. It reports true when there is nothing more to find out.
func (w *prober) once(ctx context.Context) bool {
	timeout := time.Duration(max(w.probe.TimeoutSeconds, 1)) * time.Second
	began := time.Now()
	found, text := w.p.k.probe(ctx, w.pod, w.spec, w.run, w.ip, &w.probe.ProbeHandler, timeout)
	if !w.count(ctx, found, time.Since(began)) {
		return true
	}
	switch found {
	case unknown:
		// It counts neither way: what was found out last stands.
		w.event("Unhealthy", "errored and resulted in unknown state", text)
		return false
	case failed:
		w.passes = 0
		w.failures++
		w.event("Unhealthy", "failed", text)
		if w.failures < int(max(w.probe.FailureThreshold, 1)) {
			return false
		}
	case passed:
		if text != "" {
			w.event("ProbeWarning", "warning", text)
		}
		w.failures = 0
		if w.passes++; w.passes < int(max(w.probe.SuccessThreshold, 1)) {
			return false
		}
	}
	return w.p.note(ctx, w.key, found == passed)
}

// count counts an outcome, and reports false if the probe has been cancelled: then its pod may have been
// forgotten.
func (w *prober) count(ctx context.Context, found outcome, took time.Duration) bool {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	m, kind := w.p.k.metrics, kindName[w.key.kind]
	if w.found[found] == nil {
		w.found[found] = m.probed.WithLabelValues(kind, found.String(), w.spec.Name, w.pod.Name, w.pod.Namespace, string(w.pod.UID))
	}
	w.found[found].Inc()
	if found == failed {
		return true // how long a probe takes that fails says nothing
	}
	if w.took == nil {
		w.took = m.probeTook.WithLabelValues(kind, w.spec.Name, w.pod.Name, w.pod.Namespace)
	}
	w.took.Observe(took.Seconds())
	return true
}

// kindName is how events and metrics name a kind of probe.
var kindName = map[string]string{liveness: "Liveness", readiness: "Readiness", startup: "Startup"}

func (w *prober) event(reason, what, why string) {
	name := kindName[w.key.kind]
	w.p.k.recorder.About(aboutContainer(w.pod, w.spec.Name), nil, events.Warning, reason, fmt.Sprintf("%s probe %s: %s", name, what, why))
}

// note keeps a result that has passed its threshold, and wakes the pod if it is news. It reports true when
// there is nothing more to find out.
func (p *probes) note(ctx context.Context, key probeKey, passed bool) (enough bool) {
	p.mu.Lock()
	if ctx.Err() != nil { // the container may have been forgotten
		p.mu.Unlock()
		return true
	}
	r := p.results[key.containerID]
	if r == nil {
		r = &probeResult{}
		p.results[key.containerID] = r
	}
	before := *r
	switch key.kind {
	case readiness:
		r.ready = passed
	case liveness:
		if !passed {
			r.failed, enough = liveness, true
		}
	case startup:
		enough = true
		if passed {
			r.started = true
		} else {
			r.failed = startup
		}
	}
	changed := *r != before
	p.mu.Unlock()
	if changed {
		p.k.wake(key.pod)
	}
	return enough
}

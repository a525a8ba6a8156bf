package kubelet

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// EvictionPolicy says what the node must not run short of. The signals are memory.available,
// nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available; amounts are
// quantities, such as 100Mi, or percentages of the capacity, such as 10%. 0% and 100% turn a threshold off.
type EvictionPolicy struct {
	// Hard is the least there has to be of a signal: if there is less, the node reports a pressure condition
	// and a pod is killed at once. Nil means 100Mi of memory, 10% of the space and 5% of the inodes of the
	// node's file system, and 15% and 5% of that of images; an empty map means none.
	Hard map[string]string
	// Soft is what there may be less of for a time, which SoftGrace gives for each signal. Pods then get
	// MaxPodGrace, or their own grace period if it is shorter, to end.
	Soft        map[string]string
	SoftGrace   map[string]string
	MaxPodGrace time.Duration
	// MinimumReclaim is how much more than the threshold has to be available before the node stops evicting.
	MinimumReclaim map[string]string
	// Transition is how long a pressure condition stays after its cause; 0 means 5 minutes.
	Transition time.Duration
	// Interval is the time between looks; 0 means 10 s.
	Interval time.Duration
	// KernelReports makes a look also when the kernel reports that a threshold of memory was crossed. It
	// takes version 1 of the kernel's groups and has no effect with version 2.
	KernelReports bool
}

// evictor ends pods when the node runs short of something. Safe for concurrent use.
type evictor struct {
	k          *Kubelet
	policy     EvictionPolicy
	thresholds []eviction.Threshold
	log        *slog.Logger

	state  eviction.State // belongs to run
	alarms *memoryAlarms  // nil without reports of the kernel

	mu         sync.Mutex
	conditions []corev1.NodeConditionType
}

// parse checks the policy and sets what it leaves out. podLimit is whether the memory of all pods is limited.
func (p EvictionPolicy) parse(podLimit bool) (EvictionPolicy, []eviction.Threshold, error) {
	if p.Hard == nil {
		p.Hard = eviction.Default
	}
	if p.Transition <= 0 {
		p.Transition = 5 * time.Minute
	}
	if p.Interval <= 0 {
		p.Interval = 10 * time.Second
	}
	thresholds, err := eviction.Parse(eviction.Policy{Hard: p.Hard, Soft: p.Soft, SoftGrace: p.SoftGrace, MinimumReclaim: p.MinimumReclaim, Allocatable: podLimit})
	if err != nil {
		return p, nil, fmt.Errorf("kubelet: Options.Eviction: %w", err)
	}
	return p, thresholds, nil
}

// DefaultEvictionHard returns the hard thresholds of a kubelet without an [EvictionPolicy].
func DefaultEvictionHard() map[string]string { return maps.Clone(eviction.Default) }

// Check returns what is wrong with the policy.
func (p EvictionPolicy) Check() error {
	_, _, err := p.parse(true)
	return err
}

// evictionWait is how long to wait for evicted pods to end before looking again.
const evictionWait = 30 * time.Second

func (e *evictor) run(ctx context.Context) {
	defer e.alarms.end()
	for ctx.Err() == nil {
		wait := time.NewTimer(e.policy.Interval)
		ended, err := e.round(ctx)
		if err != nil && ctx.Err() == nil {
			e.log.Info("measure node failed, no pod is evicted", "err", err)
		}
		if ended != nil {
			// What it used is free then, and counts in the next look.
			wait.Reset(evictionWait)
		}
		e.await(ctx, ended, wait)
		wait.Stop()
	}
}

// await returns when all channels are closed, or wait is over. Without channels it waits, also for a report
// of the kernel; with them, what ends is to be counted first.
func (e *evictor) await(ctx context.Context, ended []<-chan struct{}, wait *time.Timer) {
	if ended == nil {
		ended = []<-chan struct{}{e.alarms.crossings()}
	}
	for _, pod := range ended {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
			return
		case <-pod:
		}
	}
}

// pressure returns the conditions of the node that are true.
func (e *evictor) pressure() []corev1.NodeConditionType {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.conditions)
}

// admit returns why a node under pressure does not start a pod; nil if it does.
func (e *evictor) admit(pod *corev1.Pod) *verdict {
	conditions := e.pressure()
	if eviction.Admits(conditions, pod) {
		return nil
	}
	return refusal(evicted, fmt.Sprintf("The node had condition: %v. ", conditions))
}

const evicted = "Evicted"

// round looks at the node once. The channels are closed when the pods that were evicted have stopped.
func (e *evictor) round(ctx context.Context) ([]<-chan struct{}, error) {
	sample, err := e.k.stats.take(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	e.alarms.update(ctx, sample, e.podMemory())
	observed := eviction.Observe(sample, e.podMemory())
	act := e.state.Next(now, e.thresholds, observed)
	e.setConditions(e.state.Conditions(now, e.policy.Transition))
	pods := e.active()
	if ended := e.overLimit(pods, sample); ended != nil {
		return ended, nil
	}
	if len(act) == 0 {
		return nil, nil
	}
	worst := act[0]
	e.k.recorder.About(e.k.node.about(), nil, events.Warning, "EvictionThresholdMet", fmt.Sprintf("Attempting to reclaim %s", worst.Signal.Resource()))
	if worst.Signal.Disk() && e.reclaim(ctx, worst.Signal, sample) {
		return nil, nil
	}
	eviction.Rank(pods, worst.Signal, sample)
	for _, t := range act {
		if len(pods) > 0 {
			e.k.metrics.evictionDelays.WithLabelValues(string(t.Signal)).Observe(time.Since(sample.At).Seconds())
		}
	}
	for _, pod := range pods {
		if eviction.Critical(pod) {
			continue
		}
		grace := int64(immediately)
		if worst.Grace > 0 {
			grace = int64(e.policy.MaxPodGrace / time.Second)
			if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
				grace = min(grace, *own)
			}
		}
		message, annotations := eviction.Message(pod, worst, observed, sample)
		condition := &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: byKubelet, Message: message}
		return []<-chan struct{}{e.evict(pod, string(worst.Signal), message, annotations, grace, condition)}, nil
	}
	e.log.Warn("no pod can be evicted", "signal", worst.Signal)
	return nil, nil
}

// immediately is the grace period, in seconds, of pods that end because the node runs short of something.
const immediately = 1

// setConditions publishes the conditions, at once if they have changed.
func (e *evictor) setConditions(now []corev1.NodeConditionType) {
	e.mu.Lock()
	changed := !slices.Equal(e.conditions, now)
	e.conditions = now
	e.mu.Unlock()
	if changed {
		e.k.node.poke()
	}
}

// podMemory is the memory that pods may use, in bytes; 0 if it is not known.
func (e *evictor) podMemory() uint64 {
	q, ok := e.k.opts.Capacity[corev1.ResourceMemory]
	if !ok {
		return 0
	}
	reserved := e.k.opts.Reserved[corev1.ResourceMemory]
	return uint64(max(q.Value()-reserved.Value(), 0))
}

// active returns the pods that may have something running.
func (e *evictor) active() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, w := range e.k.allWorkers() {
		if pod := w.active(); pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// overLimit ends the pods that use more local storage than they may.
func (e *evictor) overLimit(pods []*corev1.Pod, sample *usage.Sample) (ended []<-chan struct{}) {
	if e.k.opts.NoLocalStorageLimits {
		return nil
	}
	for _, pod := range pods {
		u := sample.Pods[pod.UID]
		if u == nil || eviction.Critical(pod) {
			continue
		}
		if signal, why := eviction.OverLimit(pod, u, sample.ImageApart()); why != "" {
			ended = append(ended, e.evict(pod, signal, why, nil, immediately, nil))
		}
	}
	return ended
}

// evict ends a pod. signal is what the metrics say that it was for; annotations are those of the event.
func (e *evictor) evict(pod *corev1.Pod, signal, message string, annotations map[string]string, grace int64, condition *corev1.PodCondition) <-chan struct{} {
	e.k.metrics.evictions.WithLabelValues(signal).Inc()
	e.log.Info("evicting pod", "namespace", pod.Namespace, "name", pod.Name, "message", message)
	e.k.recorder.Annotated(pod, annotations, events.Warning, evicted, message)
	return e.k.endPod(pod.UID, &verdict{phase: corev1.PodFailed, reason: evicted, message: message, grace: &grace, condition: condition})
}

// reclaim removes dead containers and unused images, as far as they are on the file system that is short, and
// reports whether that was enough.
func (e *evictor) reclaim(ctx context.Context, signal eviction.Signal, before *usage.Sample) bool {
	onNode := signal == eviction.NodeFsAvailable || signal == eviction.NodeFsInodesFree
	containers, images := true, true
	switch {
	case before.Split():
		containers, images = onNode, !onNode
	case before.ImageApart() && onNode:
		return false // neither is there
	}
	if containers {
		e.k.removeDeadContainers(ctx)
	}
	if images {
		if _, err := e.k.imageGC.free(ctx, math.MaxInt64, time.Now()); err != nil {
			e.log.Info("remove unused images failed", "err", err)
		}
	}
	after, err := e.k.stats.take(ctx)
	return err == nil && eviction.Resolved(e.thresholds, eviction.Observe(after, e.podMemory()))
}

// kept is what the hard thresholds keep from pods.
func (e *evictor) kept() corev1.ResourceList {
	memory, disk := e.k.opts.Capacity[corev1.ResourceMemory], e.k.opts.Capacity[corev1.ResourceEphemeralStorage]
	bytes, space := eviction.Reserved(e.thresholds, uint64(max(memory.Value(), 0)), uint64(max(disk.Value(), 0)))
	return corev1.ResourceList{corev1.ResourceMemory: resource.NewQuantity(int64(bytes), resource.BinarySI),
		corev1.ResourceEphemeralStorage: resource.NewQuantity(int64(space), resource.BinarySI)}
}

package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
)

// resizing is how far a change of a pod's resources is. It belongs to the worker.
type resizing struct {
	// pending says why the resources of the spec are not given; nil if they are.
	pending *corev1.PodCondition
	// begun is the generation whose resources are being given to running containers; 0 if none are.
	begun int64
	// failure is why that does not succeed.
	failure string
}

// resize gives a pod that was let in the resources of its spec, if there is room, and returns the pod with
// those that it has. pending says why it has others. accepted is why it has just got them: empty if it has
// not, retryUpdated if it did not wait for them.
func (l *ledger) resize(pod *corev1.Pod) (given *corev1.Pod, pending *corev1.PodCondition, accepted string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.in[pod.UID]
	if t == nil {
		return pod, nil, ""
	}
	accepted = retryUpdated
	if trigger, waited := l.waiting[pod.UID]; waited {
		accepted = trigger
	}
	delete(l.waiting, pod.UID)
	if t.meets(pod) {
		return pod, nil, ""
	}
	if !l.open { // not all pods are counted yet; what was said of it stands
		for i := range pod.Status.Conditions {
			if c := &pod.Status.Conditions[i]; c.Type == corev1.PodResizePending {
				pending = c
			}
		}
		return t.apply(pod), pending, ""
	}
	why := l.unresizable(pod, t)
	if why == nil {
		next := *t
		next.Pod, next.Containers, next.need = pod.Spec.Resources, allocationOf(pod).Containers, podquota.PodTotal(pod, podquota.Requests)
		if err := l.save(pod.UID, &next.allocation); err != nil {
			why = &corev1.PodCondition{Reason: string(corev1.PodResizeStatusDeferred), Message: "keep the allocation: " + err.Error()}
		} else {
			*t = next
			l.wakeWaiting(retryResized)
			return pod, nil, accepted
		}
	}
	why.Type = corev1.PodResizePending
	if why.Reason == string(corev1.PodResizeStatusDeferred) {
		l.waiting[pod.UID] = retryPeriodic
	}
	return t.apply(pod), why, ""
}

// unresizable says why a pod cannot have the resources of its spec, now or ever; nil if it can. The lock is
// held.
func (l *ledger) unresizable(pod *corev1.Pod, t *tenant) *corev1.PodCondition {
	if isStatic(pod.Annotations) {
		return &corev1.PodCondition{Reason: string(corev1.PodResizeStatusInfeasible), Message: "In-place resize of static-pods is not supported"}
	}
	if l.limits.resizesSwapping(pod, t.apply(pod)) {
		return &corev1.PodCondition{Reason: string(corev1.PodResizeStatusInfeasible), Message: fixedSwap}
	}
	if why := l.placer.fixed(pod, &t.allocation); why != "" {
		return &corev1.PodCondition{Reason: string(corev1.PodResizeStatusInfeasible), Message: why}
	}
	have := l.allocatable()
	for name, q := range podquota.PodTotal(pod, podquota.Requests) {
		room, ok := have[name]
		if had := t.need[name]; !ok || q.Cmp(had) <= 0 {
			continue // less of it is always possible
		}
		if q.Cmp(room) > 0 {
			return &corev1.PodCondition{Reason: string(corev1.PodResizeStatusInfeasible),
				Message: fmt.Sprintf("Node didn't have enough capacity: %s, requested: %d, capacity: %d", name, plainAmount(name, q), plainAmount(name, room))}
		}
		used := l.used(name, pod.UID)
		sum := used.DeepCopy()
		sum.Add(q)
		if sum.Cmp(room) > 0 {
			return &corev1.PodCondition{Reason: string(corev1.PodResizeStatusDeferred), Message: insufficient(name, q, used, room)}
		}
	}
	return nil
}

// Why a pod cannot have other amounts, whatever room there is.
const (
	fixedCPUs   = `Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"`
	fixedMemory = `Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"`
	fixedSwap   = "In-place resize of containers with swap is not supported."
)

// fixedDetail is how metrics call one of these; empty for others.
func fixedDetail(why string) string {
	switch why {
	case fixedCPUs:
		return "guaranteed_pod_cpu_manager_static_policy"
	case fixedMemory:
		return "guaranteed_pod_memory_manager_static_policy"
	case fixedSwap:
		return "swap_limitation"
	}
	return ""
}

// resizesSwapping reports whether a container that may swap, before or after, is to request another amount of
// memory without being started again. Its share of the swap would be another one, which runtimes do not give
// to running containers.
func (l *limits) resizesSwapping(pod, given *corev1.Pod) bool {
	for c := range containersOf(pod) {
		had := specOf(given, c.Name)
		was, now := had.Resources.Requests[corev1.ResourceMemory], c.Resources.Requests[corev1.ResourceMemory]
		if was.Cmp(now) != 0 && !startsAgain(had, corev1.ResourceMemory) && (l.maySwap(pod, c) || l.maySwap(given, had)) {
			return true
		}
	}
	return false
}

// actuate remembers that a running container has been changed.
func (l *ledger) actuate(uid types.UID, name, id string, r corev1.ResourceRequirements) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.in[uid]
	if t == nil {
		return nil
	}
	if t.Actuated == nil {
		t.Actuated = map[string]actuated{}
	}
	t.Actuated[name] = actuated{id, r}
	return l.save(uid, &t.allocation)
}

// has returns the resources that a container has that was made for c.
func (l *ledger) has(uid types.UID, c *corev1.Container, run *container) corev1.ResourceRequirements {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.in[uid]; t != nil {
		if a, ok := t.Actuated[c.Name]; ok && a.ID == run.id {
			return a.Resources
		}
	}
	if r, ok := madeWith(run); ok {
		return r
	}
	return c.Resources
}

// unactuated are the running containers that have other resources than they were given, with those.
func (w *worker) unactuated(pod *corev1.Pod, v *view) map[*corev1.Container]corev1.ResourceRequirements {
	var list map[*corev1.Container]corev1.ResourceRequirements
	for c := range containersOf(pod) {
		run := v.latest(c.Name)
		if !run.running() {
			continue
		}
		if has := w.k.ledger.has(w.uid, c, run); !sameResources(&has, &c.Resources) {
			if list == nil {
				list = map[*corev1.Container]corev1.ResourceRequirements{}
			}
			list[c] = has
		}
	}
	return list
}

// needsRestart reports whether the resize policy of a container demands that it is started again to get other
// resources than it has.
func needsRestart(c *corev1.Container, has *corev1.ResourceRequirements) bool {
	for name := range differing(has, &c.Resources) {
		if startsAgain(c, name) {
			return true
		}
	}
	return false
}

// startsAgain reports whether a container is started again to get another amount of a resource.
func startsAgain(c *corev1.Container, name corev1.ResourceName) bool {
	return slices.ContainsFunc(c.ResizePolicy, func(p corev1.ContainerResizePolicy) bool {
		return p.ResourceName == name && p.RestartPolicy == corev1.RestartContainer
	})
}

// actuate gives running containers the resources that the ledger has given them, but those that must be
// started again for it. The pod's group is widened before, because no group may have more than its parent,
// and narrowed after.
func (w *worker) actuate(ctx context.Context, pod *corev1.Pod, v *view) (err error) {
	changes := w.unactuated(pod, v)
	before := rebuilt(pod, nil)
	for c, has := range changes {
		before.Containers[c.Name] = has
		if needsRestart(c, &has) {
			delete(changes, c)
		}
	}
	if len(changes) == 0 && !w.regroup {
		return nil
	}
	began := time.Now()
	defer func() {
		if ctx.Err() == nil {
			w.k.metrics.took(began, err)
		}
	}()
	for c, has := range changes {
		if err := w.belowUse(ctx, c, &has); err != nil {
			return err
		}
	}
	if err := w.k.cgroups.makePod(ctx, pod, podTotals(before.apply(pod)).wider(podTotals(pod))); err != nil {
		return fmt.Errorf("change the pod's cgroup: %w", err)
	}
	for c := range changes {
		run := v.latest(c.Name)
		resources := w.k.limits.container(pod, c)
		if _, err := w.k.rt.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{ContainerId: run.id, Linux: resources}); err != nil {
			return fmt.Errorf("update container %s: %s", c.Name, status.Convert(err).Message())
		}
		if err := w.k.ledger.actuate(w.uid, c.Name, run.id, c.Resources); err != nil {
			return err
		}
	}
	if len(w.unactuated(pod, v)) == 0 {
		if err := w.k.cgroups.makePod(ctx, pod, podTotals(pod)); err != nil {
			return fmt.Errorf("change the pod's cgroup: %w", err)
		}
		w.regroup = false
	}
	return nil
}

// belowUse returns an error if a container uses more memory than it may have from now on, which would end it.
func (w *worker) belowUse(ctx context.Context, c *corev1.Container, has *corev1.ResourceRequirements) error {
	limit, limited := amount(c.Resources.Limits, corev1.ResourceMemory)
	if had, ok := amount(has.Limits, corev1.ResourceMemory); !limited || ok && limit.Cmp(had) >= 0 {
		return nil
	}
	sample, err := w.k.stats.take(ctx)
	if err != nil {
		return fmt.Errorf("unable to read memory usage: %w", err)
	}
	if p := sample.Pods[w.uid]; p != nil {
		for i := range p.Containers {
			u := &p.Containers[i]
			if used := max(u.MemoryUsage, u.WorkingSet); u.Name == c.Name && used >= uint64(limit.Value()) {
				return fmt.Errorf("attempting to set container %q memory limit (%d) below current usage (%d)", c.Name, limit.Value(), used)
			}
		}
	}
	return nil
}

// tryResize gives the pod the resources of its spec, as far as possible, and returns it with those that it
// has.
func (w *worker) tryResize(pod *corev1.Pod) *corev1.Pod {
	given, pending, accepted := w.k.ledger.resize(pod)
	if accepted != "" {
		if w.resizing.pending != nil && w.resizing.pending.Reason == string(corev1.PodResizeStatusDeferred) {
			w.k.metrics.accepted.WithLabelValues(accepted).Inc()
		}
		w.resizing.begun, w.resizing.failure, w.regroup = pod.Generation, "", true
		w.k.recorder.Event(pod, events.Normal, "ResizeStarted", resizeMessage("Pod resize started", pod, ""))
	}
	if pending != nil && (w.resizing.pending == nil || w.resizing.pending.Message != pending.Message) {
		if detail := fixedDetail(pending.Message); detail != "" {
			w.k.metrics.infeasible.WithLabelValues(detail).Inc()
		}
		w.k.recorder.Event(pod, events.Warning, "Resize"+pending.Reason, resizeMessage("Pod resize "+pending.Reason, pod, pending.Message))
	}
	w.resizing.pending = pending
	return given
}

// settleResize actuates a resize and says how it went. It returns when to try again; 0 means that it is done.
func (w *worker) settleResize(ctx context.Context, pod *corev1.Pod, v *view) (again time.Duration) {
	err := w.actuate(ctx, pod, v)
	if err != nil && ctx.Err() == nil {
		if w.resizing.failure != err.Error() {
			w.k.recorder.Event(pod, events.Warning, "ResizeError", resizeMessage("Pod resize error", pod, err.Error()))
		}
		w.resizing.failure = err.Error()
		return 5 * retryAfter
	}
	if w.resizing.failure = ""; w.resizing.begun > 0 && len(w.unactuated(pod, v)) == 0 {
		w.resizing.begun = 0
		w.k.recorder.Event(pod, events.Normal, "ResizeCompleted", resizeMessage("Pod resize completed", pod, ""))
	}
	return 0
}

// resizeMessage is the text of an event: what happened, and the resources of the pod as JSON.
func resizeMessage(what string, pod *corev1.Pod, failure string) string {
	type one struct {
		Name      string                      `json:"name"`
		Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	}
	var all struct {
		Init       []one  `json:"initContainers,omitempty"`
		Containers []one  `json:"containers,omitempty"`
		Generation int64  `json:"generation"`
		Error      string `json:"error,omitempty"`
	}
	for _, c := range pod.Spec.InitContainers {
		all.Init = append(all.Init, one{c.Name, c.Resources})
	}
	for _, c := range pod.Spec.Containers {
		all.Containers = append(all.Containers, one{c.Name, c.Resources})
	}
	all.Generation, all.Error = pod.Generation, failure
	b, err := json.Marshal(all)
	if err != nil {
		return what
	}
	return what + ": " + string(b)
}

// resizeConditions are those of the resize under way, and of the one that has to wait.
func (w *worker) resizeConditions() []corev1.PodCondition {
	var list []corev1.PodCondition
	if w.resizing.pending != nil {
		list = append(list, *w.resizing.pending)
	}
	if w.resizing.begun > 0 && w.ended == nil || w.resizing.failure != "" {
		c := corev1.PodCondition{Type: corev1.PodResizeInProgress}
		if w.resizing.failure != "" {
			c.Reason, c.Message = "Error", w.resizing.failure
		}
		list = append(list, c)
	}
	return list
}

// isResize reports whether a condition is one of resizes.
func isResize(t corev1.PodConditionType) bool {
	return t == corev1.PodResizePending || t == corev1.PodResizeInProgress
}

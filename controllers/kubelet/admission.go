package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/checkpoint"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
)

// ledger decides which pods the node has room for, one at a time, and what each of their containers gets.
// What it has let in counts until all its containers have stopped, whatever the server knows of it by then.
// What it has given is kept in a checkpoint of each pod. Safe for concurrent use.
type ledger struct {
	allocatable func() corev1.ResourceList
	path        func(types.UID) string // of a pod's checkpoint
	wake        func(types.UID)
	log         *slog.Logger
	devices     *devices // nil without plugins
	placer      *placer  // nil if no container has CPUs or memory for itself
	limits      *limits

	mu      sync.Mutex
	open    bool
	in      map[types.UID]*tenant
	refused map[types.UID]*verdict
	waiting map[types.UID]string // those that can have more when others need less, with why they try again
}

// tenant is a pod that was let in.
type tenant struct {
	allocation
	need  corev1.ResourceList
	ports []hostPort
	pod   *corev1.Pod // as it was let in
	// leaving is true once the pod was ordered to end to make room for a critical one.
	leaving bool
	// sure is true if the allocation comes from a checkpoint, or from the pod's containers.
	sure bool
	// first is true if no earlier kubelet can have let the pod in: the pod came after those that were there
	// when this kubelet started, and has no checkpoint.
	first bool
}

func newLedger(k *Kubelet) *ledger {
	return &ledger{allocatable: k.node.allocatable, path: func(uid types.UID) string { return filepath.Join(k.podDir(uid), "allocation") }, wake: k.wake, log: k.log, devices: k.devices, placer: k.placer, limits: k.limits,
		in: map[types.UID]*tenant{}, refused: map[types.UID]*verdict{}, waiting: map[types.UID]string{}}
}

// admit lets a pod in or returns why not. Pods that the runtime already holds something of, which v shows,
// are always let in. All others wait, decided is then false, until the ledger has been opened, but static
// pods, without which there may be no API server. A critical pod is let in when the pods of first have
// stopped.
func (l *ledger) admit(pod *corev1.Pod, v *view, static bool) (why *verdict, decided bool, first []victim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !v.empty() {
		l.enter(pod, v)
		return nil, true, nil
	}
	if t := l.in[pod.UID]; t != nil {
		l.enter(pod, v)
		return nil, true, nil
	}
	if why := l.refused[pod.UID]; why != nil {
		return why, true, nil
	}
	if !l.open && !static {
		return nil, false, nil
	}
	if eviction.Critical(pod) && !l.taken(hostPorts(pod)) && l.lacking(pod) != nil {
		if first, why = l.makeRoom(pod); why == nil {
			l.enter(pod, v)
			return nil, true, first
		}
		l.refused[pod.UID] = why
		return why, true, nil
	}
	return l.decide(pod, v), true, nil
}

// enter counts a pod, with what it was given before as far as that is known. The lock is held.
func (l *ledger) enter(pod *corev1.Pod, v *view) {
	if t := l.in[pod.UID]; t != nil && (t.sure || v == nil) {
		return
	}
	delete(l.refused, pod.UID)
	kept, err := checkpoint.Load[allocation](l.path(pod.UID))
	if err != nil {
		l.log.Warn("load the allocation of a pod failed, it is taken from its containers", "namespace", pod.Namespace, "name", pod.Name, "err", err)
	}
	t := &tenant{pod: pod, first: l.open && kept == nil && err == nil}
	if kept != nil && kept.Containers != nil {
		t.allocation, t.sure = *kept, true
	} else {
		t.allocation, t.sure = rebuilt(pod, v), v != nil
	}
	t.need, t.ports = podquota.PodTotal(t.apply(pod), podquota.Requests), hostPorts(pod)
	l.in[pod.UID] = t
	l.devices.take(pod.UID, t.Grants)
	l.placer.restore(pod.UID, t.Placed)
	if t.sure && kept == nil {
		if err := l.save(pod.UID, &t.allocation); err != nil {
			l.log.Warn("keep the allocation of a pod failed", "namespace", pod.Namespace, "name", pod.Name, "err", err)
		}
	}
}

func (l *ledger) save(uid types.UID, a *allocation) error { return checkpoint.Save(l.path(uid), a) }

// first reports whether no kubelet before this one can have let a pod in.
func (l *ledger) first(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.in[uid]
	return t != nil && t.first
}

// apply returns a pod with the resources that it was given; with those of its spec if it was not let in.
func (l *ledger) apply(pod *corev1.Pod) *corev1.Pod {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.in[pod.UID]; t != nil {
		return t.apply(pod)
	}
	return pod
}

// decide lets a new pod in if there is room for it. The lock is held.
func (l *ledger) decide(pod *corev1.Pod, v *view) *verdict {
	why := l.lacking(pod)
	if why == nil && l.taken(hostPorts(pod)) {
		why = refusal("NodePorts", noPorts)
	}
	if why != nil {
		l.refused[pod.UID] = why
		return why
	}
	l.enter(pod, v)
	return nil
}

// lacking returns which resources are insufficient for a pod; nil if it fits. The lock is held.
func (l *ledger) lacking(pod *corev1.Pod) *verdict {
	have := l.allocatable()
	lack := func(name corev1.ResourceName, need, used, room resource.Quantity) *verdict {
		return refusal("OutOf"+string(name), insufficient(name, need, used, room))
	}
	if pods := have[corev1.ResourcePods]; !pods.IsZero() && int64(len(l.in))+1 > pods.Value() {
		return lack(corev1.ResourcePods, resource.NewQuantity(1, resource.DecimalSI), resource.NewQuantity(int64(len(l.in)), resource.DecimalSI), pods)
	}
	need := podquota.PodTotal(pod, podquota.Requests)
	for name, q := range need {
		room, ok := have[name]
		if !ok || q.IsZero() {
			continue
		}
		used := l.used(name, "")
		sum := used.DeepCopy()
		sum.Add(q)
		if sum.Cmp(room) > 0 {
			return lack(name, q, used, room)
		}
	}
	return nil
}

// used is how much of a resource was given to the pods but one. The lock is held.
func (l *ledger) used(name corev1.ResourceName, but types.UID) resource.Quantity {
	used := resource.Quantity{}
	for uid, other := range l.in {
		if uid != but {
			used.Add(other.need[name])
		}
	}
	return used
}

// insufficient says how much of a resource there is too little.
func insufficient(name corev1.ResourceName, need, used, room resource.Quantity) string {
	return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
		name, plainAmount(name, need), plainAmount(name, used), plainAmount(name, room))
}

// plainAmount is an amount in the unit of messages: milli-CPUs, bytes or pieces.
func plainAmount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// begin opens the ledger with the pods that are bound to the node. It lets in, in this order and as far as
// there is room: those that the runtime already holds something of (all of them), those that an earlier
// kubelet let in, the others, the oldest first of each.
func (l *ledger) begin(pods []*corev1.Pod, held func(types.UID) bool) {
	rank := func(p *corev1.Pod) int {
		switch {
		case held(p.UID):
			return 0
		case p.Status.StartTime != nil:
			return 1
		}
		return 2
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(rank(a)-rank(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range pods {
		if rank(p) == 0 {
			l.enter(p, nil)
		} else if _, in := l.in[p.UID]; !in && !(eviction.Critical(p) && l.lacking(p) != nil) {
			// A critical pod without room is left to its worker, which makes some.
			l.decide(p, &view{})
		}
	}
	l.open = true
}

// release gives the room of a pod back, because its containers have stopped.
func (l *ledger) release(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(uid)
}

// forget drops all that is known of a pod that is gone.
func (l *ledger) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(uid)
	delete(l.refused, uid)
}

// leave takes a pod out. The lock is held.
func (l *ledger) leave(uid types.UID) {
	delete(l.waiting, uid)
	if l.in[uid] == nil {
		return
	}
	delete(l.in, uid)
	l.devices.release(uid)
	l.placer.release(uid)
	l.wakeWaiting(retryTerminated)
}

// wakeWaiting lets those try again that wait for room, because of something. The lock is held.
func (l *ledger) wakeWaiting(trigger string) {
	for uid := range l.waiting {
		l.waiting[uid] = trigger
		l.wake(uid)
	}
}

// openLedger opens the ledger once the pods of the node are known and the runtime has said what it holds.
func (k *Kubelet) openLedger(ctx context.Context) {
	if k.apiPods.WaitForSync(ctx) != nil {
		return
	}
	for {
		if err := k.tryOpenLedger(ctx); err == nil {
			break
		} else if ctx.Err() == nil {
			k.log.Info("list containers failed, new pods wait for the runtime", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.workers {
		w.poke()
	}
}

func (k *Kubelet) tryOpenLedger(ctx context.Context) error {
	k.pleg.relist(ctx)
	if _, err := k.pleg.healthy(); err != nil {
		return err
	}
	held := k.pleg.held()
	all, err := k.apiPods.Lister().List(listAll)
	if err != nil {
		return err
	}
	pods := slices.DeleteFunc(all, func(p *corev1.Pod) bool {
		return isMirror(p) || over(p.Status.Phase) || !held[p.UID] && (p.DeletionTimestamp != nil || k.refuse(p) != nil)
	})
	k.ledger.begin(pods, func(uid types.UID) bool { return held[uid] })
	return nil
}

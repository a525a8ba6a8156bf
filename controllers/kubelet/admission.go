package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// ledger decides which pods the node has room for, one at a time. What it has let in counts until all its
// containers have stopped, whatever the server knows of it by then. Safe for concurrent use.
type ledger struct {
	allocatable func() corev1.ResourceList

	mu      sync.Mutex
	open    bool
	in      map[types.UID]corev1.ResourceList // what pods that were let in need
	refused map[types.UID]*verdict
}

func newLedger(allocatable func() corev1.ResourceList) *ledger {
	return &ledger{allocatable: allocatable, in: map[types.UID]corev1.ResourceList{}, refused: map[types.UID]*verdict{}}
}

// admit lets a pod in or returns why not. Pods that the runtime already holds something of, and static pods,
// which others make way for, are always let in. All others wait, decided is then false, until the ledger has
// been opened.
func (l *ledger) admit(pod *corev1.Pod, always bool) (why *verdict, decided bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if always {
		l.enter(pod)
		l.in[pod.UID] = podquota.PodTotal(pod, podquota.Requests) // as it was given
	}
	if _, ok := l.in[pod.UID]; ok {
		return nil, true
	}
	if why := l.refused[pod.UID]; why != nil {
		return why, true
	}
	if !l.open {
		return nil, false
	}
	return l.decide(pod), true
}

// enter counts a pod. The lock is held.
func (l *ledger) enter(pod *corev1.Pod) {
	if _, ok := l.in[pod.UID]; !ok {
		l.in[pod.UID] = podquota.PodTotal(pod, podquota.Requests)
		delete(l.refused, pod.UID)
	}
}

// decide lets a new pod in if there is room for it. The lock is held.
func (l *ledger) decide(pod *corev1.Pod) *verdict {
	why := l.lacking(pod)
	if why != nil {
		l.refused[pod.UID] = why
		return why
	}
	l.enter(pod)
	return nil
}

// lacking returns which resources are insufficient for a pod; nil if it fits. The lock is held.
func (l *ledger) lacking(pod *corev1.Pod) *verdict {
	have := l.allocatable()
	lack := func(name corev1.ResourceName, need, used, have int64) *verdict {
		return refusal("OutOf"+string(name),
			fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, need, used, have))
	}
	if pods := have[corev1.ResourcePods]; !pods.IsZero() && int64(len(l.in))+1 > pods.Value() {
		return lack(corev1.ResourcePods, 1, int64(len(l.in)), pods.Value())
	}
	need := podquota.PodTotal(pod, podquota.Requests)
	for name, q := range need {
		room, ok := have[name]
		if !ok || q.IsZero() {
			continue
		}
		used := resource.Quantity{}
		for _, other := range l.in {
			used.Add(other[name])
		}
		sum := used.DeepCopy()
		sum.Add(q)
		if sum.Cmp(room) <= 0 {
			continue
		}
		if name == corev1.ResourceCPU {
			return lack(name, q.MilliValue(), used.MilliValue(), room.MilliValue())
		}
		return lack(name, q.Value(), used.Value(), room.Value())
	}
	return nil
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
			l.enter(p)
		} else if _, in := l.in[p.UID]; !in {
			l.decide(p)
		}
	}
	l.open = true
}

// release gives the room of a pod back, because its containers have stopped.
func (l *ledger) release(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.in, uid)
}

// forget drops all that is known of a pod that is gone.
func (l *ledger) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.in, uid)
	delete(l.refused, uid)
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

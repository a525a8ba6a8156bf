package kubelet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/eviction"
)

// victim is a pod that ends so that a critical one has room.
type victim struct {
	pod *corev1.Pod
	// lacking is the resource that it is for; empty if the pod was ordered to end for another one before.
	lacking corev1.ResourceName
}

// shortage is how much of each resource there is too little for a pod, in plain amounts. What pods have that
// are leaving counts as free. The lock is held.
func (l *ledger) shortage(pod *corev1.Pod) map[corev1.ResourceName]int64 {
	have, short := l.allocatable(), map[corev1.ResourceName]int64{}
	need := podquota.PodTotal(pod, podquota.Requests)
	for name, room := range have {
		want := plainAmount(name, need[name])
		if name == corev1.ResourcePods {
			want = 1
		}
		if want == 0 || name == corev1.ResourcePods && room.IsZero() {
			continue
		}
		for _, t := range l.in {
			if !t.leaving {
				want += t.gives(name)
			}
		}
		if want > plainAmount(name, room) {
			short[name] = want - plainAmount(name, room)
		}
	}
	return short
}

// gives is how much of a resource is free when the pod has ended.
func (t *tenant) gives(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return 1
	}
	return plainAmount(name, t.need[name])
}

// makeRoom chooses the pods that end for a critical one: as few guaranteed ones as possible, then as few
// burstable ones, then as few of best effort, in each those first that come closest to what is needed. It is
// the choice of k8s.io/kubernetes/pkg/kubelet/preemption/preemption.go, v1.36.3. The lock is held.
func (l *ledger) makeRoom(pod *corev1.Pod) ([]victim, *verdict) {
	short := l.shortage(pod)
	var list []victim
	classes := map[corev1.PodQOSClass][]*tenant{}
	uids := slices.Sorted(maps.Keys(l.in)) // the choice between equals is that of an order
	for _, uid := range uids {
		t := l.in[uid]
		switch {
		case t.leaving:
			list = append(list, victim{pod: t.pod})
		case preemptable(pod, t.pod):
			q := corev1.QOSClass(t.pod)
			classes[q] = append(classes[q], t)
		}
	}
	order := []corev1.PodQOSClass{corev1.PodQOSGuaranteed, corev1.PodQOSBurstable, corev1.PodQOSBestEffort}
	var chosen []*tenant
	for i, class := range order {
		// What the classes after it can give, all of them, is not taken from this one.
		left := less(short, chosen)
		for _, after := range order[i+1:] {
			left = less(left, classes[after])
		}
		more, ok := closest(classes[class], left)
		if !ok {
			return nil, refusal("UnexpectedAdmissionError", fmt.Sprintf("Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: %s",
				shortText(left)))
		}
		chosen = append(chosen, more...)
	}
	first := slices.Sorted(maps.Keys(short))
	for _, t := range chosen {
		t.leaving = true
		list = append(list, victim{t.pod, first[0]})
	}
	return list, nil
}

// preemptable reports whether a pod makes way for another.
func preemptable(by, pod *corev1.Pod) bool {
	if !eviction.Critical(pod) {
		return true
	}
	return by.Spec.Priority != nil && pod.Spec.Priority != nil && *by.Spec.Priority > *pod.Spec.Priority
}

// less is what is lacking when some pods have ended.
func less(short map[corev1.ResourceName]int64, ended []*tenant) map[corev1.ResourceName]int64 {
	left := map[corev1.ResourceName]int64{}
	for name, n := range short {
		for _, t := range ended {
			n -= t.gives(name)
		}
		if n > 0 {
			left[name] = n
		}
	}
	return left
}

// closest chooses pods until nothing is lacking, each time the one that leaves the least, or the smaller of
// two that leave as much; false if all together are not enough.
func closest(from []*tenant, short map[corev1.ResourceName]int64) (chosen []*tenant, ok bool) {
	from = slices.Clone(from)
	for len(short) > 0 {
		if len(from) == 0 {
			return nil, false
		}
		distance := func(t *tenant) (sum float64) {
			for _, name := range slices.Sorted(maps.Keys(short)) {
				if left := float64(short[name] - t.gives(name)); left > 0 {
					part := left / float64(short[name])
					sum += part * part
				}
			}
			return sum
		}
		best := slices.MinFunc(from, func(a, b *tenant) int {
			return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a.gives(corev1.ResourceMemory), b.gives(corev1.ResourceMemory)),
				cmp.Compare(a.gives(corev1.ResourceCPU), b.gives(corev1.ResourceCPU)))
		})
		chosen = append(chosen, best)
		short = less(short, []*tenant{best})
		from = slices.DeleteFunc(from, func(t *tenant) bool { return t == best })
	}
	return chosen, true
}

// shortText lists what is lacking.
func shortText(short map[corev1.ResourceName]int64) string {
	text := "["
	for _, name := range slices.Sorted(maps.Keys(short)) {
		text += fmt.Sprintf("(res: %v, q: %d), ", name, short[name])
	}
	return text + "]"
}

// The words of events and statuses of pods that made way.
const (
	preempting       = "Preempting"
	preemptedMessage = "Preempted in order to admit critical pod"
	preemptedReason  = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// preempt ends pods and reports whether all have stopped before ctx ended.
func (k *Kubelet) preempt(ctx context.Context, list []victim) bool {
	stopped := map[types.UID]<-chan struct{}{}
	for _, v := range list {
		if v.lacking != "" {
			k.recorder.Event(v.pod, events.Warning, preempting, preemptedMessage)
			k.metrics.preemptions.WithLabelValues(string(v.lacking)).Inc()
			k.log.Info("pod makes way for a critical one", "namespace", v.pod.Namespace, "name", v.pod.Name, "resource", v.lacking)
		}
		stopped[v.pod.UID] = k.endPod(v.pod.UID, &verdict{phase: corev1.PodFailed, reason: preempting, message: preemptedMessage,
			condition: &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: byKubelet, Message: preemptedReason}})
	}
	for _, ended := range stopped {
		if ended == nil {
			continue // gone already
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

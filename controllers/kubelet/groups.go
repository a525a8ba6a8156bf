package kubelet

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// weighGroups gives burstable pods together what they request. It is called before a pod's group is made and
// with the housekeeping, since pods end and are changed; all is true once all pods are known.
func (k *Kubelet) weighGroups(ctx context.Context, all bool) {
	if k.cgroups.off {
		return
	}
	sum := int64(0)
	var guaranteed, burstable int64    // bytes that the kernel protects
	for _, w := range k.allWorkers() { // not under the lock, which the ledger's is taken before
		pod, _ := w.desired()
		if over(pod.Status.Phase) {
			continue
		}
		pod = k.ledger.apply(pod)
		if corev1.QOSClass(pod) == corev1.PodQOSBurstable {
			sum += podTotals(pod).cpuRequest
		}
		if k.cgroups.qos != nil {
			least, low := k.cgroups.qos.share(pod)
			guaranteed, burstable = guaranteed+max(least, 0), burstable+max(low, 0)
		}
	}
	if err := k.cgroups.protect(ctx, guaranteed, burstable); err != nil {
		k.log.Warn("protect the memory of pods failed", "err", err)
	} else if k.cgroups.qos != nil {
		k.metrics.protected(guaranteed, burstable)
	}
	if err := k.cgroups.weigh(ctx, sum, all); err != nil {
		k.log.Warn("set CPU weight of burstable pods failed", "err", err)
	}
}

// sweepGroups removes the groups of pods that are gone. The first try, when a pod is cleaned up, fails while
// the kernel still counts a process in one.
func (k *Kubelet) sweepGroups(ctx context.Context) { k.sweep(ctx, k.wanted) }

func (k *Kubelet) sweep(ctx context.Context, wanted func(types.UID) bool) {
	groups := k.cgroups.pods()
	if len(groups) == 0 {
		return
	}
	there := k.pleg.held()
	for uid := range groups {
		if !there[uid] && !wanted(uid) {
			k.cgroups.removePod(ctx, uid)
		}
	}
}

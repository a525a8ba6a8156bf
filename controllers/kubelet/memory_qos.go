package kubelet

import (
	"context"
	"math"
	"os"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/cgroup"
)

// MemoryQoS says what the kernel does with the memory of pods beyond their limits, on cgroup v2: the feature
// MemoryQoS of Kubernetes 1.36, which is alpha.
type MemoryQoS struct {
	// Throttling is where between the request of a container and its limit, or what the node has without one,
	// the kernel begins to slow it down: greater than 0, 1 at most.
	Throttling float64
	// Reserve keeps what pods request: that of guaranteed pods is never taken away, that of burstable ones
	// last.
	Reserve bool
}

// share is what the kernel protects of a pod's memory, in bytes: for good, and as far as possible; negative
// means none.
func (q *MemoryQoS) share(pod *corev1.Pod) (least, low int64) {
	request := podquota.PodTotal(pod, podquota.Requests)[corev1.ResourceMemory]
	if !q.Reserve || request.Sign() <= 0 {
		return -1, -1
	}
	if corev1.QOSClass(pod) == corev1.PodQOSGuaranteed {
		return request.Value(), -1
	}
	return -1, request.Value()
}

// protected are the settings of a container's group that protect its memory and slow it down, as
// k8s.io/kubernetes/pkg/kubelet/kuberuntime/kuberuntime_container_linux.go, v1.36.3, computes them.
func (l *limits) protected(pod *corev1.Pod, c *corev1.Container) map[string]string {
	if l.qos == nil || !l.v2 {
		return nil
	}
	request, limit := memoryRequest(c), c.Resources.Limits[corev1.ResourceMemory]
	set := map[string]string{}
	put := func(name string, n int64) { set[name] = strconv.FormatInt(n, 10) }
	switch {
	case request == 0 || !l.qos.Reserve:
		put("memory.min", 0)
		put("memory.low", 0)
	case corev1.QOSClass(pod) == corev1.PodQOSGuaranteed:
		put("memory.min", request)
	default:
		put("memory.low", request)
	}
	most := limit.Value()
	if most == request {
		return set
	}
	if most == 0 {
		all := l.allocatable()[corev1.ResourceMemory]
		most = all.Value()
	}
	page := int64(os.Getpagesize())
	high := int64(math.Floor((float64(request)+float64(most-request)*l.qos.Throttling)/float64(page))) * page
	if high > request {
		put("memory.high", high)
	}
	return set
}

// protect protects the memory of all pods together, which bounds that of each: so many bytes of guaranteed
// pods, and of burstable ones.
func (c *cgroups) protect(ctx context.Context, guaranteed, burstable int64) error {
	if c.off || c.qos == nil {
		return nil
	}
	none := func(n int64) int64 {
		if n == 0 {
			return -1
		}
		return n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	want := [2]int64{guaranteed + burstable, burstable}
	if c.protected != nil && *c.protected == want {
		return nil
	}
	if err := c.apply(ctx, c.class(corev1.PodQOSGuaranteed), cgroup.Settings{MemoryMin: none(want[0])}); err != nil {
		return err
	}
	if err := c.apply(ctx, c.class(corev1.PodQOSBurstable), cgroup.Settings{MemoryLow: none(want[1])}); err != nil {
		return err
	}
	c.protected = &want
	return nil
}

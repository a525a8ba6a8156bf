package eviction

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	podquota "github.com/keelson-dev/keelson/apimachinery/quota"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/usage"
)

// Rank sorts pods: the first is the first to be evicted for a signal. Pods that use more than they request
// come before the others, then those of low priority, then those that use the most. A pod of which nothing
// was measured comes first. Of inodes and processes none are requested; the use of inodes counts less the
// bytes of ephemeral storage that are requested, as in Kubernetes. For processes the priority comes first.
func Rank(pods []*corev1.Pod, signal Signal, s *usage.Sample) {
	type facts struct {
		unknown, exceeds bool
		priority         int32
		over             int64 // what it uses beyond its requests
	}
	known := map[*corev1.Pod]facts{}
	for _, pod := range pods {
		f := facts{unknown: true, priority: priority(pod)}
		if u := s.Pods[pod.UID]; u != nil {
			requests, used := podquota.PodTotal(pod, podquota.Requests), int64(used(u, signal, s))
			f.unknown, f.over = false, used
			switch name := signal.Resource(); name {
			case inodes:
				request := requests[corev1.ResourceEphemeralStorage]
				f.exceeds, f.over = used > 0, used-request.Value()
			case processes:
			default:
				request := requests[name]
				f.exceeds, f.over = used > request.Value(), used-request.Value()
			}
		}
		known[pod] = f
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		x, y := known[a], known[b]
		if signal.Resource() == processes {
			if c := cmp.Compare(x.priority, y.priority); c != 0 {
				return c
			}
		}
		return cmp.Or(first(x.unknown, y.unknown), first(x.exceeds, y.exceeds), cmp.Compare(x.priority, y.priority), cmp.Compare(y.over, x.over),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func priority(pod *corev1.Pod) int32 {
	if p := pod.Spec.Priority; p != nil {
		return *p
	}
	return 0
}

// used returns what a pod uses of what a signal measures. Images on a file system of their own share it with
// the containers' layers, unless those are elsewhere: then the node's has them.
func used(p *usage.Pod, signal Signal, s *usage.Sample) uint64 {
	var space usage.Space
	switch signal {
	case MemoryAvailable, AllocatableMemoryAvailable:
		n, _ := p.WorkingSet()
		return n
	case PIDAvailable:
		return p.Processes
	case NodeFsAvailable, NodeFsInodesFree:
		space = p.Local()
		if s.Split() {
			space = p.Ephemeral()
		}
	default:
		if !s.Split() {
			space = p.Layers()
		}
	}
	if !s.ImageApart() {
		space = p.Ephemeral()
	}
	if signal.Resource() == inodes {
		return space.Inodes
	}
	return space.Bytes
}

// critical are the priorities that belong to the system.
const critical = 2_000_000_000

// Critical reports whether a pod is never evicted: static pods, which would not come back, their mirrors and
// those of a system priority.
func Critical(pod *corev1.Pod) bool {
	source := pod.Annotations["kubernetes.io/config.source"]
	return source != "" && source != "api" || pod.Annotations["kubernetes.io/config.mirror"] != "" || priority(pod) >= critical
}

// Message says why a pod is evicted, for its status, and in annotations, for those who read the event.
func Message(pod *corev1.Pod, t Threshold, o Observations, s *usage.Sample) (text string, annotations map[string]string) {
	name := t.Signal.Resource()
	var b strings.Builder
	fmt.Fprintf(&b, "The node was low on resource: %v. ", name)
	obs := o[t.Signal]
	format := resource.BinarySI
	if name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage {
		format = resource.DecimalSI
	}
	least, available := t.Least.Text, resource.NewQuantity(int64(obs.Available), format)
	if least == "" {
		q := resource.NewQuantity(int64(t.Least.Of(obs.Capacity)), resource.BinarySI)
		least = q.String()
	}
	fmt.Fprintf(&b, "Threshold quantity: %v, available: %v. ", least, available.String())
	u := s.Pods[pod.UID]
	if u == nil {
		return b.String(), nil
	}
	annotations = map[string]string{"starved_resource": string(name)}
	if own := pod.Spec.Resources; own != nil && name == corev1.ResourceMemory {
		if request, ok := own.Requests[name]; ok {
			n, _ := u.WorkingSet()
			used := resource.NewQuantity(int64(n), resource.BinarySI)
			fmt.Fprintf(&b, "Pod %s was using %s, request is %s, has larger consumption of %v. ", pod.Name, used.String(), request.String(), name)
			annotations["offending_pod"], annotations["offending_pod_usage"] = pod.Name, used.String()
		}
	}
	var names, amounts []string
	for i := range u.Containers {
		c := &u.Containers[i]
		spec := specOf(pod, c.Name)
		if spec == nil {
			continue
		}
		var n uint64
		switch name {
		case corev1.ResourceMemory:
			n = c.WorkingSet
		case corev1.ResourceEphemeralStorage:
			n = c.Layer.Bytes + c.Logs.Bytes
		default:
			continue
		}
		used, request := resource.NewQuantity(int64(n), resource.BinarySI), spec.Resources.Requests[name]
		if used.Cmp(request) > 0 {
			fmt.Fprintf(&b, "Container %s was using %s, request is %s, has larger consumption of %v. ", c.Name, used.String(), request.String(), name)
			names, amounts = append(names, c.Name), append(amounts, used.String())
		}
	}
	annotations["offending_containers"], annotations["offending_containers_usage"] = strings.Join(names, ","), strings.Join(amounts, ",")
	return b.String(), annotations
}

func specOf(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// OverLimit returns why a pod that uses more local storage than its limits allow is evicted, and how metrics
// name the limit; "" if it does not.
func OverLimit(pod *corev1.Pod, u *usage.Pod, imageApart bool) (signal, why string) {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
			continue
		}
		at := slices.IndexFunc(u.Volumes, func(have usage.Volume) bool { return have.Name == v.Name })
		if at >= 0 && int64(u.Volumes[at].Bytes) > v.EmptyDir.SizeLimit.Value() {
			return "emptydirfs.limit", fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, v.EmptyDir.SizeLimit.String())
		}
	}
	if limit, ok := podquota.PodTotal(pod, podquota.Limits)[corev1.ResourceEphemeralStorage]; ok && int64(u.Ephemeral().Bytes) > limit.Value() {
		return "ephemeralpodfs.limit", fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		limit, ok := c.Resources.Limits[corev1.ResourceEphemeralStorage]
		at := slices.IndexFunc(u.Containers, func(have usage.Container) bool { return have.Name == c.Name })
		if !ok || limit.IsZero() || at < 0 {
			continue
		}
		used := u.Containers[at].Logs.Bytes
		if !imageApart {
			used += u.Containers[at].Layer.Bytes
		}
		if int64(used) > limit.Value() {
			return "ephemeralcontainerfs.limit", fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", c.Name, limit.String())
		}
	}
	return "", ""
}

// Admits reports whether a node with these conditions starts a pod. Memory pressure keeps only pods without
// requests away, unless they tolerate it; all else keeps all but critical pods away.
func Admits(conditions []corev1.NodeConditionType, pod *corev1.Pod) bool {
	if len(conditions) == 0 || Critical(pod) {
		return true
	}
	if len(conditions) > 1 || conditions[0] != corev1.NodeMemoryPressure {
		return false
	}
	taint := &corev1.Taint{Key: "node.kubernetes.io/memory-pressure", Effect: corev1.TaintEffectNoSchedule}
	return corev1.QOSClass(pod) != corev1.PodQOSBestEffort || nodefit.Tolerates(pod.Spec.Tolerations, taint)
}

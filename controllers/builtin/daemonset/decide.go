package daemonset

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/controllers/internal/podcontrol"
)

// state is what a plan and a status are made of.
type state struct {
	set        *appsv1.DaemonSet
	nodes      []string // all nodes
	reaches    map[string]reach
	pods       []*corev1.Pod // those of the set, those being deleted too
	hash       string        // of the current template
	collisions *int32
	now        time.Time
}

// plan is what to do next.
type plan struct {
	create []string // nodes
	delete []*corev1.Pod
	// ended are pods to delete as soon as their node may try again.
	ended []*corev1.Pod
}

// decide returns what to do: place pods where they belong, and once they are there, update them.
func decide(s *state) plan {
	var p plan
	byNode := s.byNode()
	for _, node := range s.nodes {
		p.place(s, node, byNode[node])
	}
	for node, pods := range byNode {
		if _, known := s.reaches[node]; known {
			continue
		}
		// Pods bound to a node that is gone are the pod garbage collector's; others would wait forever.
		for _, pod := range pods {
			if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
				p.delete = append(p.delete, pod)
			}
		}
	}
	if len(p.create)+len(p.delete) == 0 && s.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if surge, unavailable := s.bounds(); surge > 0 {
			p.surge(s, byNode, surge)
		} else {
			p.roll(s, byNode, unavailable)
		}
	}
	return p
}

// byNode returns the pods of each node, bound ones first, then the oldest first.
func (s *state) byNode() map[string][]*corev1.Pod {
	out := map[string][]*corev1.Pod{}
	for _, p := range s.pods {
		if node := target(p); node != "" {
			out[node] = append(out[node], p)
		}
	}
	for _, pods := range out {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int {
			if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
				return strings.Compare(b.Spec.NodeName, a.Spec.NodeName)
			}
			return cmp.Or(a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
		})
	}
	return out
}

// bounds resolves how many pods more than one per node there may be, and on how many nodes none may be
// available. Both round up, and when both come to zero, one node may be without, or nothing could move.
func (s *state) bounds() (surge, unavailable int) {
	u := s.set.Spec.UpdateStrategy.RollingUpdate
	if u == nil {
		return 0, 1
	}
	desired := 0
	for _, r := range s.reaches {
		if r.should {
			desired++
		}
	}
	scaled := func(v *intstr.IntOrString) int {
		if v == nil {
			return 0
		}
		n, err := intstr.ScaledValue(*v, desired, true)
		if err != nil {
			return 0 // unreachable: validation refuses what does not parse
		}
		return n
	}
	surge, unavailable = scaled(u.MaxSurge), scaled(u.MaxUnavailable)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

// surges reports whether a node may have an old and a new pod at a time.
func (s *state) surges() bool {
	surge, _ := s.bounds()
	return s.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && surge > 0
}

// place plans what a node lacks and what it has too much.
func (p *plan) place(s *state, node string, pods []*corev1.Pod) {
	r := s.reaches[node]
	if !r.keep {
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil {
				p.delete = append(p.delete, pod)
			}
		}
		return
	}
	if len(pods) == 0 {
		if r.should {
			p.create = append(p.create, node)
		}
		return
	}
	var running []*corev1.Pod
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case pod.HasEnded():
			p.ended = append(p.ended, pod)
		default:
			running = append(running, pod)
		}
	}
	if !s.surges() {
		p.delete = append(p.delete, running[min(1, len(running)):]...)
		return
	}
	if len(running) == 0 && r.should && !slices.ContainsFunc(pods, (*corev1.Pod).HasEnded) {
		p.create = append(p.create, node)
	}
	if len(running) > 1 {
		p.thin(s, running)
	}
}

// thin keeps of the pods of a node that surges the oldest new and the oldest old one, the latter only while
// it is ready and the former is not available.
func (p *plan) thin(s *state, running []*corev1.Pod) {
	var newest, oldest *corev1.Pod
	for _, pod := range running {
		switch {
		case hashOf(pod) == s.hash && newest == nil:
			newest = pod
		case hashOf(pod) != s.hash && oldest == nil:
			oldest = pod
		default:
			p.delete = append(p.delete, pod)
		}
	}
	if newest != nil && oldest != nil && (!podcontrol.Ready(oldest) || s.available(newest)) {
		p.delete = append(p.delete, oldest)
	}
}

// pair returns the new and the old pod of a node; ok is false if there are more of a kind.
func (s *state) pair(pods []*corev1.Pod) (updated, old *corev1.Pod, ok bool) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		slot := &old
		if hashOf(pod) == s.hash {
			slot = &updated
		}
		if *slot != nil {
			return nil, nil, false
		}
		*slot = pod
	}
	return updated, old, true
}

// concerns reports whether a node counts in an update: it is to have a pod, or has one that stays under a
// taint which keeps new ones away.
func (s *state) concerns(node string, pods []*corev1.Pod) bool {
	return s.reaches[node].should || len(pods) > 0
}

// roll plans which old pods to delete: those that are not available, and of the others as many as may be
// missing.
func (p *plan) roll(s *state, byNode map[string][]*corev1.Pod, most int) {
	missing := 0
	var candidates []*corev1.Pod
	for _, node := range s.nodes {
		if !s.concerns(node, byNode[node]) {
			continue
		}
		updated, old, ok := s.pair(byNode[node])
		switch {
		case !ok || (updated == nil) == (old == nil):
			missing++ // place handles this node
		case updated != nil:
			if !s.available(updated) {
				missing++
			}
		case !s.available(old):
			missing++
			if !old.HasEnded() {
				p.delete = append(p.delete, old)
			}
		default:
			candidates = append(candidates, old)
		}
	}
	p.delete = append(p.delete, candidates[:min(len(candidates), max(0, most-missing))]...)
}

// surge plans the creation of new pods beside old ones: where the old one is not available, and of the other
// nodes on as many as may have two. The old pod of a node that gets no new one is deleted if it is not
// available, or if as many pods are available without it as there are to be.
func (p *plan) surge(s *state, byNode map[string][]*corev1.Pod, most int) {
	surged, spare := 0, 0
	var candidates []string
	var leaving []*corev1.Pod
	for _, node := range s.nodes {
		if !s.concerns(node, byNode[node]) {
			continue
		}
		should := s.reaches[node].should
		if should {
			spare--
		}
		updated, old, ok := s.pair(byNode[node])
		if !ok {
			surged++
			continue
		}
		if counts := cmp.Or(old, updated); counts != nil && s.available(counts) {
			spare++
		}
		switch {
		case old == nil || old.HasEnded(): // place handles this node
		case updated != nil:
			surged++ // place deletes the old one when the new one is available
		case s.available(old) && should:
			candidates = append(candidates, node)
		case s.available(old):
			leaving = append(leaving, old)
		case should:
			p.create = append(p.create, node)
		default:
			p.delete = append(p.delete, old)
		}
	}
	p.create = append(p.create, candidates[:min(len(candidates), max(0, most-surged))]...)
	p.delete = append(p.delete, leaving[:min(len(leaving), max(0, spare))]...)
}

func hashOf(pod *corev1.Pod) string { return pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] }

// available reports whether a pod has been ready for minReadySeconds.
func (s *state) available(pod *corev1.Pod) bool {
	ok, _ := podcontrol.Available(pod, s.set.Spec.MinReadySeconds, s.now)
	return ok
}

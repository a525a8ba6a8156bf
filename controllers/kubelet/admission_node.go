package kubelet

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Why pods do not fit a node, in the scheduler's words, which users know.
const (
	noAffinity   = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	noToleration = "Predicate TaintToleration failed: node(s) had untolerated taint(s)"
	noPorts      = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
)

// misplaced says why a pod may not be on this node whatever else is there, because a client bound it past the
// scheduler or the node has changed since; nil if it may, or if the node is not registered yet. Static pods
// tolerate everything.
func (k *Kubelet) misplaced(ctx context.Context, pod *corev1.Pod) *verdict {
	node := k.node.object()
	if node == nil {
		return nil
	}
	if !fitsAffinity(pod, node) {
		// The node's labels may have changed just now, which the scheduler has seen.
		now, err := k.node.nodes.Get(ctx, types.NamespacedName{Name: k.opts.NodeName})
		if err != nil || !fitsAffinity(pod, now) {
			return refusal("NodeAffinity", noAffinity)
		}
	}
	if isStatic(pod.Annotations) {
		return nil
	}
	for i := range node.Spec.Taints {
		if taint := &node.Spec.Taints[i]; taint.Effect == corev1.TaintEffectNoExecute && !nodefit.Tolerates(pod.Spec.Tolerations, taint) {
			return refusal("TaintToleration", noToleration)
		}
	}
	return nil
}

func fitsAffinity(pod *corev1.Pod, node *corev1.Node) bool {
	for name, want := range pod.Spec.NodeSelector {
		if have, ok := node.Labels[name]; !ok || have != want {
			return false
		}
	}
	return nodefit.MatchesAny(nodefit.CompileAll(nodefit.Required(&pod.Spec)), node)
}

// hostPort is a port of the node that a container has.
type hostPort struct {
	protocol corev1.Protocol
	ip       string // empty: all addresses
	port     int32
}

// hostPorts are those of a pod.
func hostPorts(pod *corev1.Pod) (list []hostPort) {
	for c := range containersOf(pod) {
		for _, p := range c.Ports {
			if p.HostPort <= 0 {
				continue
			}
			one := hostPort{p.Protocol, p.HostIP, p.HostPort}
			if one.protocol == "" {
				one.protocol = corev1.ProtocolTCP
			}
			if one.ip == "0.0.0.0" || one.ip == "::" {
				one.ip = ""
			}
			list = append(list, one)
		}
	}
	return list
}

// taken reports whether another pod has a port of the list. The lock is held.
func (l *ledger) taken(list []hostPort) bool {
	for _, want := range list {
		for _, t := range l.in {
			for _, have := range t.ports {
				if have.port == want.port && have.protocol == want.protocol && (have.ip == want.ip || have.ip == "" || want.ip == "") {
					return true
				}
			}
		}
	}
	return false
}

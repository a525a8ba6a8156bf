package naive

import (
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Cluster is the state placements are decided on: nodes and the pods on them. It is not safe for concurrent
// use. It retains the objects passed to it, which must not be modified.
type Cluster struct {
	nodes map[string]*node
	order []*node // nodes that exist, in the order in which they came
	pods  map[types.UID]*placed
	// byNamespace are the placed pods of each namespace.
	byNamespace map[string]map[types.UID]*placed
	// namespaces by name, for terms that select namespaces by label.
	namespaces map[string]map[string]string
	// next is where the search for feasible nodes begins, so that all nodes get their turn.
	next int
	// affine and antiAffine count the placed pods that have such terms: without any, no decision has to look
	// for them.
	affine, antiAffine int
	// nominations is the room kept for pods that wait for others to go; see nominate.go.
	nominations nominations
	// budgets limit how many pods preemption should take.
	budgets map[types.NamespacedName]*budget
	// spent are the victims that the budgets' status does not count yet.
	spent map[spending]bool
	// spared are pods that the API refused to have deleted, since when; they are no victims.
	spared map[types.UID]time.Time
	// nextPreempted is where the search for a node to preempt on begins, so that all nodes get their turn.
	nextPreempted int
	// selecting are the objects that say which pods belong together.
	selecting []metav1.Object
	// only, if not nil, are the nodes that decisions choose from.
	only map[string]bool
	// random breaks ties.
	random func(n int) int
}

// node is one node and what is on it. It may be known by its pods only (obj is nil).
type node struct {
	name        string
	obj         *corev1.Node
	allocatable amounts
	maxPods     int
	used        amounts
	usedNonZero amounts
	pods        map[types.UID]*placed
	// terms are the pods of this node with affinity or anti-affinity terms.
	terms map[types.UID]*placed
	ports map[hostPort]int
}

// placed is a pod on a node.
type placed struct {
	*podInfo
	node string
}

// podInfo is what decisions need of a pod, computed once.
type podInfo struct {
	pod *corev1.Pod

	need, nonZero, asked amounts

	ports        []hostPort
	affinity     podAffinity
	nodeSelector labels.Selector
	nodeAffinity *nodeTerms
	spread       []spreadConstraint
	// pinned are the only nodes that the required node affinity allows, by name; nil if it names none.
	pinned []string
}

type hostPort struct {
	ip, protocol string
	port         int32
}

// NewCluster returns an empty cluster. random returns a number below n to break ties; nil always picks the
// first.
func NewCluster(random func(n int) int) *Cluster {
	if random == nil {
		random = func(int) int { return 0 }
	}
	return &Cluster{nodes: map[string]*node{}, pods: map[types.UID]*placed{}, byNamespace: map[string]map[types.UID]*placed{},
		namespaces: map[string]map[string]string{}, nominations: newNominations(),
		budgets: map[types.NamespacedName]*budget{}, spent: map[spending]bool{}, spared: map[types.UID]time.Time{}, random: random}
}

func inspect(pod *corev1.Pod) *podInfo {
	p := &podInfo{pod: pod}
	p.need, p.nonZero, p.asked = requestOf(pod)
	for j, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			c := &list[i]
			if j == 1 && (c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways) {
				continue
			}
			for _, cp := range c.Ports {
				port := cp.HostPort
				if pod.Spec.HostNetwork && port == 0 {
					port = cp.ContainerPort
				}
				if port > 0 {
					hp := hostPort{cp.HostIP, string(cp.Protocol), port}
					if hp.ip == "" {
						hp.ip = "0.0.0.0"
					}
					if hp.protocol == "" {
						hp.protocol = "TCP"
					}
					p.ports = append(p.ports, hp)
				}
			}
		}
	}
	if len(pod.Spec.NodeSelector) > 0 {
		p.nodeSelector = labels.SelectorFromSet(pod.Spec.NodeSelector)
	}
	p.nodeAffinity = compileNodeAffinity(pod)
	p.affinity = compilePodAffinity(pod)
	p.spread = compileSpread(pod)
	p.pinned = pinnedNodes(pod)
	return p
}

func pinnedNodes(pod *corev1.Pod) (names []string) {
	required := nodefit.Required(&pod.Spec)
	if required == nil {
		return nil
	}
	for _, t := range required.NodeSelectorTerms {
		before := len(names)
		for _, f := range t.MatchFields {
			if f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 && len(names) == before {
				names = append(names, f.Values[0])
			}
		}
		if len(names) == before {
			return nil
		}
	}
	return names
}

func (c *Cluster) node(name string) *node {
	n := c.nodes[name]
	if n == nil {
		n = &node{name: name, pods: map[types.UID]*placed{}, terms: map[types.UID]*placed{}, ports: map[hostPort]int{}}
		c.nodes[name] = n
	}
	return n
}

// SetNode adds or replaces a node.
func (c *Cluster) SetNode(obj *corev1.Node) {
	n := c.node(obj.Name)
	if n.obj == nil {
		c.order = append(c.order, n)
	}
	n.obj, n.allocatable, n.maxPods = obj, amountsOf(obj.Status.Allocatable), podsAllowed(obj.Status.Allocatable)
}

// RemoveNode removes a node. The pods on it are kept until they are removed.
func (c *Cluster) RemoveNode(name string) {
	n := c.nodes[name]
	if n == nil || n.obj == nil {
		return
	}
	n.obj = nil
	c.order = slices.DeleteFunc(c.order, func(o *node) bool { return o == n })
	if len(n.pods) == 0 {
		delete(c.nodes, name)
	}
}

// SetNamespace sets a namespace's labels.
func (c *Cluster) SetNamespace(name string, labels map[string]string) {
	c.namespaces[name] = maps.Clone(labels)
}

// RemoveNamespace removes a namespace.
func (c *Cluster) RemoveNamespace(name string) { delete(c.namespaces, name) }

// SetPod adds a pod to the node spec.nodeName or replaces its state. A pod without a node or in a terminal
// phase uses no resources and is removed.
func (c *Cluster) SetPod(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || pod.HasEnded() {
		c.RemovePod(pod.UID)
		return
	}
	c.Place(pod, pod.Spec.NodeName)
}

// Place puts a pod on a node, as if it had been bound to it.
func (c *Cluster) Place(pod *corev1.Pod, node string) { c.place(inspect(pod), node) }

func (c *Cluster) place(info *podInfo, on string) {
	c.displace(info.pod.UID)
	c.nominations.remove(info.pod.UID)
	p := &placed{info, on}
	n := c.node(on)
	c.pods[info.pod.UID], n.pods[info.pod.UID] = p, p
	ns := c.byNamespace[info.pod.Namespace]
	if ns == nil {
		ns = map[types.UID]*placed{}
		c.byNamespace[info.pod.Namespace] = ns
	}
	ns[info.pod.UID] = p
	n.used.add(&info.need, 1)
	n.usedNonZero.add(&info.nonZero, 1)
	for _, hp := range info.ports {
		n.ports[hp]++
	}
	if info.affinity.any() {
		n.terms[info.pod.UID] = p
	}
	c.count(info, 1)
}

func (c *Cluster) count(info *podInfo, d int) {
	if len(info.affinity.required)+len(info.affinity.preferred)+len(info.affinity.preferredAnti) > 0 {
		c.affine += d
	}
	if len(info.affinity.requiredAnti) > 0 {
		c.antiAffine += d
	}
}

// RemovePod removes a pod from its node, or its reservation if it has none.
func (c *Cluster) RemovePod(uid types.UID) {
	c.nominations.remove(uid)
	delete(c.nominations.leaving, uid)
	c.displace(uid)
}

// displace takes a pod off its node.
func (c *Cluster) displace(uid types.UID) {
	p := c.pods[uid]
	if p == nil {
		return
	}
	delete(c.pods, uid)
	if ns := c.byNamespace[p.pod.Namespace]; len(ns) > 1 {
		delete(ns, uid)
	} else {
		delete(c.byNamespace, p.pod.Namespace)
	}
	n := c.nodes[p.node]
	delete(n.pods, uid)
	delete(n.terms, uid)
	n.used.add(&p.need, -1)
	n.usedNonZero.add(&p.nonZero, -1)
	for _, hp := range p.ports {
		if n.ports[hp]--; n.ports[hp] == 0 {
			delete(n.ports, hp)
		}
	}
	c.count(p.podInfo, -1)
	if n.obj == nil && len(n.pods) == 0 {
		delete(c.nodes, p.node)
	}
}

// NodeOf returns the node a pod is placed on.
func (c *Cluster) NodeOf(uid types.UID) (string, bool) {
	p := c.pods[uid]
	if p == nil {
		return "", false
	}
	return p.node, true
}

// conflicts reports whether two host ports cannot be used on one node.
func (a hostPort) conflicts(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0")
}

package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Cluster is the state placements are decided on: nodes and the pods on them. It is not safe for concurrent
// use; [Cluster.Fork] makes a copy for another goroutine. It retains the objects passed to it, which must not
// be modified.
//
// Every change can be taken back, see [Cluster.Mark]. Nothing in a decision costs more with more pods: what
// decisions need of pods is counted as these come and go.
type Cluster struct {
	profile *Profile
	byName  map[string]*Node
	// nodes are all by number, with gaps for the free ones; order are those that exist, in the order in which
	// they came.
	nodes []*Node
	free  []int32
	order []*Node
	// turns are the nodes that exist in the order in which they are tried, one of each zone after the other;
	// nil if that must be worked out again.
	turns []*Node
	pods  map[types.UID]*placed
	// byNamespace are the placed pods of each namespace.
	byNamespace map[string]map[types.UID]*placed
	// namespaces by name, for terms that select namespaces by label.
	namespaces map[string]map[string]string
	topologies map[string]*topology
	counters   counters
	// anti, affine and liked are the terms of placed pods: of required anti-affinity, of required affinity,
	// and the preferred ones.
	anti, affine, liked groups
	images              map[string]*image
	storage             storage
	groupings           groupings
	devices             deviceState
	// next is where the search for feasible nodes begins, so that all nodes get their turn.
	next int
	// nominations is the room kept for pods that wait for others to go; see nominate.go.
	nominations nominations
	// budgets limit how many pods preemption should take.
	budgets map[types.NamespacedName]*budget
	// podGroups are the PodGroups that are known, by themselves or by their pods on nodes.
	podGroups map[types.NamespacedName]*podGroup
	// within, if not nil, restricts decisions to its nodes: a group is tried there.
	within *Placement
	// spared are pods that the API refused to have deleted, since when; they are no victims.
	spared map[types.UID]time.Time
	// nextPreempted is where the search for a node to preempt on begins, so that all nodes get their turn.
	nextPreempted int
	// random breaks ties; nil breaks them by the pod's UID.
	random  func(n int) int
	journal journal
	// unbatched is set to decide about each pod from the start.
	unbatched bool
	// measured are the metrics of the scheduler whose cluster it is; nil for others.
	measured *Metrics
	version  uint64
	cycles   map[*Profile]*Cycle
	called   map[*Profile]*calls
	// watch follows the decision under way, nil if nothing limits its time.
	watch *watch
}

// Node is a node and what is on it. Plugins may read it during the call that they get it in.
type Node struct {
	id      int32
	version uint64 // changes with obj, and is never that of another node
	name    string
	// obj is nil for a node that is known by its pods only.
	obj           *corev1.Node
	maxPods       int
	allocatable   amounts
	used, nonZero amounts
	pods          []*placed
	ports         map[hostPort]int
	// discouraged are the taints with the effect PreferNoSchedule.
	discouraged []corev1.Taint
}

// Name returns the node's name.
func (n *Node) Name() string { return n.name }

// Object returns the node itself, which must not be modified.
func (n *Node) Object() *corev1.Node { return n.obj }

// Label returns the value of one of the node's labels.
func (n *Node) Label(key string) string { return n.obj.Labels[key] }

// Allocatable returns how much of a resource the node has for pods: CPU in thousandths, the others in their
// unit.
func (n *Node) Allocatable(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return int64(n.maxPods)
	}
	return n.allocatable.of(name)
}

// Requested returns how much of a resource the pods of the node request.
func (n *Node) Requested(name corev1.ResourceName) int64 {
	if name == corev1.ResourcePods {
		return int64(len(n.pods))
	}
	return n.used.of(name)
}

// Pods calls yield for each pod of the node, in no particular order.
func (n *Node) Pods(yield func(*Pod) bool) {
	for _, p := range n.pods {
		if !yield(p.Pod) {
			return
		}
	}
}

// placed is a pod on a node.
type placed struct {
	*Pod
	node *Node
	slot int // in node.pods
	// off is set while a trial removes the pod from its node.
	off bool
	// hits are the counters that count the pod, as of the serial of the counters.
	hits   []*counter
	hitsAt uint64
	// groups are those of its terms.
	groups []*counter
	// plan is what must be written of its volumes, and claims of its devices.
	plan   *volumePlan
	claims *devicePlan
}

// NewCluster returns an empty cluster that decides with the default profile. random returns a number below n
// to break ties; nil always picks the first.
func NewCluster(random func(n int) int) *Cluster {
	if random == nil {
		random = func(int) int { return 0 }
	}
	c := newCluster()
	c.random = random
	c.profile = Default()
	return c
}

func newCluster() *Cluster {
	return &Cluster{byName: map[string]*Node{}, pods: map[types.UID]*placed{}, byNamespace: map[string]map[types.UID]*placed{},
		namespaces: map[string]map[string]string{}, topologies: map[string]*topology{}, counters: newCounters(),
		anti: newGroups(), affine: newGroups(), liked: newGroups(), images: map[string]*image{}, storage: newStorage(), groupings: newGroupings(), devices: newDeviceState(),
		nominations: newNominations(), budgets: map[types.NamespacedName]*budget{}, spared: map[types.UID]time.Time{},
		podGroups: map[types.NamespacedName]*podGroup{}, cycles: map[*Profile]*Cycle{}, called: map[*Profile]*calls{}}
}

// existing returns the node of that name if there is an object of it.
func (c *Cluster) existing(name string) *Node {
	if n := c.byName[name]; n != nil && n.obj != nil {
		return n
	}
	return nil
}

func (c *Cluster) node(name string) *Node {
	n := c.byName[name]
	if n == nil {
		n = &Node{name: name}
		c.admit(n)
	}
	return n
}

// admit gives a node a number.
func (c *Cluster) admit(n *Node) {
	if last := len(c.free) - 1; last >= 0 {
		n.id = c.free[last]
		c.free = c.free[:last]
		c.nodes[n.id] = n
	} else {
		n.id = int32(len(c.nodes))
		c.nodes = append(c.nodes, n)
	}
	c.byName[n.name] = n
	c.refresh(n)
	c.journal.log(func() { c.dismiss(n) })
}

// dismiss forgets a node that has neither an object nor pods.
func (c *Cluster) dismiss(n *Node) {
	delete(c.byName, n.name)
	gone := &Node{id: n.id}
	c.nodes[n.id] = gone
	c.refresh(gone)
	c.free = append(c.free, n.id)
	c.journal.log(func() { c.admit(n) })
}

// refresh takes a node's labels, taints and pods into the counts.
func (c *Cluster) refresh(n *Node) {
	for _, t := range c.topologies {
		t.set(n)
	}
	c.eachCounter(func(k *counter) { k.include(n) })
}

// SetNode adds or replaces a node.
func (c *Cluster) SetNode(obj *corev1.Node) {
	n := c.node(obj.Name)
	if n.obj == nil {
		c.order, c.turns = append(c.order, n), nil
		c.journal.log(func() { c.order, c.turns = slices.DeleteFunc(c.order, func(o *Node) bool { return o == n }), nil })
	}
	c.setObject(n, obj)
}

// setObject changes what is known of a node; nil for nothing.
func (c *Cluster) setObject(n *Node, obj *corev1.Node) {
	was := n.obj
	c.journal.log(func() { c.setObject(n, was) })
	c.eachCounter(func(k *counter) { k.exclude(n) })
	c.countImages(n, -1)
	n.obj = obj
	if was != nil && obj != nil && nodefit.Zone(was) != nodefit.Zone(obj) {
		c.turns = nil
	}
	c.version++
	n.version = c.version
	n.allocatable, n.maxPods, n.discouraged = amounts{}, 0, nil
	if obj != nil {
		n.allocatable, n.maxPods = amountsOf(obj.Status.Allocatable), podsAllowed(obj.Status.Allocatable)
		for _, t := range obj.Spec.Taints {
			if t.Effect == corev1.TaintEffectPreferNoSchedule {
				n.discouraged = append(n.discouraged, t)
			}
		}
	}
	c.countImages(n, 1)
	c.refresh(n)
	c.renumber()
}

// inTurns returns the nodes in the order in which they are tried, so that a search that stops early has
// looked at all zones: the first of each zone, then the second, and so on.
func (c *Cluster) inTurns() []*Node {
	if c.turns != nil || len(c.order) == 0 {
		return c.turns
	}
	number := map[string]int{}
	var zones [][]*Node
	for _, n := range c.order {
		z, ok := number[nodefit.Zone(n.obj)]
		if !ok {
			z = len(zones)
			number[nodefit.Zone(n.obj)] = z
			zones = append(zones, nil)
		}
		zones[z] = append(zones[z], n)
	}
	c.turns = make([]*Node, 0, len(c.order))
	for i := 0; len(c.turns) < len(c.order); i++ {
		for _, z := range zones {
			if i < len(z) {
				c.turns = append(c.turns, z[i])
			}
		}
	}
	return c.turns
}

// renumber drops topologies most of whose values no node has any more.
func (c *Cluster) renumber() {
	for _, t := range c.topologies {
		if len(t.values) < 2*len(c.order)+1000 {
			continue
		}
		users := []*counter{}
		c.eachCounter(func(k *counter) {
			if k.topo == t {
				users = append(users, k)
			}
		})
		for _, n := range c.nodes {
			for _, k := range users {
				k.exclude(n)
			}
		}
		clear(t.values)
		for _, k := range users {
			clear(k.domains)
		}
		for _, n := range c.nodes {
			t.set(n)
			for _, k := range users {
				k.include(n)
			}
		}
	}
}

// RemoveNode removes a node. The pods on it are kept until they are removed.
func (c *Cluster) RemoveNode(name string) {
	n := c.existing(name)
	if n == nil {
		return
	}
	at := slices.Index(c.order, n)
	c.order, c.turns = slices.Delete(c.order, at, at+1), nil
	c.journal.log(func() { c.order, c.turns = slices.Insert(c.order, at, n), nil })
	c.setObject(n, nil)
	c.dismissIdle(n)
}

func (c *Cluster) dismissIdle(n *Node) {
	if n.obj == nil && len(n.pods) == 0 {
		c.dismiss(n)
	}
}

// SetNamespace sets a namespace's labels.
func (c *Cluster) SetNamespace(name string, set map[string]string) {
	was, known := c.namespaces[name]
	c.namespaces[name] = maps.Clone(set)
	c.forgetCounters()
	c.journal.log(func() {
		if known {
			c.SetNamespace(name, was)
		} else {
			c.RemoveNamespace(name)
		}
	})
}

// RemoveNamespace removes a namespace.
func (c *Cluster) RemoveNamespace(name string) {
	was, known := c.namespaces[name]
	if !known {
		return
	}
	delete(c.namespaces, name)
	c.forgetCounters()
	c.journal.log(func() { c.SetNamespace(name, was) })
}

// SetPod adds a pod to the node spec.nodeName or replaces its state. A pod without a node or in a terminal
// phase uses no resources and is removed.
func (c *Cluster) SetPod(pod *corev1.Pod) {
	if pod.Spec.NodeName == "" || pod.HasEnded() {
		c.RemovePod(pod.UID)
		return
	}
	if p := c.pods[pod.UID]; p != nil && p.node.name == pod.Spec.NodeName && samePlacement(p.pod, pod) {
		c.replace(p, pod)
		return
	}
	c.place(NewPod(pod), pod.Spec.NodeName)
}

// samePlacement reports whether two states of a pod differ in nothing that counts.
func samePlacement(a, b *corev1.Pod) bool {
	return a.Generation == b.Generation && a.Generation != 0 && a.Spec.NodeName == b.Spec.NodeName && maps.Equal(a.Labels, b.Labels) &&
		(a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && sameResources(a, b)
}

// sameResources reports whether the statuses of a pod say the same of its resources, which change without its
// generation while it is resized.
func sameResources(a, b *corev1.Pod) bool {
	same := func(x, y corev1.ContainerStatus) bool {
		return x.Name == y.Name && codec.Equal(&x.AllocatedResources, &y.AllocatedResources) && codec.Equal(&x.Resources, &y.Resources)
	}
	return infeasible(a) == infeasible(b) && slices.EqualFunc(a.Status.ContainerStatuses, b.Status.ContainerStatuses, same) &&
		slices.EqualFunc(a.Status.InitContainerStatuses, b.Status.InitContainerStatuses, same) &&
		codec.Equal(&a.Status.Resources, &b.Status.Resources) && codec.Equal(&a.Status.AllocatedResources, &b.Status.AllocatedResources)
}

// replace takes in a new state of a placed pod that differs in nothing that counts.
func (c *Cluster) replace(p *placed, pod *corev1.Pod) {
	was := p.Pod
	next := *was
	next.pod = pod
	p.Pod = &next
	if c.nominations.byPod[pod.UID] != nil {
		c.unnominate(pod.UID)
	}
	c.journal.log(func() { p.Pod = was })
}

// place puts a pod on a node, known or not.
func (c *Cluster) place(info *Pod, on string) {
	var plan *volumePlan
	var claims *devicePlan
	was := c.pods[info.pod.UID]
	if was != nil && was.node.name == on {
		plan, claims = was.plan, was.claims // until the claims are seen as bound as the pod
	}
	before := c.journal.serial
	c.displace(info.pod.UID)
	c.unnominate(info.pod.UID)
	n := c.node(on)
	if plan == nil && len(info.claims) > 0 && info.pod.Spec.NodeName == "" && n.obj != nil {
		plan = c.storage.plan(info, n)
	}
	if claims == nil && info.pod.Spec.NodeName == "" && n.obj != nil {
		claims = c.planDevices(info, n)
	}
	c.insert(&placed{Pod: info, node: n, plan: plan, claims: claims})
	if was != nil && was.node == n && was.batches() && info.batches() && info.like(was.Pod) {
		c.journal.serial = before // nothing that decisions look at has changed
		return
	}
	c.follow(info.pod.UID, n, before)
}

// insert adds a placed pod.
func (c *Cluster) insert(p *placed) {
	p.off = true
	c.index(p)
	c.attach(p)
}

func (c *Cluster) index(p *placed) {
	c.pods[p.pod.UID] = p
	ns := c.byNamespace[p.pod.Namespace]
	if ns == nil {
		ns = map[types.UID]*placed{}
		c.byNamespace[p.pod.Namespace] = ns
	}
	ns[p.pod.UID] = p
	c.join(p)
	c.hold(p)
	c.storage.promise(p.plan, p.node.name, 1)
	c.devices.promise(p.claims, 1)
	if c.journal.open > 0 {
		c.journal.log(func() { c.unindex(p) })
	}
}

func (c *Cluster) unindex(p *placed) {
	c.release(p)
	c.storage.promise(p.plan, p.node.name, -1)
	c.devices.promise(p.claims, -1)
	delete(c.pods, p.pod.UID)
	c.leave(p)
	if ns := c.byNamespace[p.pod.Namespace]; len(ns) > 1 {
		delete(ns, p.pod.UID)
	} else {
		delete(c.byNamespace, p.pod.Namespace)
	}
	if c.journal.open > 0 {
		c.journal.log(func() { c.index(p) })
	}
}

// hold notes the terms of a pod.
func (c *Cluster) hold(p *placed) {
	known := p.groups
	p.groups = nil
	a := &p.affinity
	for _, of := range []struct {
		terms []podTerm
		in    *groups
	}{{a.requiredAnti, &c.anti}, {a.required, &c.affine}, {a.preferred, &c.liked}} {
		for i := range of.terms {
			var k *counter
			if len(known) > len(p.groups) {
				k = known[len(p.groups)]
			}
			p.groups = append(p.groups, of.in.hold(c, &of.terms[i], k))
		}
	}
}

func (c *Cluster) release(p *placed) {
	for i, k := range p.groups {
		switch a := &p.affinity; {
		case i < len(a.requiredAnti):
			c.anti.release(k)
		case i < len(a.requiredAnti)+len(a.required):
			c.affine.release(k)
		default:
			c.liked.release(k)
		}
	}
}

// attach adds a pod that is off to the sums of its node and to the counters. Together with detach it is what
// trials consist of, and does not allocate.
func (c *Cluster) attach(p *placed) {
	n := p.node
	p.off = false
	p.slot = len(n.pods)
	n.pods = append(n.pods, p)
	c.sum(p, 1)
	c.journal.add(change{p: p, at: p.slot, attached: true})
}

// detach takes a pod off its node.
func (c *Cluster) detach(p *placed) {
	n := p.node
	last := len(n.pods) - 1
	at := p.slot
	n.pods[at] = n.pods[last]
	n.pods[at].slot = at
	n.pods[last] = nil
	n.pods = n.pods[:last]
	c.sum(p, -1)
	p.off = true
	c.journal.add(change{p: p, at: at})
}

func (c *Cluster) sum(p *placed, by int32) {
	n := p.node
	n.used.add(&p.need, int64(by))
	n.nonZero.add(&p.Pod.nonZero, int64(by))
	for _, hp := range p.ports {
		if n.ports == nil {
			n.ports = map[hostPort]int{}
		}
		if n.ports[hp] += int(by); n.ports[hp] == 0 {
			delete(n.ports, hp)
		}
	}
	for _, k := range c.hits(p) {
		k.add(n, by)
	}
	for _, k := range p.groups {
		k.add(n, by)
	}
	c.storage.use(p.Pod, by)
}

// RemovePod removes a pod from its node, or its reservation if it has none.
func (c *Cluster) RemovePod(uid types.UID) {
	c.unnominate(uid)
	c.victimGone(uid)
	c.displace(uid)
}

// displace takes a pod off its node.
func (c *Cluster) displace(uid types.UID) {
	p := c.pods[uid]
	if p == nil {
		return
	}
	c.detach(p)
	c.unindex(p)
	c.dismissIdle(p.node)
}

// NodeOf returns the node a pod is placed on.
func (c *Cluster) NodeOf(uid types.UID) (string, bool) {
	p := c.pods[uid]
	if p == nil {
		return "", false
	}
	return p.node.name, true
}

// image is an image that some nodes have.
type image struct {
	nodes map[int32]int64 // size by node
}

// countImages takes in which images a node has, or with -1 forgets them.
func (c *Cluster) countImages(n *Node, by int) {
	if n.obj == nil {
		return
	}
	for i := range n.obj.Status.Images {
		for _, name := range n.obj.Status.Images[i].Names {
			img := c.images[name]
			switch {
			case by < 0 && img != nil:
				if delete(img.nodes, n.id); len(img.nodes) == 0 {
					delete(c.images, name)
				}
			case by > 0 && img == nil:
				img = &image{nodes: map[int32]int64{}}
				c.images[name] = img
				fallthrough
			case by > 0:
				img.nodes[n.id] = n.obj.Status.Images[i].SizeBytes
			}
		}
	}
}

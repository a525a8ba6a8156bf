package scheduler

import (
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// nomination is room kept on a node for a pod that waits for the pods it preempts to go. Invariants:
//
//  1. A pod has at most one nomination, and none while it is placed.
//  2. A victim belongs to one nomination, is on its node, and leaves the nomination when it is gone.
//  3. Nothing of equal or lower priority is placed into the room; see ahead.
type nomination struct {
	info *Pod
	node string
	// serial orders the nominations of pods of equal priority: the earlier is served first.
	serial uint64
	// victims are the pods still to go. None are known for a nomination that was read from the API.
	victims map[types.UID]*placed
	// planned is true for a nomination of this scheduler, which the API's status follows rather than leads.
	planned bool
}

// nominations are those of all pods.
type nominations struct {
	serial uint64
	byPod  map[types.UID]*nomination
	byNode map[string]map[types.UID]*nomination
	// leaving are the victims, by the pod that they make room for.
	leaving map[types.UID]*nomination
}

func newNominations() nominations {
	return nominations{byPod: map[types.UID]*nomination{}, byNode: map[string]map[types.UID]*nomination{}, leaving: map[types.UID]*nomination{}}
}

// add keeps room for a pod on a node, instead of where room was kept for it before.
func (all *nominations) add(info *Pod, node string, victims []*placed) *nomination {
	all.remove(info.pod.UID)
	all.serial++
	n := &nomination{info: info, node: node, serial: all.serial, victims: map[types.UID]*placed{}}
	all.put(n)
	all.claim(n, victims)
	return n
}

// extend adds victims to a pod's nomination for a node, or nominates it.
func (all *nominations) extend(info *Pod, node string, victims []*placed) *nomination {
	n := all.byPod[info.pod.UID]
	if n == nil || n.node != node {
		n = all.add(info, node, victims)
	} else {
		n.info = info
		all.claim(n, victims)
	}
	n.planned = true
	return n
}

// claim makes pods the victims of a nomination.
func (all *nominations) claim(n *nomination, victims []*placed) {
	for _, v := range victims {
		if before := all.leaving[v.pod.UID]; before != nil {
			delete(before.victims, v.pod.UID)
		}
		n.victims[v.pod.UID] = v
		all.leaving[v.pod.UID] = n
	}
}

// put adds a nomination that was removed before, with its place in the order. Its victims, if any, were given
// up.
func (all *nominations) put(n *nomination) {
	all.byPod[n.info.pod.UID] = n
	if all.byNode[n.node] == nil {
		all.byNode[n.node] = map[types.UID]*nomination{}
	}
	all.byNode[n.node][n.info.pod.UID] = n
}

// remove ends a pod's nomination, if it has one, and returns it.
func (all *nominations) remove(pod types.UID) *nomination {
	n := all.byPod[pod]
	if n == nil {
		return nil
	}
	delete(all.byPod, pod)
	if delete(all.byNode[n.node], pod); len(all.byNode[n.node]) == 0 {
		delete(all.byNode, n.node)
	}
	for uid := range n.victims {
		delete(all.leaving, uid)
	}
	clear(n.victims)
	return n
}

// victimGone notes that a pod has left its node. It returns the pod whose last victim that was, if it was
// one's.
func (all *nominations) victimGone(uid types.UID) (waiting types.UID, last bool) {
	n := all.leaving[uid]
	if n == nil {
		return "", false
	}
	delete(all.leaving, uid)
	delete(n.victims, uid)
	return n.info.pod.UID, len(n.victims) == 0
}

// ahead returns the nominations whose room the pod must leave alone: those of more important pods, and of
// equally important ones, except that of two such pods nominated to one node the first may take the room.
func (all *nominations) ahead(info *Pod, out []*nomination) []*nomination {
	if len(all.byPod) == 0 {
		return out
	}
	own := all.byPod[info.pod.UID]
	for _, n := range all.byPod {
		if n == own || n.info.priority < info.priority {
			continue
		}
		if n.info.priority == info.priority && own != nil && own.node == n.node && own.serial < n.serial {
			continue
		}
		out = append(out, n)
	}
	return out
}

// saveNominations lets the journal restore all nominations.
func (c *Cluster) saveNominations() {
	if c.journal.open == 0 || c.journal.undoing {
		return
	}
	was := c.nominations.clone()
	c.journal.log(func() { c.nominations = was })
}

func (all *nominations) clone() nominations {
	out := newNominations()
	out.serial = all.serial
	for _, n := range all.byPod {
		dup := *n
		dup.victims = map[types.UID]*placed{}
		out.put(&dup)
		for uid, v := range n.victims {
			dup.victims[uid] = v
			out.leaving[uid] = &dup
		}
	}
	return out
}

// unnominate ends a pod's nomination, if it has one.
func (c *Cluster) unnominate(uid types.UID) *nomination {
	if c.nominations.byPod[uid] == nil {
		return nil
	}
	c.saveNominations()
	return c.nominations.remove(uid)
}

// victimGone notes that a pod has left its node.
func (c *Cluster) victimGone(uid types.UID) (waiting types.UID, last bool) {
	if c.nominations.leaving[uid] == nil {
		return "", false
	}
	c.saveNominations()
	return c.nominations.victimGone(uid)
}

// expect notes the terms of the pods that nominations keep room for, so that decisions find them; reserve
// attaches these pods, and unreserve takes back both.
func (c *Cluster) expect(list []*nomination) (reserved []*placed) {
	for _, nom := range list {
		n := c.existing(nom.node)
		if n == nil {
			continue
		}
		p := &placed{Pod: nom.info, node: n, off: true}
		c.hold(p)
		reserved = append(reserved, p)
	}
	return reserved
}

func (c *Cluster) reserve(list []*placed) {
	for _, p := range list {
		c.attach(p)
	}
}

func (c *Cluster) unreserve(list []*placed) {
	for _, p := range slices.Backward(list) {
		if !p.off {
			c.detach(p)
		}
		c.release(p)
	}
}

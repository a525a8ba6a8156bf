package naive

import (
	"cmp"
	"maps"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

// nomination is room kept on a node for a pod that waits for the pods it preempts to go.
type nomination struct {
	info *podInfo
	node string
}

// nominations are those of all pods, one each, in the order in which they were made. Everything is found by
// going through them.
type nominations struct {
	list []*nomination
	// leaving says for each victim which pod it makes room for.
	leaving map[types.UID]types.UID
}

func newNominations() nominations { return nominations{leaving: map[types.UID]types.UID{}} }

// of returns a pod's nomination and how many were made before it; nil if it has none.
func (all *nominations) of(pod types.UID) (*nomination, int) {
	for i, n := range all.list {
		if n.info.pod.UID == pod {
			return n, i
		}
	}
	return nil, 0
}

// extend adds victims to a pod's nomination for a node, or nominates it. A victim of another pod is this
// one's now.
func (all *nominations) extend(info *podInfo, node string, victims []*placed) *nomination {
	n, _ := all.of(info.pod.UID)
	if n == nil || n.node != node {
		all.remove(info.pod.UID)
		n = &nomination{node: node}
		all.list = append(all.list, n)
	}
	n.info = info
	for _, v := range victims {
		all.leaving[v.pod.UID] = info.pod.UID
	}
	return n
}

// remove ends a pod's nomination, if it has one; its victims are none any more.
func (all *nominations) remove(pod types.UID) {
	all.list = slices.DeleteFunc(all.list, func(n *nomination) bool { return n.info.pod.UID == pod })
	maps.DeleteFunc(all.leaving, func(_, waiting types.UID) bool { return waiting == pod })
}

// isVictim reports whether a pod is to go for another.
func (all *nominations) isVictim(pod types.UID) bool {
	_, is := all.leaving[pod]
	return is
}

// ahead returns the nominations whose room the pod must leave alone: those of more important pods, and of
// equally important ones, except that of two such pods nominated to one node the first may take the room.
func (all *nominations) ahead(info *podInfo) (out []*nomination) {
	own, before := all.of(info.pod.UID)
	for i, n := range all.list {
		first := own != nil && own.node == n.node && before < i
		switch d := cmp.Compare(priorityOf(n.info.pod), priorityOf(info.pod)); {
		case n == own, d < 0, d == 0 && first:
		default:
			out = append(out, n)
		}
	}
	return out
}

// reserved is the room that nominations keep on one node.
type reserved struct {
	pods  int
	need  amounts
	ports []hostPort
	infos []*podInfo
}

// reserve adds up nominations by node.
func (c *Cluster) reserve(list []*nomination) map[*node]*reserved {
	if len(list) == 0 {
		return nil
	}
	out := map[*node]*reserved{}
	for _, nom := range list {
		n := c.nodes[nom.node]
		if n == nil || n.obj == nil {
			continue
		}
		r := out[n]
		if r == nil {
			r = &reserved{}
			out[n] = r
		}
		r.pods++
		r.need.add(&nom.info.need, 1)
		r.ports = append(r.ports, nom.info.ports...)
		r.infos = append(r.infos, nom.info)
	}
	return out
}

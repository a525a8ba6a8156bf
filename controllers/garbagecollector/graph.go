package garbagecollector

import (
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// identity is where an object is found.
type identity struct {
	gvr schema.GroupVersionResource
	key types.NamespacedName
}

// node is one object of the graph. All fields are guarded by the graph's lock.
type node struct {
	id  identity
	uid types.UID
	// observed is true once the object itself was seen; until then it is known by references only.
	observed   bool
	owners     []metav1.OwnerReference
	dependents map[types.UID]*node
	// deleting, foreground and orphaning mirror deletionTimestamp and the two finalizers.
	deleting, foreground, orphaning bool
}

// graph is who owns whom, among all objects of the cluster. Safe for concurrent use.
type graph struct {
	mu    sync.Mutex
	nodes map[types.UID]*node
}

func newGraph() *graph { return &graph{nodes: map[types.UID]*node{}} }

// effect says what an observation makes necessary.
type effect struct {
	// check are objects whose owners changed for the worse.
	check []types.UID
	// dependents is set when the object waits for its dependents to be deleted or orphaned.
	dependents bool
}

// observe takes in the present state of an object.
func (g *graph) observe(id identity, obj *metav1.ObjectMeta) effect {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[obj.UID]
	if n == nil {
		n = &node{uid: obj.UID, dependents: map[types.UID]*node{}}
		g.nodes[obj.UID] = n
	}
	was := n.observed
	n.id, n.observed = id, true
	var e effect
	removed := g.setOwners(n, obj.OwnerReferences)
	if !was && len(n.owners) > 0 || removed {
		e.check = append(e.check, n.uid)
	}
	deleting := obj.DeletionTimestamp != nil
	foreground := deleting && slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents)
	orphaning := deleting && slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents)
	if foreground && !n.foreground || orphaning && !n.orphaning {
		e.dependents = true
	}
	// An owner that begins to wait for its dependents must hear when one of them is gone or going.
	for _, ref := range n.owners {
		if owner := g.nodes[ref.UID]; owner != nil && owner.foreground && deleting {
			e.check = append(e.check, owner.uid)
		}
	}
	n.deleting, n.foreground, n.orphaning = deleting, foreground, orphaning
	return e
}

// setOwners links n under its owners and reports whether one was removed.
func (g *graph) setOwners(n *node, owners []metav1.OwnerReference) (removed bool) {
	for _, ref := range n.owners {
		if slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == ref.UID }) {
			continue
		}
		removed = true
		g.unlink(n, ref.UID)
	}
	for _, ref := range owners {
		owner := g.nodes[ref.UID]
		if owner == nil {
			owner = &node{uid: ref.UID, dependents: map[types.UID]*node{}}
			g.nodes[ref.UID] = owner
		}
		owner.dependents[n.uid] = n
	}
	n.owners = slices.Clone(owners)
	return removed
}

func (g *graph) unlink(n *node, owner types.UID) {
	o := g.nodes[owner]
	if o == nil {
		return
	}
	delete(o.dependents, n.uid)
	if !o.observed && len(o.dependents) == 0 {
		delete(g.nodes, owner)
	}
}

// remove takes out an object that is gone and returns what must be looked at: its dependents, and
// owners that waited for it.
func (g *graph) remove(uid types.UID) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil {
		return nil
	}
	var check []types.UID
	for _, ref := range n.owners {
		if owner := g.nodes[ref.UID]; owner != nil && owner.foreground {
			check = append(check, owner.uid)
		}
		g.unlink(n, ref.UID)
	}
	for d := range n.dependents {
		check = append(check, d)
	}
	n.owners, n.observed, n.deleting, n.foreground, n.orphaning = nil, false, false, false, false
	if len(n.dependents) == 0 {
		delete(g.nodes, uid)
	}
	return check
}

// view is a copy of one node for working on it without the lock.
type view struct {
	id                              identity
	uid                             types.UID
	owners                          []metav1.OwnerReference
	deleting, foreground, orphaning bool
	dependents                      []dependent
}

// dependent is an object that refers to the viewed one as an owner.
type dependent struct {
	id       identity
	uid      types.UID
	blocks   bool // it has blockOwnerDeletion set
	deleting bool
}

// get returns a copy of an observed object.
func (g *graph) get(uid types.UID) (view, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil || !n.observed {
		return view{}, false
	}
	v := view{id: n.id, uid: uid, owners: slices.Clone(n.owners), deleting: n.deleting, foreground: n.foreground, orphaning: n.orphaning}
	for _, d := range n.dependents {
		dep := dependent{id: d.id, uid: d.uid, deleting: d.deleting}
		for _, ref := range d.owners {
			if ref.UID == uid && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
				dep.blocks = true
			}
		}
		v.dependents = append(v.dependents, dep)
	}
	return v, true
}

// owner reports what the graph knows of an owner: that it lives, and whether it waits for its dependents.
func (g *graph) owner(uid types.UID) (known, foreground bool, id identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil || !n.observed {
		return false, false, identity{}
	}
	return true, n.foreground, n.id
}

// forget drops all objects of a resource that is not served any more, and returns their dependents.
func (g *graph) forget(gvr schema.GroupVersionResource) []types.UID {
	g.mu.Lock()
	var gone []types.UID
	for uid, n := range g.nodes {
		if n.observed && n.id.gvr == gvr {
			gone = append(gone, uid)
		}
	}
	g.mu.Unlock()
	var check []types.UID
	for _, uid := range gone {
		check = append(check, g.remove(uid)...)
	}
	return check
}

package garbagecollector

import (
	"maps"
	"slices"
	"sync"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// identity is where an object is found. Two are equal if their resources and their keys are.
type identity struct {
	// kind is the resource, one pointer for all objects of a monitor. It asks for metadata only.
	kind *client.Resource
	key  types.NamespacedName
}

// place is where a reference says that an owner is. The namespace is that of the object that refers, and is
// empty for a cluster-scoped owner where that is known.
type place struct {
	kind            schema.GroupKind
	namespace, name string
}

// at is where a reference of an object in namespace leads.
func at(namespace string, ref *metav1.OwnerReference) place {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		gv.Group = ref.APIVersion // no group at all
	}
	return place{kind: schema.GroupKind{Group: gv.Group, Kind: ref.Kind}, namespace: namespace, name: ref.Name}
}

// place is where references to the object must lead.
func (id identity) place() place {
	return place{kind: id.kind.GVK.GroupKind(), namespace: id.key.Namespace, name: id.key.Name}
}

// knowledge says how sure the existence of a node's object is.
type knowledge uint8

const (
	// referenced: the object is known by references to it only.
	referenced knowledge = iota
	// present: a watch or a read has shown the object, and nothing has said since that it is gone.
	present
	// doubtful: the object was present and is no longer in what the server lists, which proves nothing when
	// the server did not serve the resource. It is looked up again and again, until a watch shows it or its
	// absence is proven.
	doubtful
)

// node is one object of the graph. All fields are guarded by the graph's lock.
//
// Invariants: n is in the dependents of exactly the nodes that its owners name. A node that is referenced has
// no owners, and at least one dependent. absent is empty unless the node is referenced or doubtful.
type node struct {
	id         identity // once it was present
	uid        types.UID
	known      knowledge
	owners     []metav1.OwnerReference
	dependents map[types.UID]*node
	// absent are the places where the object is known not to be: a read has shown that it is not there, or a
	// watch its end. It stays true, because a uid is never used again.
	absent []place
	// deleting, foreground and orphaning mirror deletionTimestamp and the two finalizers.
	deleting, foreground, orphaning bool
	seen                            seen
}

// seen is what a watch has shown last of an object, as far as its deletion depends on it. That an object is
// deleted only as it was seen is a precondition of the request.
type seen struct {
	resourceVersion string
	policy          metav1.DeletionPropagation // of a deletion, by the finalizers
}

// policyOf returns the propagation policy with which the collector deletes an object, by its finalizers.
func policyOf(finalizers []string) metav1.DeletionPropagation {
	switch {
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// graph is who owns whom, among all objects of the cluster. Its methods that change it return the objects
// that must be looked at in consequence. Safe for concurrent use.
type graph struct {
	mu    sync.Mutex
	nodes map[types.UID]*node
}

func newGraph() *graph { return &graph{nodes: map[types.UID]*node{}} }

// node returns a node, which it makes if there is none.
func (g *graph) node(uid types.UID) *node {
	n := g.nodes[uid]
	if n == nil {
		n = &node{uid: uid, dependents: map[types.UID]*node{}}
		g.nodes[uid] = n
	}
	return n
}

// observe takes in the present state of an object.
func (g *graph) observe(id identity, obj *metav1.ObjectMeta) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.take(id, obj, present)
}

// confirm takes in the state of an object that was read because its existence was in doubt. It stays in doubt
// until a watch shows it, because no watch would report its deletion. One may have shown it since it was
// read; then that holds. The caller is about to look at the object itself.
func (g *graph) confirm(id identity, obj *metav1.ObjectMeta) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.nodes[obj.UID]; n == nil || n.known != doubtful {
		return nil
	}
	return slices.DeleteFunc(g.take(id, obj, doubtful), func(uid types.UID) bool { return uid == obj.UID })
}

func (g *graph) take(id identity, obj *metav1.ObjectMeta, known knowledge) (check []types.UID) {
	n := g.node(obj.UID)
	first := n.known != present
	wasForeground, wasOrphaning := n.foreground, n.orphaning
	n.id, n.known, n.absent = id, known, nil
	n.seen = seen{obj.ResourceVersion, policyOf(obj.Finalizers)}
	n.deleting = obj.DeletionTimestamp != nil
	n.foreground = n.deleting && slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents)
	n.orphaning = n.deleting && slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents)
	released, changed := g.setOwners(n, obj.OwnerReferences)
	for _, uid := range released {
		if owner := g.nodes[uid]; owner != nil && owner.foreground {
			check = append(check, uid) // n may have been the last that it waits for
		}
	}
	if (first || changed) && !g.settled(n) {
		check = append(check, n.uid)
	}
	if n.foreground && !wasForeground {
		check = n.appendDependents(check)
	}
	// A reference that is new among objects that wait for their dependents may close a circle.
	if n.foreground && (!wasForeground || changed) || n.orphaning && !wasOrphaning || wasOrphaning && !n.orphaning && n.foreground {
		check = append(check, n.uid)
	}
	return check
}

// setOwners links n under its owners. It returns those whose references are gone or differ, and whether
// anything has changed.
func (g *graph) setOwners(n *node, owners []metav1.OwnerReference) (released []types.UID, changed bool) {
	for i := range n.owners {
		old := &n.owners[i]
		now := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == old.UID })
		if now >= 0 && sameReference(old, &owners[now]) {
			continue
		}
		released, changed = append(released, old.UID), true
		if now < 0 {
			g.unlink(n, old.UID)
		}
	}
	changed = changed || len(owners) != len(n.owners)
	for i := range owners {
		if uid := owners[i].UID; uid != "" {
			g.node(uid).dependents[n.uid] = n
		}
	}
	if changed {
		n.owners = slices.Clone(owners)
	}
	return released, changed
}

func sameReference(a, b *metav1.OwnerReference) bool {
	return a.UID == b.UID && a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && blocks(a) == blocks(b)
}

// blocks reports whether an owner that is deleted in the foreground waits for the object that refers to it.
func blocks(r *metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// holds reports whether a reference of an object in namespace lets an owner, when it is deleted in the
// foreground, wait for the object. One with the right uid that leads elsewhere does not: nothing would ever
// end the wait.
func holds(owner types.UID, id identity, namespace string, r *metav1.OwnerReference) bool {
	return r.UID == owner && blocks(r) && leadsTo(id, namespace, r)
}

// leadsTo reports whether the place that a reference of an object in namespace names is that of an owner.
func leadsTo(owner identity, namespace string, r *metav1.OwnerReference) bool {
	p, found := at(namespace, r), owner.place()
	if !owner.kind.Namespaced {
		p.namespace = ""
	}
	return p == found
}

// blockedBy reports whether n, when it is deleted in the foreground, waits for d.
func (n *node) blockedBy(d *node) bool {
	return slices.ContainsFunc(d.owners, func(r metav1.OwnerReference) bool { return holds(n.uid, n.id, d.id.key.Namespace, &r) })
}

func (n *node) appendDependents(to []types.UID) []types.UID {
	for uid := range n.dependents {
		to = append(to, uid)
	}
	return to
}

func (g *graph) unlink(n *node, owner types.UID) {
	o := g.nodes[owner]
	if o == nil {
		return
	}
	delete(o.dependents, n.uid)
	if o.known == referenced && len(o.dependents) == 0 {
		delete(g.nodes, owner)
	}
}

// settled reports whether all owners of n live as far as the graph knows, so that nothing is to be done with
// n.
func (g *graph) settled(n *node) bool {
	for i := range n.owners {
		if g.state(n.id.key.Namespace, &n.owners[i]) != lives {
			return false
		}
	}
	return true
}

// settledNow is settled for an object that was queued some time ago.
func (g *graph) settledNow(uid types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	return n == nil || g.settled(n)
}

// ownerState is what became of an owner.
type ownerState uint8

const (
	unknown ownerState = iota // to be looked up
	lives
	waits  // it is being deleted and waits for its dependents
	absent // it does not exist, for sure
)

// owner is what the graph knows of the owner that a reference of an object in namespace leads to.
func (g *graph) owner(namespace string, ref *metav1.OwnerReference) ownerState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state(namespace, ref)
}

func (g *graph) state(namespace string, ref *metav1.OwnerReference) ownerState {
	n := g.nodes[ref.UID]
	if n == nil {
		return unknown
	}
	if n.known == present {
		switch {
		case !leadsTo(n.id, namespace, ref):
			return unknown // the uid is right and something else is not
		case n.foreground:
			return waits
		}
		return lives
	}
	p := at(namespace, ref)
	clusterWide := p
	clusterWide.namespace = ""
	if slices.Contains(n.absent, p) || slices.Contains(n.absent, clusterWide) {
		return absent
	}
	return unknown
}

// elsewhere reports whether the owner of a reference is known to live in another namespace than the object
// that refers to it.
func (g *graph) elsewhere(namespace string, owner types.UID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[owner]
	return n != nil && n.known == present && n.id.kind.Namespaced && n.id.key.Namespace != namespace
}

// setAbsent notes that no object of that uid is at p.
func (g *graph) setAbsent(uid types.UID, p place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.nodes[uid]; n != nil && n.known != present && !slices.Contains(n.absent, p) {
		n.absent = append(n.absent, p)
	}
}

// remove takes out an object whose end is proven.
func (g *graph) remove(uid types.UID) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.drop(uid, true)
}

func (g *graph) drop(uid types.UID, proven bool) (check []types.UID) {
	n := g.nodes[uid]
	if n == nil || n.known == referenced {
		return nil
	}
	for _, ref := range n.owners {
		if owner := g.nodes[ref.UID]; owner != nil && owner.foreground && owner != n {
			check = append(check, owner.uid)
		}
	}
	n.known = referenced
	if proven {
		n.absent = append(n.absent, n.id.place())
	}
	owners := n.owners
	n.owners, n.deleting, n.foreground, n.orphaning = nil, false, false, false
	for _, ref := range owners {
		g.unlink(n, ref.UID)
	}
	check = n.appendDependents(check)
	if len(n.dependents) == 0 {
		delete(g.nodes, uid)
	}
	return check
}

// doubt notes that an object is no longer listed.
func (g *graph) doubt(uid types.UID) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	switch {
	case n == nil || n.known == referenced:
		return nil
	case len(n.owners)+len(n.dependents) == 0:
		delete(g.nodes, uid)
		return nil
	}
	n.known = doubtful
	return []types.UID{uid}
}

// doubtAll notes that no object of a kind is watched at the moment. Those must be looked at that
// [graph.inDoubt] returns when the kind is watched again.
func (g *graph) doubtAll(kind *client.Resource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		if n.known == present && n.id.kind == kind {
			n.known = doubtful
		}
	}
}

// inDoubt returns the objects of some kinds that are in doubt, and those that refer to owners of them that
// are not known.
func (g *graph) inDoubt(kinds map[schema.GroupKind]bool) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for uid, n := range g.nodes {
		if n.known == doubtful && kinds[n.id.kind.GVK.GroupKind()] || slices.ContainsFunc(n.owners, func(r metav1.OwnerReference) bool {
			return kinds[at("", &r).kind] && g.state(n.id.key.Namespace, &r) == unknown
		}) {
			check = append(check, uid)
		}
	}
	return check
}

// forget drops all objects of a kind that is not served any more.
func (g *graph) forget(kind *client.Resource) (check []types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var gone []types.UID
	for uid, n := range g.nodes {
		if n.known != referenced && n.id.kind == kind {
			gone = append(gone, uid)
		}
	}
	for _, uid := range gone {
		check = append(check, g.drop(uid, false)...)
	}
	return check
}

// view is a copy of one node for working on it without the lock.
type view struct {
	id                              identity
	uid                             types.UID
	doubtful                        bool
	deleting, foreground, orphaning bool
	// owned and blocked say whether the node has dependents, and any that block its deletion in the
	// foreground.
	owned, blocked bool
	owners         []metav1.OwnerReference // shared and read-only
	seen           seen
}

// get returns a copy of an object that is present or in doubt.
func (g *graph) get(uid types.UID) (view, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil || n.known == referenced {
		return view{}, false
	}
	v := view{id: n.id, uid: uid, doubtful: n.known == doubtful, deleting: n.deleting, foreground: n.foreground, orphaning: n.orphaning, owned: len(n.dependents) > 0,
		owners: n.owners, seen: n.seen}
	for _, d := range n.dependents {
		if v.blocked = n.blockedBy(d); v.blocked {
			break
		}
	}
	return v, true
}

// object is one by its place and uid.
type object struct {
	id  identity
	uid types.UID
}

// dependents returns the objects that refer to an owner.
func (g *graph) dependents(uid types.UID) []object {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil {
		return nil
	}
	list := make([]object, 0, len(n.dependents))
	for _, uid := range slices.Sorted(maps.Keys(n.dependents)) {
		list = append(list, object{n.dependents[uid].id, uid})
	}
	return list
}

// circle returns the dependents that an object deleted in the foreground waits for, and that wait for it in
// turn, directly or through others: none of them would ever go.
func (g *graph) circle(uid types.UID) []object {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil || !n.foreground {
		return nil
	}
	var list []object
	seen := map[*node]bool{n: true}
	for todo := []*node{n}; len(todo) > 0; todo = todo[1:] {
		// Objects that wait for this one wait for n in the end.
		for _, ref := range todo[0].owners {
			o := g.nodes[ref.UID]
			if o == nil || !o.foreground || !holds(o.uid, o.id, todo[0].id.key.Namespace, &ref) {
				continue
			}
			if o == n {
				list = append(list, object{todo[0].id, todo[0].uid})
			} else if !seen[o] {
				seen[o] = true
				todo = append(todo, o)
			}
		}
	}
	return list
}

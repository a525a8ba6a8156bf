package authz

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// NodeGraph knows which nodes need which objects: a node needs the pods bound to it, what these refer to
// (their secrets, config maps, service account, claims of volumes and resources), the volumes bound to the
// claims, the secrets of these volumes, and the volume attachments, resource slices and certificate requests
// of the node. It is fed with pods, volumes, attachments, slices and requests. Each object has an index of
// the nodes that need it, kept with every change, so that a decision costs a look-up or two whatever the size
// of the cluster, and a change what it changes. The zero value is an empty graph. Safe for concurrent use.
type NodeGraph struct {
	// Changed, if set before the graph is used, is called after each change of it with what that was, such as
	// AddPod or DeletePV, and how long it took. It must be fast and safe for concurrent use.
	Changed func(change string, took time.Duration)

	mu       sync.RWMutex
	vertices map[object]*vertex
	wanted   []object // of the pod or volume that is being added; kept for the next one
}

// objectKind is the kind of an object in the graph.
type objectKind uint8

const (
	podObject objectKind = iota + 1
	secretObject
	configMapObject
	serviceAccountObject
	claimObject
	volumeObject
	resourceClaimObject
	attachmentObject
	sliceObject
	certificateRequestObject
)

// object identifies an object in the graph.
type object struct {
	kind            objectKind
	namespace, name string
}

// vertex is an object with what follows from the need for it.
type vertex struct {
	object
	nodes nodeCounts
	// next are the objects that the nodes which need this one need too, and whose edges this one owns.
	next []*vertex
	// volumes are those bound to a claim. Their owners are the volumes.
	volumes []*vertex
	// What a volume, attachment or slice, or a pod was added with: the claim, or the node.
	claim *vertex
	node  string
	// added reports that the object was added, rather than only referred to, and seen that it was added since
	// the last call of Begin.
	added, seen bool
	refs        int // of other vertices to this one
}

// nodeCounts counts for each node the ways in which it needs an object. Most objects are needed by one node.
type nodeCounts struct {
	first  string
	n      int
	others map[string]int
}

func (c *nodeCounts) has(node string) bool { return c.n > 0 && c.first == node || c.others[node] > 0 }

// add changes the count of a node by d, 1 or -1, and reports whether the node has come or gone by that.
func (c *nodeCounts) add(node string, d int) bool {
	switch {
	case c.n > 0 && c.first == node, c.n == 0 && c.others[node] == 0:
		c.first = node
		c.n += d
		return c.n == 0 || c.n == d
	case c.others == nil:
		c.others = map[string]int{}
	}
	n := c.others[node] + d
	if c.others[node] = n; n == 0 {
		delete(c.others, node)
	}
	return n == 0 || n == d
}

// each calls f for each node.
func (c *nodeCounts) each(f func(node string)) {
	if c.n > 0 {
		f(c.first)
	}
	for node := range c.others {
		f(node)
	}
}

// needs reports whether a node needs an object.
func (g *NodeGraph) needs(node string, o object) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	v := g.vertices[o]
	return v != nil && v.nodes.has(node)
}

// Set adds a *corev1.Pod, *corev1.PersistentVolume, *storagev1.VolumeAttachment, *resourcev1.ResourceSlice or
// *certificatesv1beta1.PodCertificateRequest, or replaces the one of its name; other types are a programming
// mistake and panic. Nothing of the object is retained.
func (g *NodeGraph) Set(obj metav1.Object) {
	began, key := time.Now(), objectOf(obj)
	if g.set(obj, key) {
		g.changed("Add", key, began)
	}
}

// changed reports a change since a time.
func (g *NodeGraph) changed(what string, o object, since time.Time) {
	if g.Changed != nil {
		g.Changed(what+changeNames[o.kind], time.Since(since))
	}
}

// changeNames are the names of the objects of Set in changes, those of kube-apiserver's metrics.
var changeNames = map[objectKind]string{podObject: "Pod", volumeObject: "PV", attachmentObject: "VolumeAttachment", sliceObject: "ResourceSlice",
	certificateRequestObject: "PodCertificateRequest"}

// set is Set, and reports whether the object has become a part of the graph or another one.
func (g *NodeGraph) set(obj metav1.Object, key object) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.vertices == nil {
		g.vertices = map[object]*vertex{}
	}
	g.wanted = g.wanted[:0]
	node, claim := "", object{}
	switch o := obj.(type) {
	case *corev1.Pod:
		if node = o.Spec.NodeName; node == "" {
			g.remove(key)
			return false
		}
		g.wantPod(o)
	case *corev1.PersistentVolume:
		ref := o.Spec.ClaimRef
		if ref == nil {
			g.remove(key)
			return false
		}
		claim = object{claimObject, ref.Namespace, ref.Name}
		g.wantVolume(o, ref.Namespace)
	case *storagev1.VolumeAttachment:
		node = o.Spec.NodeName
	case *resourcev1.ResourceSlice:
		if o.Spec.NodeName != nil {
			node = *o.Spec.NodeName
		}
	case *certificatesv1beta1.PodCertificateRequest:
		node = o.Spec.NodeName
	}
	return g.replace(key, node, claim)
}

// Delete removes an object of one of these types, if it is there; only type, namespace and name matter.
func (g *NodeGraph) Delete(obj metav1.Object) {
	began, key := time.Now(), objectOf(obj)
	g.mu.Lock()
	removed := g.remove(key)
	g.mu.Unlock()
	if removed {
		g.changed("Delete", key, began)
	}
}

// Begin is called before all objects of a type are added again, and End when they have been: it removes those
// of the type that have not been added since. Until then what was known stays, so that no node loses a right
// while a watch begins again.
func (g *NodeGraph) Begin(kind metav1.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for o, v := range g.vertices {
		if o.kind == objectOf(kind).kind {
			v.seen = false
		}
	}
}

// End is the counterpart of Begin.
func (g *NodeGraph) End(kind metav1.Object) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for o, v := range g.vertices {
		if o.kind == objectOf(kind).kind && v.added && !v.seen {
			g.remove(o)
		}
	}
}

// objectOf identifies an object of the types that the graph is fed with.
func objectOf(obj metav1.Object) object {
	switch obj.(type) {
	case *corev1.Pod:
		return object{podObject, obj.GetNamespace(), obj.GetName()}
	case *corev1.PersistentVolume:
		return object{volumeObject, "", obj.GetName()}
	case *storagev1.VolumeAttachment:
		return object{attachmentObject, "", obj.GetName()}
	case *resourcev1.ResourceSlice:
		return object{sliceObject, "", obj.GetName()}
	case *certificatesv1beta1.PodCertificateRequest:
		return object{certificateRequestObject, obj.GetNamespace(), obj.GetName()}
	}
	panic(fmt.Sprintf("authz: a NodeGraph holds pods, volumes, attachments, resource slices and certificate requests, not %T", obj))
}

// replace gives an object a node that needs it (if any), a claim that leads to it (if any), and g.wanted as
// what it leads to. An object that has all that already, as after most updates, costs no more than looking;
// then the result is false.
func (g *NodeGraph) replace(key object, node string, claim object) bool {
	if v := g.vertices[key]; v != nil && v.added {
		v.seen = true
		if v.node == node && (v.claim == nil && claim == object{} || v.claim != nil && v.claim.object == claim) &&
			slices.EqualFunc(v.next, g.wanted, func(v *vertex, o object) bool { return v.object == o }) {
			return false
		}
	}
	g.remove(key)
	v := g.vertex(key)
	v.added, v.seen = true, true
	for _, o := range g.wanted {
		next := g.vertex(o)
		next.refs++
		v.next = append(v.next, next)
	}
	if claim != (object{}) {
		v.claim = g.vertex(claim)
		v.claim.refs++
		v.claim.volumes = append(v.claim.volumes, v)
	}
	if v.claim != nil {
		v.claim.nodes.each(func(node string) { v.count(node, 1) })
	}
	if node != "" {
		v.node = strings.Clone(node)
		v.count(v.node, 1)
	}
	return true
}

// remove takes back what replace has done, and reports whether that was anything.
func (g *NodeGraph) remove(key object) bool {
	v := g.vertices[key]
	if v == nil || !v.added {
		return false
	}
	if v.node != "" {
		v.count(v.node, -1)
	}
	if c := v.claim; c != nil {
		c.nodes.each(func(node string) { v.count(node, -1) })
		c.volumes = slices.DeleteFunc(c.volumes, func(w *vertex) bool { return w == v })
		c.refs--
		g.drop(c)
	}
	for _, next := range v.next {
		next.refs--
		g.drop(next)
	}
	v.added, v.node, v.claim, v.next = false, "", nil, nil
	g.drop(v)
	return true
}

// count changes the count of a node for this object and all that follows from it.
func (v *vertex) count(node string, d int) {
	if v.nodes.add(node, d) {
		count(v.next, node, d)
		count(v.volumes, node, d)
	}
}

func count(vs []*vertex, node string, d int) {
	for _, v := range vs {
		v.count(node, d)
	}
}

// vertex returns the vertex of an object, a new one if there is none.
func (g *NodeGraph) vertex(o object) *vertex {
	v := g.vertices[o]
	if v == nil {
		// The strings may be parts of a whole decoded object.
		o.namespace, o.name = strings.Clone(o.namespace), strings.Clone(o.name)
		v = &vertex{object: o}
		g.vertices[v.object] = v
	}
	return v
}

// drop removes a vertex that nothing refers to.
func (g *NodeGraph) drop(v *vertex) {
	if !v.added && v.refs == 0 {
		delete(g.vertices, v.object)
	}
}

func (g *NodeGraph) want(kind objectKind, namespace, name string) {
	if name != "" {
		g.wanted = append(g.wanted, object{kind, namespace, name})
	}
}

// wantPod collects what a pod refers to. A mirror pod, which a node creates itself, gives it nothing.
func (g *NodeGraph) wantPod(p *corev1.Pod) {
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return
	}
	ns, s := p.Namespace, &p.Spec
	g.want(serviceAccountObject, ns, s.ServiceAccountName)
	corev1.EachSecret(s, func(name string) { g.want(secretObject, ns, name) })
	corev1.EachConfigMap(s, func(name string) { g.want(configMapObject, ns, name) })
	for _, key := range p.VolumeClaims() {
		g.want(claimObject, ns, key.Name)
	}
	for i := range s.ResourceClaims {
		g.want(resourceClaimObject, ns, claimNameOf(p, &s.ResourceClaims[i]))
	}
	if st := p.Status.ExtendedResourceClaimStatus; st != nil {
		g.want(resourceClaimObject, ns, st.ResourceClaimName)
	}
}

// claimNameOf is the name of a pod's resource claim; empty while one made of a template does not exist.
func claimNameOf(p *corev1.Pod, c *corev1.PodResourceClaim) string {
	if c.ResourceClaimName != nil {
		return *c.ResourceClaimName
	}
	for i := range p.Status.ResourceClaimStatuses {
		if st := &p.Status.ResourceClaimStatuses[i]; st.Name == c.Name && st.ResourceClaimName != nil {
			return *st.ResourceClaimName
		}
	}
	return ""
}

// wantVolume collects the secrets with which a node mounts a volume. Where a reference has no namespace it is
// that of the claim.
func (g *NodeGraph) wantVolume(pv *corev1.PersistentVolume, claimNamespace string) {
	ref := func(r *corev1.SecretReference) {
		if r == nil {
			return
		}
		ns := r.Namespace
		if ns == "" {
			ns = claimNamespace
		}
		g.want(secretObject, ns, r.Name)
	}
	switch s := &pv.Spec.PersistentVolumeSource; {
	case s.AzureFile != nil:
		ns := claimNamespace
		if s.AzureFile.SecretNamespace != nil && *s.AzureFile.SecretNamespace != "" {
			ns = *s.AzureFile.SecretNamespace
		}
		g.want(secretObject, ns, s.AzureFile.SecretName)
	case s.CephFS != nil:
		ref(s.CephFS.SecretRef)
	case s.Cinder != nil:
		if r := s.Cinder.SecretRef; r != nil {
			g.want(secretObject, r.Namespace, r.Name)
		}
	case s.FlexVolume != nil:
		ref(s.FlexVolume.SecretRef)
	case s.RBD != nil:
		ref(s.RBD.SecretRef)
	case s.ScaleIO != nil:
		ref(s.ScaleIO.SecretRef)
	case s.ISCSI != nil:
		ref(s.ISCSI.SecretRef)
	case s.StorageOS != nil:
		if r := s.StorageOS.SecretRef; r != nil {
			g.want(secretObject, r.Namespace, r.Name)
		}
	case s.CSI != nil: // not those with which only controllers attach and expand
		for _, r := range []*corev1.SecretReference{s.CSI.NodePublishSecretRef, s.CSI.NodeStageSecretRef, s.CSI.NodeExpandSecretRef} {
			if r != nil {
				g.want(secretObject, r.Namespace, r.Name)
			}
		}
	}
}

// Len returns the number of objects that the graph knows, added or referred to.
func (g *NodeGraph) Len() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.vertices)
}

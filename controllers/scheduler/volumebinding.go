package scheduler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

// VolumeBinding refuses nodes where the pod cannot have its volumes, and sees to it that claims which wait
// for a pod are bound before it is: it lets volumes refer to them, or annotates them with the node that a
// provisioner makes a volume for. Only then the pod is bound. Two plans never have the same volume. Nodes are
// scored by their storage only with a shape, see [NewVolumeBinding].
type VolumeBinding struct {
	// Timeout is how long a pod waits for its claims to be bound before it is scheduled again; 0 means 10
	// minutes.
	Timeout time.Duration
	shape   []ShapePoint
}

// NewVolumeBinding returns the plugin with a shape, which scores nodes by the share that the claims of the
// pod take there: of the volumes that would be bound to them, or if there are none, of the capacity that the
// CSIStorageCapacities of the claims' classes say the node has. The share is worked out for each class, and
// the scores of classes are averaged.
func NewVolumeBinding(timeout time.Duration, shape []ShapePoint) (*VolumeBinding, error) {
	if err := checkShape(shape); err != nil {
		return nil, err
	}
	return &VolumeBinding{Timeout: timeout, shape: shape}, nil
}

const volumeTimeout = 10 * time.Minute

// Name returns "VolumeBinding".
func (*VolumeBinding) Name() string { return "VolumeBinding" }

// The reasons why a node cannot have a pod's volumes, by a bit for each.
const (
	volumeElsewhere = 1 << iota
	volumeMissing
	storageFull
	volumeGone
)

var volumeRefusals = newVolumeRefusals()

func newVolumeRefusals() (out [16]*Status) {
	for bits := range out {
		out[bits] = refusal(UnschedulableAndUnresolvable, "VolumeBinding")
		for i, text := range []string{"node(s) didn't match PersistentVolume's node affinity", "node(s) didn't find available persistent volumes to bind",
			"node(s) did not have enough free storage", "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"} {
			if bits&(1<<i) != 0 {
				out[bits].Reasons = append(out[bits].Reasons, text)
			}
		}
	}
	return out
}

var (
	refusedUnbound = refusal(UnschedulableAndUnresolvable, "VolumeBinding", "pod has unbound immediate PersistentVolumeClaims")
	errNoClass     = errors.New("the class of a claim is not known any more")
)

// volumeNeeds are the claims of a pod, sorted by what they need. For the volumes that could serve them it is
// known by host where they are, so that a node costs as much as its own volumes.
type volumeNeeds struct {
	storage *storage
	pod     *Pod
	// shape scores nodes.
	shape []ShapePoint
	// bound are the node affinities of the volumes of bound claims, up to the first volume that is missing.
	bound   [][]nodefit.Term
	missing bool
	// delayed are claims that any volume may serve, chosen those that have a node already.
	delayed []volumematch.Request
	chosen  []*corev1.PersistentVolumeClaim
	// local are the volumes that are on one host only, by its name; remote all others.
	local  map[string][]*corev1.PersistentVolume
	remote []reachable
	// near and far are those for a node; see reach.
	near, far []*corev1.PersistentVolume
	failed    error
}

type reachable struct {
	*corev1.PersistentVolume
	from []nodefit.Term
}

// PreFilter implements PreFilterPlugin.
func (a *VolumeBinding) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.claims) == 0 {
		return nil, nil
	}
	f := Scratch[volumeNeeds](cy, a)
	if st := f.gather(&cy.cluster.storage, cy.pod); !st.OK() {
		return nil, st
	}
	return f, nil
}

// gather sorts the claims of a pod.
func (f *volumeNeeds) gather(s *storage, p *Pod) *Status {
	*f = volumeNeeds{storage: s, pod: p, bound: f.bound[:0], delayed: f.delayed[:0], chosen: f.chosen[:0], remote: f.remote[:0], near: f.near[:0], far: f.far[:0]}
	classes := map[string]bool{}
	immediate := false
	for i := range p.claims {
		c, problem := s.usable(p, &p.claims[i])
		switch {
		case problem != "":
			return refusal(UnschedulableAndUnresolvable, "VolumeBinding", problem)
		case volumematch.IsBound(c):
			f.addBound(c)
		case c.Spec.VolumeName != "" || !volumematch.WaitsForConsumer(s.classes.get("", c.StorageClass())):
			immediate = true
		case c.Annotations[volumematch.SelectedNode] != "":
			f.chosen = append(f.chosen, c)
		default:
			r, err := volumematch.NewRequest(c)
			if err != nil {
				return &Status{Code: Error, Plugin: "VolumeBinding", Reasons: []string{err.Error()}}
			}
			f.delayed = append(f.delayed, r)
			classes[c.StorageClass()] = true
		}
	}
	if immediate {
		return refusedUnbound
	}
	for v := range s.ofClasses(classes) {
		f.addCandidate(v)
	}
	return nil
}

// usable returns a claim of a pod, or why the pod cannot have it.
func (s *storage) usable(p *Pod, u *claimUse) (c *corev1.PersistentVolumeClaim, problem string) {
	c = s.claim(u.key)
	switch {
	case c == nil && u.ephemeral:
		return nil, fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", u.key.Name)
	case c == nil:
		return nil, missingClaim(u.key.Name)
	case c.Status.Phase == corev1.ClaimLost:
		return nil, fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", c.Name, c.Spec.VolumeName)
	case c.DeletionTimestamp != nil:
		return nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", c.Name)
	case u.ephemeral && !metav1.IsControlledBy(c, p.pod.UID):
		return nil, notOwned(c, p)
	}
	return c, ""
}

func missingClaim(name string) string { return fmt.Sprintf("persistentvolumeclaim %q not found", name) }

func notOwned(c *corev1.PersistentVolumeClaim, p *Pod) string {
	return fmt.Sprintf("PVC %s was not created for pod %s (pod is not owner)", c.Key(), p.pod.Key())
}

// addBound notes where the volume of a bound claim can be used.
func (f *volumeNeeds) addBound(c *corev1.PersistentVolumeClaim) {
	if f.missing {
		return
	}
	v := f.storage.volumes.get("", c.Spec.VolumeName)
	switch {
	case v == nil:
		f.missing = true
	case v.Spec.NodeAffinity != nil:
		f.bound = append(f.bound, nodefit.CompileAll(v.Spec.NodeAffinity.Required))
	}
}

// addCandidate files a volume that may serve one of the delayed claims.
func (f *volumeNeeds) addCandidate(v *corev1.PersistentVolume) {
	if !slices.ContainsFunc(f.delayed, func(r volumematch.Request) bool { return r.MayTake(v) }) {
		return
	}
	if host, ok := hostOf(v); ok && !f.reserved(v) {
		if f.local == nil {
			f.local = map[string][]*corev1.PersistentVolume{}
		}
		f.local[host] = append(f.local[host], v)
		return
	}
	r := reachable{PersistentVolume: v}
	if v.Spec.NodeAffinity != nil {
		r.from = nodefit.CompileAll(v.Spec.NodeAffinity.Required)
	}
	f.remote = append(f.remote, r)
}

// reserved reports whether a volume refers to one of the claims: nodes that it does not reach must see it
// too.
func (f *volumeNeeds) reserved(v *corev1.PersistentVolume) bool {
	return slices.ContainsFunc(f.delayed, func(r volumematch.Request) bool { return volumematch.IsReserved(v, r.Claim) })
}

// hostOf is the value of the label of the only host that can use a volume, if its affinity is that simple.
func hostOf(v *corev1.PersistentVolume) (string, bool) {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil || len(v.Spec.NodeAffinity.Required.NodeSelectorTerms) != 1 {
		return "", false
	}
	t := &v.Spec.NodeAffinity.Required.NodeSelectorTerms[0]
	if len(t.MatchFields) > 0 || len(t.MatchExpressions) != 1 {
		return "", false
	}
	r := &t.MatchExpressions[0]
	if r.Key != hostnameLabel || r.Operator != corev1.NodeSelectorOpIn || len(r.Values) != 1 {
		return "", false
	}
	return r.Values[0], true
}

// Filter implements NodeFilter.
func (f *volumeNeeds) Filter(n *Node) *Status {
	bits, _ := f.on(n)
	switch {
	case f.failed != nil:
		return &Status{Code: Error, Plugin: "VolumeBinding", Reasons: []string{f.failed.Error()}}
	case bits != 0:
		return volumeRefusals[bits]
	}
	return nil
}

// on returns why a node cannot have the volumes, or what is to be done for the claims there.
func (f *volumeNeeds) on(n *Node) (bits int, plan volumePlan) {
	switch {
	case slices.ContainsFunc(f.bound, func(t []nodefit.Term) bool { return !nodefit.MatchesAny(t, n.obj) }):
		bits = volumeElsewhere
	case f.missing:
		bits = volumeGone
	}
	for _, c := range f.chosen {
		if c.Annotations[volumematch.SelectedNode] != n.name {
			return bits | volumeMissing, plan
		}
	}
	plan.make = append(plan.make, f.chosen...)
	if len(f.delayed) > 0 {
		f.reach(n)
		reached := func(v *corev1.PersistentVolume) bool { return !slices.Contains(f.far, v) }
		for i, v := range volumematch.Assign(f.delayed, slices.Values(f.near), reached) {
			if claim := f.delayed[i].Claim; v != nil {
				plan.bind = append(plan.bind, volumeBinding{claim, v})
			} else {
				plan.make = append(plan.make, claim)
			}
		}
	}
	for _, c := range plan.make {
		if bit := f.provisions(c, n.obj); bit != 0 {
			return bits | bit, plan
		}
	}
	return bits, plan
}

// reach collects the volumes to look at for a node in near; far are those of them that it does not reach.
func (f *volumeNeeds) reach(n *Node) {
	f.near, f.far = f.near[:0], f.far[:0]
	if host, ok := n.obj.Labels[hostnameLabel]; ok {
		f.near = append(f.near, f.local[host]...)
	}
	for i := range f.remote {
		r := &f.remote[i]
		switch reached := nodefit.MatchesAny(r.from, n.obj); {
		case reached:
			f.near = append(f.near, r.PersistentVolume)
		case f.reserved(r.PersistentVolume):
			f.near, f.far = append(f.near, r.PersistentVolume), append(f.far, r.PersistentVolume)
		}
	}
}

// provisions returns why no volume can be made for a claim on a node, 0 if one can.
func (f *volumeNeeds) provisions(c *corev1.PersistentVolumeClaim, n *corev1.Node) int {
	class := f.storage.classes.get("", c.StorageClass())
	switch {
	case class == nil:
		f.failed = errNoClass
		return volumeMissing
	case class.Provisioner == "" || class.Provisioner == volumematch.NoProvisioner || !allowed(class.AllowedTopologies, n):
		return volumeMissing
	case !f.storage.hasCapacity(c, class, n):
		return storageFull
	}
	return 0
}

// allowed reports whether a node is in one of the topologies; none allow every node.
func allowed(terms []corev1.TopologySelectorTerm, n *corev1.Node) bool {
	return len(terms) == 0 || slices.ContainsFunc(terms, func(t corev1.TopologySelectorTerm) bool {
		for _, r := range t.MatchLabelExpressions {
			if v, ok := n.Labels[r.Key]; !ok || !slices.Contains(r.Values, v) {
				return false
			}
		}
		return len(t.MatchLabelExpressions) > 0
	})
}

// hasCapacity reports whether the driver of a class, if it reports capacities, has enough for a claim on a
// node.
func (s *storage) hasCapacity(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, n *corev1.Node) bool {
	size, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return true
	}
	if !s.reportsCapacity(class) {
		return true
	}
	for _, capacity := range s.capacities.of[class.Name] {
		if suffices(capacity, size.Value(), n) {
			return true
		}
	}
	return false
}

// reportsCapacity reports whether the driver of a class says how much it has.
func (s *storage) reportsCapacity(class *storagev1.StorageClass) bool {
	driver := s.drivers.get("", class.Provisioner)
	return driver != nil && isTrue(driver.Spec.StorageCapacity)
}

// suffices reports whether a volume of a size can be made on a node from a capacity.
func suffices(capacity *storagev1.CSIStorageCapacity, size int64, n *corev1.Node) bool {
	if limitOf(capacity) < size || capacity.NodeTopology == nil {
		return false
	}
	sel, err := capacity.NodeTopology.Selector()
	return err == nil && sel.Matches(n.Labels)
}

// capacityFor is how much a node has of the storage that a claim would be made from: of several, that of the
// first by name which has enough.
func (s *storage) capacityFor(c *corev1.PersistentVolumeClaim, n *corev1.Node) (bytes int64, known bool) {
	class := s.classes.get("", c.StorageClass())
	size, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if class == nil || !ok || !s.reportsCapacity(class) {
		return 0, false
	}
	var first *storagev1.CSIStorageCapacity
	for _, capacity := range s.capacities.of[class.Name] {
		if suffices(capacity, size.Value(), n) && (first == nil || capacity.Key().Compare(first.Key()) < 0) {
			first = capacity
		}
	}
	if first == nil || first.Capacity == nil {
		return 0, false
	}
	return first.Capacity.Value(), true
}

// PreScore implements PreScorePlugin.
func (a *VolumeBinding) PreScore(cy *Cycle, _ []*Node) (NodeScore, *Status) {
	if len(a.shape) == 0 || len(cy.pod.claims) == 0 {
		return nil, nil
	}
	f := Scratch[volumeNeeds](cy, a)
	if f.pod != cy.pod {
		return nil, nil
	}
	f.shape = a.shape
	return f, nil
}

// Score implements NodeScore.
func (f *volumeNeeds) Score(n *Node) int64 {
	type share struct{ requested, capacity int64 }
	shares := map[string]share{}
	_, plan := f.on(n)
	for _, b := range plan.bind {
		s, requested, capacity := shares[b.volume.Spec.StorageClassName], b.claim.Spec.Resources.Requests[corev1.ResourceStorage], b.volume.Spec.Capacity[corev1.ResourceStorage]
		shares[b.volume.Spec.StorageClassName] = share{s.requested + requested.Value(), s.capacity + capacity.Value()}
	}
	for _, c := range plan.make {
		capacity, known := f.storage.capacityFor(c, n.obj)
		if !known || len(plan.bind) > 0 {
			continue
		}
		requested := c.Spec.Resources.Requests[corev1.ResourceStorage]
		shares[c.StorageClass()] = share{shares[c.StorageClass()].requested + requested.Value(), capacity}
	}
	if len(shares) == 0 {
		return 0
	}
	sum := int64(0)
	for _, s := range shares {
		utilization := int64(100)
		if s.capacity > 0 && s.requested <= s.capacity {
			utilization = s.requested * 100 / s.capacity
		}
		sum += scoreOfShape(f.shape, utilization)
	}
	return int64(math.Round(float64(sum) / float64(len(shares))))
}

// plan decides what to do for the claims of a pod that is placed on a node; nil for nothing, or if its claims
// cannot be served.
func (s *storage) plan(p *Pod, n *Node) *volumePlan {
	var f volumeNeeds
	if st := f.gather(s, p); !st.OK() {
		return nil
	}
	bits, plan := f.on(n)
	if bits != 0 || len(plan.bind)+len(plan.make) == 0 {
		return nil
	}
	return &plan
}

// EventsToRegister implements EnqueueExtensions.
func (*VolumeBinding) EventsToRegister() EventKind {
	return NodeAdd | NodeUpdate | ClaimEvent | VolumeEvent | StorageClassEvent | CSINodeEvent | CSIDriverEvent | StorageCapacityEvent | AssignedPodDelete
}

// QueueingHint implements QueueingHint: the pod's own claims, volumes, classes that are new or reach more
// nodes, and capacities that grow. A pod that gives up its place may give up volumes.
func (*VolumeBinding) QueueingHint(e *Event, p *Pod) bool {
	switch e.Kind {
	case ClaimEvent:
		return e.New != nil && usesClaim(p, e.New)
	case StorageClassEvent:
		return addedOr(e, func(was, now *storagev1.StorageClass) bool {
			return !sameTopologies(was.AllowedTopologies, now.AllowedTopologies)
		})
	case CSINodeEvent:
		return addedOr(e, func(was, now *storagev1.CSINode) bool {
			return was.Annotations[corev1.MigratedPluginsAnnotationKey] != now.Annotations[corev1.MigratedPluginsAnnotationKey]
		})
	case CSIDriverEvent:
		return e.New == nil || addedOr(e, func(was, now *storagev1.CSIDriver) bool {
			return isTrue(was.Spec.StorageCapacity) && !isTrue(now.Spec.StorageCapacity)
		})
	case StorageCapacityEvent:
		return addedOr(e, func(was, now *storagev1.CSIStorageCapacity) bool { return limitOf(now) > limitOf(was) })
	case AssignedPodDelete:
		return len(claimsOf(e.OldPod)) > 0
	case NodeUpdate:
		return e.OldNode == nil || e.NewNode == nil || !equalLabels(e.OldNode, e.NewNode)
	}
	return e.New != nil || e.NewNode != nil
}

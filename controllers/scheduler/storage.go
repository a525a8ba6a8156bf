package scheduler

import (
	"iter"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

// storage holds what says where pods can have their volumes. Invariants:
//
//  1. taken and provisioned hold what the volume plans of the placed pods say, and how many plans say so.
//  2. users counts the attached pods that use a claim by name.
type storage struct {
	claims      *table[*corev1.PersistentVolumeClaim]
	volumes     *table[*corev1.PersistentVolume] // by class
	classes     *table[*storagev1.StorageClass]
	nodes       *table[*storagev1.CSINode]
	drivers     *table[*storagev1.CSIDriver]
	capacities  *table[*storagev1.CSIStorageCapacity] // by class
	attachments *table[*storagev1.VolumeAttachment]   // by node

	// taken are the volumes that claims of placed pods are to be bound to, by name; provisioned are the
	// claims that volumes are to be made for.
	taken       map[string]*taken
	provisioned map[types.NamespacedName]*provisioned
	users       map[types.NamespacedName]int32
}

// taken is a volume that a claim is to be bound to. seen is the volume as it was when as was made.
type taken struct {
	claim    *corev1.PersistentVolumeClaim
	plans    int
	seen, as *corev1.PersistentVolume
}

// provisioned is a claim that a volume is to be made for on a node.
type provisioned struct {
	node     string
	plans    int
	seen, as *corev1.PersistentVolumeClaim
}

// volumePlan is what must be written before a pod is bound. It is immutable.
type volumePlan struct {
	bind []volumeBinding
	make []*corev1.PersistentVolumeClaim
}

type volumeBinding struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
}

func newStorage() storage {
	return storage{
		claims: newTable[*corev1.PersistentVolumeClaim](nil), volumes: newTable(volumematch.VolumeClass),
		classes: newTable[*storagev1.StorageClass](nil), nodes: newTable[*storagev1.CSINode](nil), drivers: newTable[*storagev1.CSIDriver](nil),
		capacities:  newTable(func(c *storagev1.CSIStorageCapacity) string { return c.StorageClassName }),
		attachments: newTable(func(a *storagev1.VolumeAttachment) string { return a.Spec.NodeName }),
		taken:       map[string]*taken{}, provisioned: map[types.NamespacedName]*provisioned{}, users: map[types.NamespacedName]int32{},
	}
}

// clone copies the objects, without what plans say.
func (s *storage) clone() storage {
	out := newStorage()
	out.claims, out.volumes, out.classes, out.nodes = s.claims.clone(), s.volumes.clone(), s.classes.clone(), s.nodes.clone()
	out.drivers, out.capacities, out.attachments = s.drivers.clone(), s.capacities.clone(), s.attachments.clone()
	return out
}

// SetObject adds or replaces an object that volumes depend on: a PersistentVolumeClaim, PersistentVolume,
// StorageClass, CSINode, CSIDriver, CSIStorageCapacity or VolumeAttachment; one that devices depend on: a
// ResourceClaim, ResourceSlice or DeviceClass; one whose selector says which pods belong together: a Service,
// ReplicationController, ReplicaSet or StatefulSet; or a PodGroup. It is false for other kinds, which have
// methods of their own or do not count.
func (c *Cluster) SetObject(obj metav1.Object) bool {
	_, ok := c.putObject(obj, false)
	return ok
}

// RemoveObject removes an object that SetObject has added; only its kind and name count.
func (c *Cluster) RemoveObject(obj metav1.Object) bool {
	_, ok := c.putObject(obj, true)
	return ok
}

// putObject returns what the object was, nil if it was not there.
func (c *Cluster) putObject(obj metav1.Object, gone bool) (was metav1.Object, known bool) {
	s := &c.storage
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		return putIn(c, s.claims, o, gone), true
	case *corev1.PersistentVolume:
		return putIn(c, s.volumes, o, gone), true
	case *storagev1.StorageClass:
		return putIn(c, s.classes, o, gone), true
	case *storagev1.CSINode:
		return putIn(c, s.nodes, o, gone), true
	case *storagev1.CSIDriver:
		return putIn(c, s.drivers, o, gone), true
	case *storagev1.CSIStorageCapacity:
		return putIn(c, s.capacities, o, gone), true
	case *storagev1.VolumeAttachment:
		return putIn(c, s.attachments, o, gone), true
	}
	if was, known = c.putDevices(obj, gone); known {
		return was, true
	}
	if g, ok := obj.(*schedulingv1alpha2.PodGroup); ok {
		return c.putPodGroup(g, gone), true
	}
	return c.putGrouping(obj, gone)
}

func putIn[T interface {
	metav1.Object
	comparable
}](c *Cluster, t *table[T], obj T, gone bool) metav1.Object {
	var none T
	next := obj
	if gone {
		next = none
	}
	if was := t.put(&c.journal, types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}, next); was != none {
		return was
	}
	return nil
}

// claim returns a claim as it will be when the plans of placed pods are written.
func (s *storage) claim(key types.NamespacedName) *corev1.PersistentVolumeClaim {
	c := s.claims.all[key]
	p := s.provisioned[key]
	if c == nil || p == nil || c.Spec.VolumeName != "" || c.Annotations[volumematch.SelectedNode] == p.node {
		return c
	}
	if p.seen != c {
		p.seen, p.as = c, selectNode(c, p.node)
	}
	return p.as
}

// selectNode returns a copy of a claim which says for which node its volume is to be made.
func selectNode(c *corev1.PersistentVolumeClaim, node string) *corev1.PersistentVolumeClaim {
	next := codec.DeepCopy(c)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[volumematch.SelectedNode] = node
	return next
}

// volume returns a volume as it will be when the plans of placed pods are written.
func (s *storage) volume(v *corev1.PersistentVolume) *corev1.PersistentVolume {
	t := s.taken[v.Name]
	if t == nil || v.Spec.ClaimRef != nil && v.Spec.ClaimRef.UID != "" {
		return v
	}
	if t.seen != v {
		t.seen, t.as = v, volumematch.Refer(v, t.claim)
	}
	return t.as
}

// ofClasses are the volumes of classes.
func (s *storage) ofClasses(classes map[string]bool) iter.Seq[*corev1.PersistentVolume] {
	return func(yield func(*corev1.PersistentVolume) bool) {
		for class := range classes {
			for _, v := range s.volumes.of[class] {
				if !yield(s.volume(v)) {
					return
				}
			}
		}
	}
}

// promise counts what a plan says, or with -1 forgets it.
func (s *storage) promise(p *volumePlan, node string, by int) {
	if p == nil {
		return
	}
	for _, b := range p.bind {
		t := s.taken[b.volume.Name]
		if t == nil {
			t = &taken{claim: b.claim}
			s.taken[b.volume.Name] = t
		}
		if t.plans += by; t.plans == 0 {
			delete(s.taken, b.volume.Name)
		}
	}
	for _, c := range p.make {
		key := c.Key()
		t := s.provisioned[key]
		if t == nil {
			t = &provisioned{node: node}
			s.provisioned[key] = t
		}
		if t.plans += by; t.plans == 0 {
			delete(s.provisioned, key)
		}
	}
}

// use counts the users of a pod's claims.
func (s *storage) use(p *Pod, by int32) {
	for i := range p.claims {
		u := &p.claims[i]
		if u.ephemeral {
			continue
		}
		if s.users[u.key] += by; s.users[u.key] == 0 {
			delete(s.users, u.key)
		}
	}
}

// claimUse is a claim that a pod uses.
type claimUse struct {
	key types.NamespacedName
	// ephemeral is set for a claim that is made for the pod.
	ephemeral bool
}

func claimsOf(pod *corev1.Pod) (out []claimUse) {
	for i := range pod.Spec.Volumes {
		if name, ephemeral := pod.ClaimOf(&pod.Spec.Volumes[i]); name != "" {
			out = append(out, claimUse{types.NamespacedName{Namespace: pod.Namespace, Name: name}, ephemeral})
		}
	}
	return out
}

package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
)

var (
	refusedDisk  = refusal(Unschedulable, "VolumeRestrictions", "node(s) had no available disk")
	refusedInUse = refusal(Unschedulable, "VolumeRestrictions", "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod")
	refusedZone  = refusal(UnschedulableAndUnresolvable, "VolumeZone", "node(s) had no available volume zone")
	refusedLimit = refusal(Unschedulable, "NodeVolumeLimits", "node(s) exceed max volume count")
)

// addedOr reports whether an object is new, or has changed in a way that may help.
func addedOr[T metav1.Object](e *Event, helps func(was, now T) bool) bool {
	now, ok := e.New.(T)
	if !ok {
		return false
	}
	was, ok := e.Old.(T)
	return !ok || helps(was, now)
}

func isTrue(b *bool) bool { return b != nil && *b }

func equalLabels(a, b metav1.Object) bool { return maps.Equal(a.GetLabels(), b.GetLabels()) }

func usesClaim(p *Pod, obj metav1.Object) bool {
	return slices.ContainsFunc(p.claims, func(u claimUse) bool { return u.key.Name == obj.GetName() && u.key.Namespace == obj.GetNamespace() })
}

func sameTopologies(a, b []corev1.TopologySelectorTerm) bool {
	return slices.EqualFunc(a, b, func(s, t corev1.TopologySelectorTerm) bool {
		return slices.EqualFunc(s.MatchLabelExpressions, t.MatchLabelExpressions, func(x, y corev1.TopologySelectorLabelRequirement) bool {
			return x.Key == y.Key && slices.Equal(x.Values, y.Values)
		})
	})
}

// limitOf is the largest volume of a capacity, -1 if that is not known.
func limitOf(c *storagev1.CSIStorageCapacity) int64 {
	switch {
	case c.MaximumVolumeSize != nil:
		return c.MaximumVolumeSize.Value()
	case c.Capacity != nil:
		return c.Capacity.Value()
	}
	return -1
}

// VolumeRestrictions refuses nodes with pods that use the same disk, as the kinds of disks allow, and all
// nodes while another pod uses a claim of the pod that only one may use.
type VolumeRestrictions struct{}

// Name returns "VolumeRestrictions".
func (VolumeRestrictions) Name() string { return "VolumeRestrictions" }

// disksOf are the volumes of a pod that conflict with others.
func disksOf(pod *corev1.Pod) (out []*corev1.Volume) {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.RBD != nil || v.ISCSI != nil {
			out = append(out, v)
		}
	}
	return out
}

// sharedDisk reports whether two volumes are the same disk, and not both only read where that is possible.
func sharedDisk(a, b *corev1.Volume) bool {
	switch {
	case a.GCEPersistentDisk != nil && b.GCEPersistentDisk != nil:
		return a.GCEPersistentDisk.PDName == b.GCEPersistentDisk.PDName && !(a.GCEPersistentDisk.ReadOnly && b.GCEPersistentDisk.ReadOnly)
	case a.AWSElasticBlockStore != nil && b.AWSElasticBlockStore != nil:
		return a.AWSElasticBlockStore.VolumeID == b.AWSElasticBlockStore.VolumeID
	case a.ISCSI != nil && b.ISCSI != nil:
		return a.ISCSI.IQN == b.ISCSI.IQN && !(a.ISCSI.ReadOnly && b.ISCSI.ReadOnly)
	case a.RBD != nil && b.RBD != nil:
		return a.RBD.RBDPool == b.RBD.RBDPool && a.RBD.RBDImage == b.RBD.RBDImage && !(a.RBD.ReadOnly && b.RBD.ReadOnly) &&
			slices.ContainsFunc(a.RBD.CephMonitors, func(m string) bool { return slices.Contains(b.RBD.CephMonitors, m) })
	}
	return false
}

func shareDisk(a, b *Pod) bool {
	return slices.ContainsFunc(a.disks, func(v *corev1.Volume) bool {
		return slices.ContainsFunc(b.disks, func(w *corev1.Volume) bool { return sharedDisk(v, w) })
	})
}

type diskFilter struct {
	storage *storage
	pod     *Pod
	// alone are the claims that only one pod may use.
	alone []types.NamespacedName
}

// PreFilter implements PreFilterPlugin.
func (a VolumeRestrictions) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.disks)+len(cy.pod.claims) == 0 {
		return nil, nil
	}
	f := Scratch[diskFilter](cy, a)
	*f = diskFilter{&cy.cluster.storage, cy.pod, f.alone[:0]}
	for i := range cy.pod.claims {
		u := &cy.pod.claims[i]
		if u.ephemeral {
			continue
		}
		c := f.storage.claims.all[u.key]
		if c == nil {
			return nil, NewStatus(UnschedulableAndUnresolvable, missingClaim(u.key.Name))
		}
		if slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod) {
			f.alone = append(f.alone, u.key)
		}
	}
	if len(f.pod.disks)+len(f.alone) == 0 {
		return nil, nil
	}
	return f, nil
}

func (*diskFilter) monotone() {}

// Filter implements NodeFilter.
func (f *diskFilter) Filter(n *Node) *Status {
	if len(f.pod.disks) > 0 {
		for _, p := range n.pods {
			if shareDisk(f.pod, p.Pod) {
				return refusedDisk
			}
		}
	}
	for _, key := range f.alone {
		if f.storage.users[key] > 0 {
			return refusedInUse
		}
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (VolumeRestrictions) EventsToRegister() EventKind {
	return AssignedPodDelete | NodeAdd | ClaimEvent
}

// QueueingHint implements QueueingHint: pods that end and have one of the disks or claims, and claims of the
// pod that are new.
func (VolumeRestrictions) QueueingHint(e *Event, p *Pod) bool {
	switch {
	case e.OldPod != nil:
		return e.OldPod.Namespace == p.pod.Namespace && (slices.ContainsFunc(claimsOf(e.OldPod), func(u claimUse) bool { return slices.Contains(p.claims, u) }) ||
			shareDisk(p, &Pod{disks: disksOf(e.OldPod)}))
	case e.Kind == ClaimEvent:
		return e.Old == nil && usesClaim(p, e.New)
	}
	return true
}

// VolumeZone refuses nodes that are not in the zone or region that the labels of the pod's volumes name.
type VolumeZone struct{}

// Name returns "VolumeZone".
func (VolumeZone) Name() string { return "VolumeZone" }

var zoneLabels = []string{corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion}

// zoneOf are the labels of a node that a label of a volume is about: the second is its present name.
var zoneOf = map[string][2]string{
	corev1.LabelFailureDomainBetaZone:   {corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	corev1.LabelFailureDomainBetaRegion: {corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	corev1.LabelTopologyZone:            {corev1.LabelTopologyZone, corev1.LabelTopologyZone},
	corev1.LabelTopologyRegion:          {corev1.LabelTopologyRegion, corev1.LabelTopologyRegion},
}

type zoneFilter struct{ zones []volumeZone }

// volumeZone are the values that a label of nodes may have.
type volumeZone struct {
	key    string
	values []string
}

// PreFilter implements PreFilterPlugin.
func (a VolumeZone) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.claims) == 0 {
		return nil, nil
	}
	f, s := Scratch[zoneFilter](cy, a), &cy.cluster.storage
	f.zones = f.zones[:0]
	for i := range cy.pod.claims {
		u := &cy.pod.claims[i]
		if u.ephemeral {
			continue
		}
		c := s.claims.all[u.key]
		switch {
		case c == nil:
			return nil, NewStatus(UnschedulableAndUnresolvable, missingClaim(u.key.Name))
		case c.Spec.VolumeName != "":
			v := s.volumes.get("", c.Spec.VolumeName)
			if v == nil {
				return nil, NewStatus(UnschedulableAndUnresolvable, fmt.Sprintf("persistentvolume %q not found", c.Spec.VolumeName))
			}
			f.zones = append(f.zones, zonesOf(v)...)
		default:
			if problem := s.unboundProblem(c); problem != "" {
				return nil, NewStatus(UnschedulableAndUnresolvable, problem)
			}
		}
	}
	if len(f.zones) == 0 {
		return nil, nil
	}
	return f, nil
}

// unboundProblem says why a claim without a volume cannot be used; empty if it waits for a pod.
func (s *storage) unboundProblem(c *corev1.PersistentVolumeClaim) string {
	name := c.StorageClass()
	class := s.classes.get("", name)
	switch {
	case name == "":
		return "PersistentVolumeClaim had no pv name and storageClass name"
	case class == nil:
		return fmt.Sprintf("storageclass.storage.k8s.io %q not found", name)
	case !volumematch.WaitsForConsumer(class):
		return "PersistentVolume had no name"
	}
	return ""
}

// zonesOf are the zones and regions that a volume's labels name; those that do not parse do not count.
func zonesOf(v *corev1.PersistentVolume) (out []volumeZone) {
	for _, key := range zoneLabels {
		if value, ok := v.Labels[key]; ok {
			values := strings.Split(value, "__")
			for i := range values {
				values[i] = strings.TrimSpace(values[i])
			}
			if !slices.Contains(values, "") {
				out = append(out, volumeZone{key, values})
			}
		}
	}
	return out
}

// Filter implements NodeFilter. A node without any such label is in no zone and may have the volumes.
func (f *zoneFilter) Filter(n *Node) *Status {
	if !slices.ContainsFunc(zoneLabels, func(key string) bool { return hasLabel(n.obj, key) }) {
		return nil
	}
	for _, z := range f.zones {
		keys := zoneOf[z.key]
		value, ok := n.obj.Labels[keys[0]]
		if !ok {
			value, ok = n.obj.Labels[keys[1]]
		}
		if !ok || !slices.Contains(z.values, value) {
			return refusedZone
		}
	}
	return nil
}

// EventsToRegister implements EnqueueExtensions.
func (VolumeZone) EventsToRegister() EventKind {
	return StorageClassEvent | NodeAdd | NodeUpdate | ClaimEvent | VolumeEvent
}

// QueueingHint implements QueueingHint: the pod's own claims, new classes whose claims wait for pods, volumes
// that are new or whose zones have changed, and nodes.
func (VolumeZone) QueueingHint(e *Event, p *Pod) bool {
	switch e.Kind {
	case ClaimEvent:
		return e.New != nil && usesClaim(p, e.New)
	case StorageClassEvent:
		class, ok := e.New.(*storagev1.StorageClass)
		return ok && e.Old == nil && volumematch.WaitsForConsumer(class)
	case VolumeEvent:
		return addedOr(e, func(was, now *corev1.PersistentVolume) bool {
			return !slices.EqualFunc(zonesOf(was), zonesOf(now), func(a, b volumeZone) bool { return a.key == b.key && slices.Equal(a.values, b.values) })
		})
	case NodeUpdate:
		return e.OldNode == nil || !equalLabels(e.OldNode, e.NewNode)
	}
	return true
}

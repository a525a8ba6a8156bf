package scheduler

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// NodeVolumeLimits refuses nodes where a CSI driver can attach no more volumes: the CSINode says how many it
// can. Volumes of the plugins that were once part of Kubernetes count for the drivers that replaced them,
// where the CSINode says that these do.
type NodeVolumeLimits struct{}

// Name returns "NodeVolumeLimits".
func (NodeVolumeLimits) Name() string { return "NodeVolumeLimits" }

// replacedBy are the drivers of the volumes of former plugins.
var replacedBy = map[string]string{
	"kubernetes.io/aws-ebs": "ebs.csi.aws.com", "kubernetes.io/gce-pd": "pd.csi.storage.gke.io", "kubernetes.io/azure-disk": "disk.csi.azure.com",
	"kubernetes.io/cinder": "cinder.csi.openstack.org", "kubernetes.io/portworx-volume": "pxd.portworx.com",
}

// attachable is a volume that counts for a driver.
type attachable struct{ driver, handle string }

type limitFilter struct {
	storage *storage
	pod     *Pod
	// fresh are the pod's volumes on the present node, attached those of other pods.
	fresh, attached []attachable
	// refused is the answer for all nodes if a claim is missing: VolumeBinding says better why.
	refused *Status
}

// PreFilter implements PreFilterPlugin.
func (a NodeVolumeLimits) PreFilter(cy *Cycle) (NodeFilter, *Status) {
	if len(cy.pod.claims) == 0 && !cy.pod.attaches {
		return nil, nil
	}
	f, s := Scratch[limitFilter](cy, a), &cy.cluster.storage
	*f = limitFilter{s, cy.pod, f.fresh[:0], f.attached[:0], nil}
	for i := range cy.pod.claims {
		u := &cy.pod.claims[i]
		c := s.claims.all[u.key]
		switch {
		case c == nil:
			f.refused = refusal(UnschedulableAndUnresolvable, "NodeVolumeLimits", "looking up PVC "+u.key.String()+": "+missingClaim(u.key.Name))
		case u.ephemeral && !metav1.IsControlledBy(c, cy.pod.pod.UID):
			f.refused = refusal(Error, "NodeVolumeLimits", notOwned(c, cy.pod))
		}
	}
	return f, nil
}

func (*limitFilter) monotone() {}

// Filter implements NodeFilter.
func (f *limitFilter) Filter(n *Node) *Status {
	if f.refused != nil {
		return f.refused
	}
	node := f.storage.nodes.get("", n.name)
	f.fresh = f.storage.attachables(f.pod, node, f.fresh[:0])
	for _, v := range f.fresh {
		if !f.storage.installed(v.driver, node) {
			return refusal(Unschedulable, "NodeVolumeLimits", v.driver+" CSI driver is not installed on the node")
		}
	}
	if node == nil || !slices.ContainsFunc(f.fresh, func(v attachable) bool { _, ok := limitAt(node, v.driver); return ok }) {
		return nil
	}
	f.attached = f.attached[:0]
	for _, p := range n.pods {
		f.attached = f.storage.attachables(p.Pod, node, f.attached)
	}
	f.fresh = slices.DeleteFunc(f.fresh, func(v attachable) bool { return slices.Contains(f.attached, v) })
	f.attached = f.storage.attachedTo(n.name, f.attached)
	for _, v := range f.fresh {
		limit, ok := limitAt(node, v.driver)
		if ok && countOf(f.fresh, v.driver)+countOf(f.attached, v.driver) > limit {
			return refusedLimit
		}
	}
	return nil
}

func countOf(list []attachable, driver string) (n int) {
	for _, v := range list {
		if v.driver == driver {
			n++
		}
	}
	return n
}

// limitAt is how many volumes a driver can attach to a node, if that is limited.
func limitAt(n *storagev1.CSINode, driver string) (int, bool) {
	for i := range n.Spec.Drivers {
		if d := &n.Spec.Drivers[i]; d.Name == driver && d.Allocatable != nil && d.Allocatable.Count != nil {
			return int(*d.Allocatable.Count), true
		}
	}
	return 0, false
}

// installed reports whether a driver is on a node, or need not be.
func (s *storage) installed(driver string, n *storagev1.CSINode) bool {
	d := s.drivers.get("", driver)
	if d == nil || !isTrue(d.Spec.PreventPodSchedulingIfMissing) {
		return true
	}
	return n != nil && slices.ContainsFunc(n.Spec.Drivers, func(on storagev1.CSINodeDriver) bool { return on.Name == driver })
}

// attachables appends the volumes of a pod that count for a driver on a node, each once.
func (s *storage) attachables(p *Pod, n *storagev1.CSINode, out []attachable) []attachable {
	add := func(v attachable) {
		if v.driver != "" && v.handle != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for i := range p.claims {
		if c := s.claims.all[p.claims[i].key]; c != nil {
			add(s.attachableOf(c, n))
		}
	}
	for i := range p.pod.Spec.Volumes {
		if plugin := replacedInline(&p.pod.Spec.Volumes[i]); plugin != "" && isReplaced(plugin, n) {
			add(attachable{replacedBy[plugin], inlineHandle(&p.pod.Spec.Volumes[i])})
		}
	}
	return out
}

// attachableOf is what counts for a claim: its volume, or the one that is to be made.
func (s *storage) attachableOf(c *corev1.PersistentVolumeClaim, n *storagev1.CSINode) (out attachable) {
	v := s.volumes.get("", c.Spec.VolumeName)
	if v != nil && v.Spec.CSI != nil {
		return attachable{v.Spec.CSI.Driver, v.Spec.CSI.VolumeHandle}
	}
	if v != nil {
		if plugin, handle := replacedVolume(v); isReplaced(plugin, n) {
			return attachable{replacedBy[plugin], handle}
		}
		return out
	}
	class := s.classes.get("", c.StorageClass())
	if class == nil {
		return out
	}
	driver := class.Provisioner
	if by := replacedBy[driver]; by != "" {
		if !isReplaced(driver, n) {
			return out
		}
		driver = by
	}
	return attachable{driver, "claim " + c.Namespace + "/" + c.Name} // no driver has such handles
}

// attachedTo appends the volumes that are attached to a node and that no pod there uses.
func (s *storage) attachedTo(node string, out []attachable) []attachable {
	for _, a := range s.attachments.of[node] {
		if a.Spec.Source.PersistentVolumeName == nil || a.Spec.Attacher == "" {
			continue
		}
		if v := s.volumes.get("", *a.Spec.Source.PersistentVolumeName); v != nil && v.Spec.CSI != nil {
			if x := (attachable{a.Spec.Attacher, v.Spec.CSI.VolumeHandle}); !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// isReplaced reports whether a CSI driver has replaced a former plugin on a node.
func isReplaced(plugin string, n *storagev1.CSINode) bool {
	return n != nil && replacedBy[plugin] != "" && slices.Contains(strings.Split(n.Annotations[corev1.MigratedPluginsAnnotationKey], ","), plugin)
}

// replacedInline names the former plugin of a pod's own volume, empty for other volumes.
func replacedInline(v *corev1.Volume) string {
	switch {
	case v.AWSElasticBlockStore != nil:
		return "kubernetes.io/aws-ebs"
	case v.GCEPersistentDisk != nil:
		return "kubernetes.io/gce-pd"
	case v.AzureDisk != nil:
		return "kubernetes.io/azure-disk"
	case v.Cinder != nil:
		return "kubernetes.io/cinder"
	case v.PortworxVolume != nil:
		return "kubernetes.io/portworx-volume"
	}
	return ""
}

// attaches reports whether a pod has volumes of its own that count for a driver.
func attaches(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return replacedInline(&v) != "" })
}

func inlineHandle(v *corev1.Volume) string {
	switch {
	case v.AWSElasticBlockStore != nil:
		return v.AWSElasticBlockStore.VolumeID
	case v.GCEPersistentDisk != nil:
		return v.GCEPersistentDisk.PDName
	case v.AzureDisk != nil:
		return v.AzureDisk.DataDiskURI
	case v.Cinder != nil:
		return v.Cinder.VolumeID
	case v.PortworxVolume != nil:
		return v.PortworxVolume.VolumeID
	}
	return ""
}

// replacedVolume names the former plugin of a volume and what it calls the volume.
func replacedVolume(v *corev1.PersistentVolume) (plugin, handle string) {
	s := &v.Spec.PersistentVolumeSource
	switch {
	case s.AWSElasticBlockStore != nil:
		return "kubernetes.io/aws-ebs", s.AWSElasticBlockStore.VolumeID
	case s.GCEPersistentDisk != nil:
		return "kubernetes.io/gce-pd", s.GCEPersistentDisk.PDName
	case s.AzureDisk != nil:
		return "kubernetes.io/azure-disk", s.AzureDisk.DataDiskURI
	case s.Cinder != nil:
		return "kubernetes.io/cinder", s.Cinder.VolumeID
	case s.PortworxVolume != nil:
		return "kubernetes.io/portworx-volume", s.PortworxVolume.VolumeID
	}
	return "", ""
}

// EventsToRegister implements EnqueueExtensions.
func (NodeVolumeLimits) EventsToRegister() EventKind {
	return CSINodeEvent | AssignedPodDelete | ClaimEvent | VolumeAttachmentEvent | CSIDriverEvent
}

// QueueingHint implements QueueingHint: limits that grow, pods with volumes that end, claims of the pod that
// are new, and volumes that are detached.
func (NodeVolumeLimits) QueueingHint(e *Event, p *Pod) bool {
	switch e.Kind {
	case CSINodeEvent:
		return addedOr(e, func(was, now *storagev1.CSINode) bool {
			return slices.ContainsFunc(now.Spec.Drivers, func(d storagev1.CSINodeDriver) bool {
				limit, limited := limitAt(now, d.Name)
				before, wasLimited := limitAt(was, d.Name)
				return !limited || !wasLimited || limit > before
			})
		})
	case AssignedPodDelete:
		return e.OldPod != nil && len(e.OldPod.Spec.Volumes) > 0
	case ClaimEvent:
		return e.Old == nil && usesClaim(p, e.New)
	case VolumeAttachmentEvent:
		return e.New == nil
	}
	return true
}

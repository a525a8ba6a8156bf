package attachdetach

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/informers"
)

// outOfService is the taint of a node that does not come back.
const outOfService = "node.kubernetes.io/out-of-service"

// state is what the decision about a volume is made from.
type state struct {
	volume *corev1.PersistentVolume
	// id is what requests call the volume, and name what the status of nodes does.
	id   string
	name corev1.UniqueVolumeName
	// pods are those on a node that use the volume.
	pods []*corev1.Pod
	// attachments are those of the volume, at most one a node.
	attachments []*storagev1.VolumeAttachment
	// nodes are those of pods and attachments, as far as they exist.
	nodes map[string]*corev1.Node
	// unused is since when no pod uses the volume on a node that it is attached to.
	unused map[string]time.Time
	now    time.Time
}

// plan is what to do for a volume.
type plan struct {
	attach []string                      // nodes
	report []*storagev1.VolumeAttachment // that are attached and not yet in the status of their nodes
	detach []*storagev1.VolumeAttachment
	notes  []note
	again  time.Duration // 0: not by itself
}

// note is a warning about a pod.
type note struct {
	pod     *corev1.Pod
	message string
}

func decide(s *state, opts *Options) plan {
	var p plan
	wanted := map[string][]*corev1.Pod{}
	for _, pod := range s.pods {
		wanted[pod.Spec.NodeName] = append(wanted[pod.Spec.NodeName], pod)
	}
	attached := map[string]*storagev1.VolumeAttachment{}
	for _, a := range s.attachments {
		attached[a.Spec.NodeName] = a
		p.keep(s, a, wanted[a.Spec.NodeName], opts)
	}
	for _, node := range sortedKeys(wanted) {
		n := s.nodes[node]
		if attached[node] != nil || n == nil || n.Annotations[ManagedAnnotation] != "true" || s.volume.DeletionTimestamp != nil {
			continue
		}
		if exclusive(s.volume) && len(attached) > 0 {
			p.refuse(s, wanted[node], node)
			continue
		}
		attached[node] = &storagev1.VolumeAttachment{} // of an exclusive volume, only one
		p.attach = append(p.attach, node)
	}
	return p
}

// keep decides about an attachment. pods are those of its node that use the volume.
func (p *plan) keep(s *state, a *storagev1.VolumeAttachment, pods []*corev1.Pod, opts *Options) {
	n := s.nodes[a.Spec.NodeName]
	switch {
	case a.DeletionTimestamp != nil:
	case len(pods) > 0:
		if a.Status.Attached && n != nil && !reported(n, s.name) {
			p.report = append(p.report, a)
		}
		if e := a.Status.AttachError; e != nil && !a.Status.Attached {
			for _, pod := range pods {
				p.notes = append(p.notes, note{pod, fmt.Sprintf("AttachVolume.Attach failed for volume %q : %s", s.volume.Name, e.Message)})
			}
		}
	case n != nil && (!slices.Contains(n.Status.VolumesInUse, s.name) || tainted(n)):
		p.detach = append(p.detach, a)
	case n != nil && ready(n), opts.NeverForce:
		// The node's next report brings the volume back.
	default:
		left := s.unused[a.Spec.NodeName].Add(opts.ForceAfter).Sub(s.now)
		if left <= 0 {
			p.detach = append(p.detach, a)
		} else if p.again == 0 || left < p.again {
			p.again = left
		}
	}
}

// refuse reports to pods that their volume is attached to another node.
func (p *plan) refuse(s *state, pods []*corev1.Pod, node string) {
	for _, pod := range pods {
		var names []string
		elsewhere := 0
		for _, other := range s.pods {
			switch {
			case other.Spec.NodeName == node:
			case other.Namespace == pod.Namespace:
				names = append(names, other.Name)
			default:
				elsewhere++
			}
		}
		slices.Sort(names)
		why := "Volume is already exclusively attached to one node and can't be attached to another"
		switch {
		case len(names) > 0 && elsewhere > 0:
			why = fmt.Sprintf("Volume is already used by pod(s) %s and %d pod(s) in different namespaces", strings.Join(names, ", "), elsewhere)
		case len(names) > 0:
			why = "Volume is already used by pod(s) " + strings.Join(names, ", ")
		case elsewhere > 0:
			why = fmt.Sprintf("Volume is already used by %d pod(s) in different namespaces", elsewhere)
		}
		p.notes = append(p.notes, note{pod, fmt.Sprintf("Multi-Attach error for volume %q %s", s.volume.Name, why)})
	}
}

// uses reports whether a pod on a node uses its volumes: all but one that has ended.
func uses(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" || p.HasEnded() {
		return false
	}
	return p.DeletionTimestamp == nil || len(p.Status.ContainerStatuses) == 0 || p.Runs()
}

// exclusive reports whether a volume may be attached to one node only.
func exclusive(v *corev1.PersistentVolume) bool {
	return len(v.Spec.AccessModes) > 0 && !slices.Contains(v.Spec.AccessModes, corev1.ReadWriteMany) && !slices.Contains(v.Spec.AccessModes, corev1.ReadOnlyMany)
}

// uniqueName is the name of a volume of a CSI driver in the status of nodes.
func uniqueName(v *corev1.PersistentVolume) corev1.UniqueVolumeName {
	return corev1.UniqueVolumeName("kubernetes.io/csi/" + v.Spec.CSI.Driver + "^" + v.Spec.CSI.VolumeHandle)
}

// attachmentName is the name of a volume's attachment to a node, which drivers and kubelets compute too.
func attachmentName(v *corev1.PersistentVolume, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(v.Spec.CSI.VolumeHandle+v.Spec.CSI.Driver+node)))
}

func reported(n *corev1.Node, name corev1.UniqueVolumeName) bool {
	return slices.ContainsFunc(n.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == name })
}

func tainted(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == outOfService })
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// nodeChanged passes what may change a decision: heartbeats do not.
func nodeChanged(e informers.Event[*corev1.Node]) bool {
	if e.Type != informers.Updated {
		return true
	}
	before, now := e.Old(), e.New()
	return !slices.Equal(before.Status.VolumesInUse, now.Status.VolumesInUse) || len(before.Status.VolumesAttached) != len(now.Status.VolumesAttached) ||
		ready(before) != ready(now) || tainted(before) != tainted(now) || before.Annotations[ManagedAnnotation] != now.Annotations[ManagedAnnotation]
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Package volumematch decides which PersistentVolume serves a PersistentVolumeClaim. It reads objects and
// writes nothing: the controller that binds claims and the scheduler, which binds those that wait for the
// node of a pod, decide alike with it.
package volumematch

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Annotations by which controllers, schedulers and provisioners of volumes agree.
const (
	// BindCompleted is on a claim that is bound for good.
	BindCompleted = "pv.kubernetes.io/bind-completed"
	// BoundByController is on a claim or a volume whose reference to the other was not set by a user.
	BoundByController = "pv.kubernetes.io/bound-by-controller"
	// ProvisionedBy names the provisioner of a volume, which deletes it too.
	ProvisionedBy = "pv.kubernetes.io/provisioned-by"
	// SelectedNode is on a claim: the scheduler wants a volume for this node to be provisioned.
	SelectedNode = "volume.kubernetes.io/selected-node"
	// Provisioner is on a claim: the named provisioner is to make a volume. BetaProvisioner is its earlier
	// name, which some provisioners read.
	Provisioner     = "volume.kubernetes.io/storage-provisioner"
	BetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner"
	// PreResize is on a volume that has grown while its file system has not: the size that its claim shows.
	PreResize = "volume.alpha.kubernetes.io/pre-resize-capacity"
)

// NoProvisioner is the provisioner of a StorageClass whose volumes are made by hand.
const NoProvisioner = "kubernetes.io/no-provisioner"

// HasClass reports whether a claim names a class, be it the empty one.
func HasClass(c *corev1.PersistentVolumeClaim) bool {
	_, ok := c.Annotations[corev1.BetaStorageClassAnnotation]
	return ok || c.Spec.StorageClassName != nil
}

// VolumeClass returns the storage class of a volume, empty for none.
func VolumeClass(v *corev1.PersistentVolume) string {
	if class, ok := v.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	return v.Spec.StorageClassName
}

// WaitsForConsumer reports whether claims of a class are bound when a pod uses them. A nil class does not
// wait.
func WaitsForConsumer(class *storagev1.StorageClass) bool {
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// IsReserved reports whether a volume refers to a claim. A reference without a UID is to whichever claim has
// the name.
func IsReserved(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) bool {
	ref := v.Spec.ClaimRef
	return ref != nil && ref.Name == c.Name && ref.Namespace == c.Namespace && (ref.UID == "" || ref.UID == c.UID)
}

// Refer returns a copy of a volume that refers to a claim, or the volume if it does.
func Refer(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	ref := v.Spec.ClaimRef
	if ref != nil && ref.UID == c.UID {
		return v
	}
	next := codec.DeepCopy(v)
	next.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion}
	if ref == nil { // else a user reserved it
		if next.Annotations == nil {
			next.Annotations = map[string]string{}
		}
		next.Annotations[BoundByController] = "yes"
	}
	return next
}

// IsBound reports whether a claim is bound for good.
func IsBound(c *corev1.PersistentVolumeClaim) bool {
	_, done := c.Annotations[BindCompleted]
	return done && c.Spec.VolumeName != ""
}

// SameMode reports whether a claim and a volume are both file systems or both block devices.
func SameMode(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	return mode(c.Spec.VolumeMode) == mode(v.Spec.VolumeMode)
}

// ReachesNode reports whether a volume can be used on a node.
func ReachesNode(v *corev1.PersistentVolume, n *corev1.Node) bool {
	if v.Spec.NodeAffinity == nil {
		return true
	}
	return nodefit.MatchesAny(nodefit.CompileAll(v.Spec.NodeAffinity.Required), n)
}

// Request is what a claim requires of a volume.
type Request struct {
	// Claim is the claim, which must not change while the Request is used.
	Claim    *corev1.PersistentVolumeClaim
	size     resource.Quantity
	class    string
	selector labels.Selector
}

// NewRequest returns the Request of a claim. The error is that of a selector that does not parse.
func NewRequest(c *corev1.PersistentVolumeClaim) (Request, error) {
	r := Request{Claim: c, size: c.Spec.Resources.Requests[corev1.ResourceStorage], class: c.StorageClass()}
	if c.Spec.Selector == nil {
		return r, nil
	}
	selector, err := c.Spec.Selector.Selector()
	if err != nil {
		return r, fmt.Errorf("selector of claim %s: %w", c.Key(), err)
	}
	r.selector = selector
	return r, nil
}

// Mismatch returns why a volume cannot serve the claim though no other has it, or "". Neither its node
// affinity nor the selector of the claim count, which a user passes over who names the volume in the claim.
func (r *Request) Mismatch(v *corev1.PersistentVolume) string {
	switch {
	case v.DeletionTimestamp != nil:
		return fmt.Sprintf("the volume is marked for deletion %q", v.Name)
	case r.tooSmall(v):
		return "requested PV is too small"
	case VolumeClass(v) != r.class:
		return "storageClassName does not match"
	case value(r.Claim.Spec.VolumeAttributesClassName) != value(v.Spec.VolumeAttributesClassName):
		return "volumeAttributesClassName does not match"
	case !SameMode(r.Claim, v):
		return "incompatible volumeMode"
	case !r.hasModes(v):
		return "incompatible accessMode"
	}
	return ""
}

// Fits reports whether a free volume may be chosen for the claim.
func (r *Request) Fits(v *corev1.PersistentVolume) bool {
	return v.Spec.ClaimRef == nil && v.Status.Phase == corev1.VolumeAvailable &&
		r.selector.Matches(v.Labels) && r.Mismatch(v) == ""
}

// MayTake reports whether a volume refers to the claim and can serve it, or is free and may be chosen for it.
func (r *Request) MayTake(v *corev1.PersistentVolume) bool { return r.holds(v) || r.Fits(v) }

// holds reports whether a volume that refers to the claim can serve it. Its class, labels and access modes
// are up to the user that reserved it.
func (r *Request) holds(v *corev1.PersistentVolume) bool {
	return IsReserved(v, r.Claim) && v.DeletionTimestamp == nil && !r.tooSmall(v) && SameMode(r.Claim, v) &&
		value(r.Claim.Spec.VolumeAttributesClassName) == value(v.Spec.VolumeAttributesClassName)
}

func (r *Request) tooSmall(v *corev1.PersistentVolume) bool { return capacity(v).Cmp(r.size) < 0 }

// hasModes reports whether a volume has all access modes of the claim.
func (r *Request) hasModes(v *corev1.PersistentVolume) bool {
	for _, m := range r.Claim.Spec.AccessModes {
		if !slices.Contains(v.Spec.AccessModes, m) {
			return false
		}
	}
	return true
}

// Reserved returns the volume that refers to the claim and can serve it, or nil.
func (r *Request) Reserved(volumes iter.Seq[*corev1.PersistentVolume]) *corev1.PersistentVolume {
	for v := range volumes {
		if r.holds(v) {
			return v
		}
	}
	return nil
}

// Best returns the volume to bind the claim to, or nil: the one that refers to it, and otherwise the free one
// that fits best. That is the one with the fewest access modes, of these the smallest, and of equal ones the
// first by name.
func (r *Request) Best(volumes iter.Seq[*corev1.PersistentVolume]) *corev1.PersistentVolume {
	var best *corev1.PersistentVolume
	for v := range volumes {
		if r.holds(v) {
			return v
		}
		if r.Fits(v) && (best == nil || betterModes(v, best)) {
			best = v
		}
	}
	return best
}

func betterModes(v, w *corev1.PersistentVolume) bool {
	if a, b := len(v.Spec.AccessModes), len(w.Spec.AccessModes); a != b {
		return a < b
	}
	return bySize(v, w) < 0
}

// bySize orders volumes by capacity, and equal ones by name.
func bySize(v, w *corev1.PersistentVolume) int {
	if c := capacity(v).Cmp(capacity(w)); c != 0 {
		return c
	}
	return strings.Compare(v.Name, w.Name)
}

// Assign chooses a volume for each claim of a pod on a node: chosen[i] is that of requests[i], nil without
// one. reaches reports whether a volume can be used on the node. A volume that refers to a claim is the only
// one for it, and if it does not reach the node there is none. As many claims as possible get a volume, from
// the smallest claim on, each the smallest volume that leaves one for those before it.
//
// The cost grows with the volumes that fit: pass those of the classes of the claims.
func Assign(requests []Request, volumes iter.Seq[*corev1.PersistentVolume], reaches func(*corev1.PersistentVolume) bool) (chosen []*corev1.PersistentVolume) {
	a := assignment{chosen: make([]*corev1.PersistentVolume, len(requests)), candidates: make([][]*corev1.PersistentVolume, len(requests)),
		owner: map[*corev1.PersistentVolume]int{}}
	reserved := make([]bool, len(requests))
	for v := range volumes {
		for i := range requests {
			switch {
			case requests[i].holds(v):
				reserved[i] = true
				if reaches(v) {
					a.chosen[i] = v
				}
			case requests[i].Fits(v) && reaches(v):
				a.candidates[i] = append(a.candidates[i], v)
			}
		}
	}
	order := make([]int, 0, len(requests))
	for i := range requests {
		if !reserved[i] {
			slices.SortFunc(a.candidates[i], bySize)
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return requests[i].size.Cmp(requests[j].size) })
	for _, i := range order {
		a.place(i, map[*corev1.PersistentVolume]bool{})
	}
	return a.chosen
}

// assignment is a matching of claims and free volumes, which grows by augmenting paths.
type assignment struct {
	chosen     []*corev1.PersistentVolume
	candidates [][]*corev1.PersistentVolume
	owner      map[*corev1.PersistentVolume]int
}

// place gives claim i a free volume or, if there is none, that of a claim which can have another. seen are
// the volumes that were tried.
func (a *assignment) place(i int, seen map[*corev1.PersistentVolume]bool) bool {
	for _, v := range a.candidates[i] {
		if _, taken := a.owner[v]; !taken {
			a.owner[v], a.chosen[i] = i, v
			return true
		}
	}
	for _, v := range a.candidates[i] {
		if seen[v] {
			continue
		}
		seen[v] = true
		if a.place(a.owner[v], seen) {
			a.owner[v], a.chosen[i] = i, v
			return true
		}
	}
	return false
}

func capacity(v *corev1.PersistentVolume) resource.Quantity {
	return v.Spec.Capacity[corev1.ResourceStorage]
}

func mode(m *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if m == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *m
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

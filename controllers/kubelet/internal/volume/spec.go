package volume

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
)

// Spec is a volume as a pod wants it, with the objects that describe it.
type Spec struct {
	Pod    *corev1.Pod
	Volume *corev1.Volume
	// Claim and PV are nil if the volume is part of the pod.
	Claim    *corev1.PersistentVolumeClaim
	PV       *corev1.PersistentVolume
	ReadOnly bool
	// Driver is the object of the CSI driver, as it is now; nil if there is none or the volume has no driver.
	Driver *storagev1.CSIDriver
	// Labelling is what the pod wants of SELinux labels.
	Labelling Labelling
	// Label is the SELinux label that the volume is mounted with; empty means that none is given. The manager
	// sets it.
	Label string
}

// Labelling says which SELinux label a pod wants a volume to be mounted with, for all files at once.
type Labelling struct {
	// Label is that of the files of the containers; empty if each file is labelled, or none is.
	Label string
	// Supported is true if the volume can be mounted with a label. All pods of a node that use it have to
	// want the same one then.
	Supported bool
	// Mounts is true if the label is given to the mount. Otherwise that other pods want another one is
	// counted, and has no effect.
	Mounts bool
}

// Name is that of the PersistentVolume, or that of the pod's volume if it has none.
func (s *Spec) Name() string {
	if s.PV != nil {
		return s.PV.Name
	}
	return s.Volume.Name
}

// Device reports whether the volume is a block device.
func (s *Spec) Device() bool {
	return s.PV != nil && s.PV.Spec.VolumeMode != nil && *s.PV.Spec.VolumeMode == corev1.PersistentVolumeBlock
}

// Stats are the use of a volume as its driver reports it. Zero is unknown.
type Stats struct {
	Capacity, Available, Used           uint64 // bytes
	Inodes, AvailableInodes, InodesUsed uint64
	// Abnormal says what is wrong with the volume; empty if nothing is.
	Abnormal string
	At       time.Time
}

// Plugin makes one kind of volume. All methods are idempotent; those for one volume of the node are called
// one at a time.
type Plugin interface {
	// Record describes a volume; an error means that this kind of volume cannot be made as the pod wants it.
	Record(ctx context.Context, s *Spec) (Record, error)
	// Attached reports whether the volume has to be attached to the node.
	Attached(ctx context.Context, s *Spec) (bool, error)
	// Staged reports whether the volume is made once for the node before it is made for pods.
	Staged(ctx context.Context, r *Record) (bool, error)
	// Stage makes the volume for the node. attachment is what its attachment says.
	Stage(ctx context.Context, s *Spec, r *Record, attachment map[string]string) error
	Unstage(ctx context.Context, r *Record) error
	// SetUp makes the volume for a pod. It is called again for one that is made, to refresh it, if Refreshes
	// is true.
	SetUp(ctx context.Context, s *Spec, r *Record, staged bool, attachment map[string]string) error
	TearDown(ctx context.Context, r *Record) error
	// Path is where the volume is once SetUp has succeeded.
	Path(s *Spec, r *Record) string
	// Labels reports whether the volume can be mounted with the SELinux label Label of s, for all files.
	Labels(s *Spec) bool
	// Relabels reports whether the runtime may label the files for the container, where SELinux does so.
	Relabels(s *Spec, r *Record) bool
	// Refreshes reports whether SetUp is to be called from time to time.
	Refreshes(s *Spec) bool
	// Expand lets a volume that is made for a pod use a capacity that was added, and reports whether the
	// driver does that. An error that is no failure of the driver is one of [Waiting].
	Expand(ctx context.Context, s *Spec, r *Record, staged bool, to resource.Quantity) (bool, error)
	// Stats returns the use of the volume; nil if it is unknown.
	Stats(ctx context.Context, r *Record, staged bool) (*Stats, error)
}

// Stager is a Plugin of a kind without drivers that stages volumes. All that is known of them after a restart
// is in the names of folders and in the table of mounts.
type Stager interface {
	Plugin
	// Handles is a pattern, as of path.Match, of the handles of all volumes.
	Handles() string
	// Describe sets what the handle of a record says, unless it is empty.
	Describe(r *Record)
}

// Host is what the manager needs of the kubelet. Its methods may be called from many goroutines.
type Host interface {
	// Resolve finds the objects behind a volume of a pod, and the plugin for it.
	Resolve(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (*Spec, Plugin, error)
	// Attachment returns what the attachment of a volume to this node says, or an error while it is not
	// attached.
	Attachment(ctx context.Context, r *Record) (map[string]string, error)
	// UpdateClaim edits the status of the claim of s and writes it, and s has the claim as it is then.
	UpdateClaim(ctx context.Context, s *Spec, edit func(*corev1.PersistentVolumeClaimStatus)) error
	// Reported reports whether the Node shows that a volume is in use, and lets it do so soon.
	Reported(name corev1.UniqueVolumeName) bool
	// MountPoint reports whether something is mounted at a path.
	MountPoint(path string) bool
	// Peers are the other mount points of the file system that is mounted at a path.
	Peers(path string) []string
	// MountLabel is the SELinux label that all files of what is mounted at a path have by its mount; empty if
	// it gives none.
	MountLabel(path string) string
	// Event is about a pod's volume; a warning unless normal.
	Event(pod *corev1.Pod, normal bool, reason, message string)
	// ClaimEvent is about a claim; a warning unless normal.
	ClaimEvent(claim *corev1.PersistentVolumeClaim, normal bool, reason, message string)
	// Changed is called after the state of a volume of a pod has changed.
	Changed(pod *corev1.Pod)
	// InUseChanged is called after InUse has changed.
	InUseChanged()
	// Done is called after an operation on a volume, under its name in metrics, with when it began and why it
	// failed.
	Done(r *Record, operation string, began time.Time, err error)
	// Measured is called after the use of a volume was measured, with when that began.
	Measured(r *Record, began time.Time)
	// Admitted is called for the first pod of the node that wants a volume, if it wants a label for it. It
	// must not call the manager, as Conflict.
	Admitted(s *Spec, r *Record)
	// Conflict is called for a pod that wants another label for a volume than those that have it. An error
	// means that it cannot have the volume meanwhile.
	Conflict(s *Spec, r *Record, have string) error
	// Found is called when the manager starts, with how many volumes of an earlier kubelet there are, and how
	// many of them are not understood.
	Found(all, unknown int)
}

// Plugin is how metrics name what makes the volume.
func (r *Record) Plugin() string {
	name := "kubernetes.io/" + r.Kind
	if r.Driver != "" {
		name += ":" + r.Driver
	}
	return name
}

// AttachmentName is the name of the attachment of a volume to a node, as all components compute it.
func AttachmentName(driver, handle, node string) string { return "csi-" + hash(handle+driver+node) }

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

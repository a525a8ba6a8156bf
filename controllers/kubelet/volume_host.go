package kubelet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/keelson-dev/keelson/apimachinery/api/authenticationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers/internal/mountinfo"
	"github.com/keelson-dev/keelson/controllers/internal/volumematch"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/csi"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// volumeHost connects the manager of volumes and the CSI drivers to the kubelet.
type volumeHost struct {
	k *Kubelet
	*volumeMetrics
	drivers     *csi.Drivers
	plugins     map[string]volume.Plugin
	claims      *client.Client[*corev1.PersistentVolumeClaim]
	volumes     *client.Client[*corev1.PersistentVolume]
	attachments *client.Client[*storagev1.VolumeAttachment]
	objects     *client.Client[*storagev1.CSIDriver]
	secrets     *client.Client[*corev1.Secret]
}

var (
	_ volume.Host = (*volumeHost)(nil)
	_ csi.Host    = (*volumeHost)(nil)
)

// newVolumes returns the manager of the volumes that need a driver or a mount, and the drivers.
func newVolumes(k *Kubelet) (*volume.Manager, *csi.Drivers) {
	conn := k.m.Conn()
	h := &volumeHost{k: k, volumeMetrics: &k.metrics.volumeMetrics, drivers: csi.NewDrivers(k.opts.Plugins.dialer(), k.metrics.driverTook), claims: client.For[*corev1.PersistentVolumeClaim](conn), volumes: client.For[*corev1.PersistentVolume](conn),
		attachments: client.For[*storagev1.VolumeAttachment](conn), objects: client.For[*storagev1.CSIDriver](conn), secrets: client.For[*corev1.Secret](conn)}
	paths := volume.Paths{Root: k.opts.RootDir, Node: k.opts.NodeName}
	part := mountPlugin{mounts: k.mounts, tools: systemTools(), paths: paths, metrics: k.metrics}
	h.plugins = map[string]volume.Plugin{
		csi.Kind: &csi.Plugin{Drivers: h.drivers, Host: h, Paths: paths},
		kindNFS:  &nfsPlugin{part}, kindLocal: &localPlugin{mountPlugin: part},
		kindHostPath: &hostPathPlugin{part},
		kindISCSI:    newDiskPlugin(part, &iscsi{tools: part.tools, paths: paths, secret: h.Secret, log: k.log}, !k.alone),
		kindFC:       newDiskPlugin(part, &fibreChannel{tools: part.tools, log: k.log}, !k.alone),
	}
	return volume.New(volume.Options{Paths: paths, Host: h, Plugins: h.plugins, Interval: k.opts.SyncInterval, Logger: k.log}), h.drivers
}

// driven reports whether a volume is the manager's.
func driven(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.CSI != nil || v.NFS != nil || v.ISCSI != nil || v.FC != nil
}

// Resolve implements volume.Host.
func (h *volumeHost) Resolve(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (*volume.Spec, volume.Plugin, error) {
	s := &volume.Spec{Pod: pod, Volume: v}
	kind, err := h.resolve(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	plugin := h.plugins[kind]
	if s.Labelling, err = h.k.labelling(s, plugin.Labels(s)); err != nil {
		return nil, nil, err
	}
	return s, plugin, nil
}

// resolve finds the objects behind a volume, and the kind of the plugin for it.
func (h *volumeHost) resolve(ctx context.Context, s *volume.Spec) (kind string, err error) {
	v := s.Volume
	switch {
	case v.PersistentVolumeClaim != nil:
		s.ReadOnly = onlyRead(s.Pod, v.PersistentVolumeClaim.ClaimName)
		err = h.claimed(ctx, s, v.PersistentVolumeClaim.ClaimName, false)
	case v.Ephemeral != nil:
		err = h.claimed(ctx, s, s.Pod.Name+"-"+v.Name, true)
	case v.CSI != nil:
		return csi.Kind, h.driven(ctx, s, v.CSI.Driver)
	case v.NFS != nil:
		s.ReadOnly = v.NFS.ReadOnly
		return kindNFS, nil
	case v.ISCSI != nil:
		s.ReadOnly = v.ISCSI.ReadOnly
		return kindISCSI, nil
	case v.FC != nil:
		s.ReadOnly = v.FC.ReadOnly
		return kindFC, nil
	}
	if err != nil {
		return "", err
	}
	switch from := &s.PV.Spec.PersistentVolumeSource; {
	case from.CSI != nil:
		return csi.Kind, h.driven(ctx, s, from.CSI.Driver)
	case from.NFS != nil:
		s.ReadOnly = s.ReadOnly || from.NFS.ReadOnly
		return kindNFS, nil
	case from.ISCSI != nil:
		s.ReadOnly = s.ReadOnly || from.ISCSI.ReadOnly
		return kindISCSI, nil
	case from.FC != nil:
		s.ReadOnly = s.ReadOnly || from.FC.ReadOnly
		return kindFC, nil
	case from.Local != nil:
		return kindLocal, nil
	case from.HostPath != nil:
		return kindHostPath, nil
	}
	return "", fmt.Errorf("no volume plugin matched: PersistentVolume %q is none of csi, nfs, iscsi, fc, local and hostPath", s.PV.Name)
}

// onlyRead reports whether all volumes of a claim in a pod, which are one mount, are read-only.
func onlyRead(pod *corev1.Pod, claim string) bool {
	return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim && !v.PersistentVolumeClaim.ReadOnly
	})
}

// claimed finds the volume of a claim, which must be the pod's own if it is ephemeral.
func (h *volumeHost) claimed(ctx context.Context, s *volume.Spec, name string, ephemeral bool) error {
	claim, err := h.claims.Get(ctx, types.NamespacedName{Namespace: s.Pod.Namespace, Name: name})
	if ephemeral && apierrors.IsNotFound(err) {
		return volume.Waiting(err)
	}
	if err != nil {
		return fmt.Errorf("error processing PVC %s/%s: %w", s.Pod.Namespace, name, err)
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("error processing PVC %s/%s: "+format, append([]any{s.Pod.Namespace, name}, args...)...)
	}
	switch {
	case ephemeral && !ownedBy(claim, s.Pod):
		return bad("PVC was not created for pod %s (pod is not owner)", s.Pod.Name)
	case claim.DeletionTimestamp != nil && !begun(s.Pod):
		return bad("can't start pod because PVC is being deleted")
	case claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "":
		return volume.Waiting(bad("PVC is not bound"))
	}
	pv, err := h.volumes.Get(ctx, types.NamespacedName{Name: claim.Spec.VolumeName})
	if err != nil {
		return bad("failed to fetch PV %s from API server: %w", claim.Spec.VolumeName, err)
	}
	if ref := pv.Spec.ClaimRef; ref == nil || ref.UID != claim.UID {
		return bad("PV %q is not bound to the claim", pv.Name)
	}
	if n := h.k.node.object(); n != nil && !volumematch.ReachesNode(pv, n) {
		return fmt.Errorf("NodeAffinity check failed: PV %q cannot be used on node %q", pv.Name, n.Name)
	}
	s.Claim, s.PV = claim, pv
	for c := range containersOf(s.Pod) {
		if s.Device() && slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == s.Volume.Name }) {
			return fmt.Errorf("volume %s has volumeMode Block, but is specified in volumeMounts", s.Volume.Name)
		}
		if !s.Device() && slices.ContainsFunc(c.VolumeDevices, func(d corev1.VolumeDevice) bool { return d.Name == s.Volume.Name }) {
			return fmt.Errorf("volume %s has volumeMode Filesystem, but is specified in volumeDevices", s.Volume.Name)
		}
	}
	return nil
}

func ownedBy(claim *corev1.PersistentVolumeClaim, pod *corev1.Pod) bool {
	return slices.ContainsFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.UID == pod.UID && o.Controller != nil && *o.Controller
	})
}

// begun reports whether a pod has had containers.
func begun(pod *corev1.Pod) bool {
	return slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(s corev1.ContainerStatus) bool { return s.ContainerID != "" })
}

// Attachment implements volume.Host.
func (h *volumeHost) Attachment(ctx context.Context, r *volume.Record) (map[string]string, error) {
	if r.Driver == "" {
		return nil, h.inStatus(ctx, r)
	}
	name := volume.AttachmentName(r.Driver, r.Handle, h.k.opts.NodeName)
	a, err := h.attachments.Get(ctx, types.NamespacedName{Name: name})
	switch {
	case apierrors.IsNotFound(err):
		return nil, volume.Waiting(fmt.Errorf("volume %s is not attached to the node: there is no VolumeAttachment %s", r.Name, name))
	case err != nil:
		return nil, err
	case a.DeletionTimestamp != nil:
		return nil, volume.Waiting(fmt.Errorf("volume %s is being detached from the node", r.Name))
	case a.Status.Attached:
		return a.Status.AttachmentMetadata, nil
	case a.Status.AttachError != nil:
		return nil, volume.Waiting(fmt.Errorf("AttachVolume.Attach failed for volume %q : %s", r.Name, a.Status.AttachError.Message))
	}
	return nil, volume.Waiting(fmt.Errorf("volume %s is not attached to the node yet", r.Name))
}

// inStatus returns nil if the status of the Node has a volume as attached.
func (h *volumeHost) inStatus(ctx context.Context, r *volume.Record) error {
	n, err := h.k.node.nodes.Get(ctx, types.NamespacedName{Name: h.k.opts.NodeName})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(n.Status.VolumesAttached, func(a corev1.AttachedVolume) bool { return a.Name == r.Unique }) {
		return volume.Waiting(fmt.Errorf("volume %s is not attached to the node: the status of the Node does not have %s", r.Name, r.Unique))
	}
	return nil
}

// UpdateClaim implements volume.Host.
func (h *volumeHost) UpdateClaim(ctx context.Context, s *volume.Spec, edit func(*corev1.PersistentVolumeClaimStatus)) error {
	next := codec.DeepCopy(s.Claim)
	edit(&next.Status)
	next, err := h.claims.UpdateStatus(ctx, next)
	if err != nil {
		return fmt.Errorf("write the status of PVC %s: %w", s.Claim.Name, err)
	}
	s.Claim = next
	return nil
}

// Reported implements volume.Host.
func (h *volumeHost) Reported(name corev1.UniqueVolumeName) bool {
	if n := h.k.node.object(); n != nil && slices.Contains(n.Status.VolumesInUse, name) {
		return true
	}
	h.k.node.poke()
	return false
}

// MountPoint implements volume.Host.
func (h *volumeHost) MountPoint(path string) bool { return h.k.mounts.mounted(path) }

// Peers implements volume.Host.
func (h *volumeHost) Peers(path string) []string { return h.k.mounts.peers(path) }

// MountLabel implements volume.Host.
func (h *volumeHost) MountLabel(path string) string {
	if h.k.opts.SELinux == nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "" // nothing is there
	}
	label, err := mountinfo.Context(real)
	if err != nil {
		h.k.log.Warn("read label of mount failed", "path", path, "err", err)
	}
	return label
}

// Event implements volume.Host.
func (h *volumeHost) Event(pod *corev1.Pod, normal bool, reason, message string) {
	if pod.Name == "" { // an orphan
		h.k.log.Warn(message, "uid", pod.UID)
		return
	}
	h.k.recorder.Event(pod, eventType(normal), reason, message)
}

// ClaimEvent implements volume.Host.
func (h *volumeHost) ClaimEvent(claim *corev1.PersistentVolumeClaim, normal bool, reason, message string) {
	h.k.recorder.Event(claim, eventType(normal), reason, message)
}

func eventType(normal bool) string {
	if normal {
		return events.Normal
	}
	return events.Warning
}

// Changed implements volume.Host.
func (h *volumeHost) Changed(pod *corev1.Pod) { h.k.wake(pod.UID) }

// InUseChanged implements volume.Host.
func (h *volumeHost) InUseChanged() { h.k.node.poke() }

// driven finds the object of the driver of a volume, if there is one.
func (h *volumeHost) driven(ctx context.Context, s *volume.Spec, driver string) error {
	object, err := h.objects.Get(ctx, types.NamespacedName{Name: driver})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.Driver = object
	return err
}

// Secret implements csi.Host.
func (h *volumeHost) Secret(ctx context.Context, namespace, name string) (map[string]string, error) {
	secret, err := h.secrets.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	data := map[string]string{}
	for k, v := range secret.Data {
		data[k] = string(v)
	}
	return data, nil
}

// Tokens implements csi.Host.
func (h *volumeHost) Tokens(ctx context.Context, pod *corev1.Pod, requests []storagev1.TokenRequest) (string, error) {
	all := map[string]authenticationv1.TokenRequestStatus{}
	for _, q := range requests {
		seconds := int64(3600)
		if q.ExpirationSeconds != nil {
			seconds = *q.ExpirationSeconds
		}
		one, _, err := h.k.tokens.current(ctx, pod, q.Audience, seconds)
		if err != nil {
			return "", err
		}
		all[q.Audience] = authenticationv1.TokenRequestStatus{Token: one.text, ExpirationTimestamp: metav1.NewTime(one.expires)}
	}
	b, err := json.Marshal(all)
	return string(b), err
}

// blockDevices are the block volumes of a container.
func (k *Kubelet) blockDevices(pod *corev1.Pod, c *corev1.Container) (list []*cri.Device, err error) {
	for _, d := range c.VolumeDevices {
		path, readOnly, err := k.volumeSource(pod, d.Name)
		if err != nil {
			return nil, err
		}
		if at, err := k.volumes.State(pod.UID, d.Name); err != nil || !at.Device {
			return nil, errors.Join(err, fmt.Errorf("volume %q of volumeDevices is no block device", d.Name))
		}
		one := &cri.Device{HostPath: path, ContainerPath: d.DevicePath, Permissions: "mrw"}
		if readOnly {
			one.Permissions = "r"
		}
		list = append(list, one)
	}
	return list, nil
}

// takeVolumesDown takes the driven volumes of a pod down and reports whether all are gone. It does not wait.
func (k *Kubelet) takeVolumesDown(pod *corev1.Pod) (gone bool, err error) {
	gone, err = k.volumes.Drop(pod)
	if err != nil {
		return false, fmt.Errorf("volumes of an earlier kubelet: %w", err)
	}
	return gone, nil
}

// errVolumes says that a pod's volumes are being taken down.
var errVolumes = errors.New("volumes are being taken down")

package csi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/internal/mountinfo"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// Kind is the kind of volumes that drivers make.
const Kind = "csi"

// Host is what the plugin needs of the kubelet.
type Host interface {
	Secret(ctx context.Context, namespace, name string) (map[string]string, error)
	// Tokens returns the tokens of the pod's account, as JSON.
	Tokens(ctx context.Context, pod *corev1.Pod, requests []storagev1.TokenRequest) (string, error)
	// Done is that of volume.Host.
	Done(r *volume.Record, operation string, began time.Time, err error)
}

// Plugin makes volumes with drivers. It implements volume.Plugin.
type Plugin struct {
	Drivers *Drivers
	Host    Host
	Paths   volume.Paths
}

var _ volume.Plugin = (*Plugin)(nil)

// source is the part of a volume that is the driver's.
type source struct {
	driver, handle, fsType string
	inline, readOnly       bool
	attributes             map[string]string
	stage, publish, expand *corev1.SecretReference
}

func sourceOf(s *volume.Spec) (*source, error) {
	switch {
	case s.PV != nil && s.PV.Spec.CSI != nil:
		c := s.PV.Spec.CSI
		return &source{driver: c.Driver, handle: c.VolumeHandle, fsType: c.FSType, readOnly: s.ReadOnly || c.ReadOnly, attributes: c.VolumeAttributes,
			stage: c.NodeStageSecretRef, publish: c.NodePublishSecretRef, expand: c.NodeExpandSecretRef}, nil
	case s.PV == nil && s.Volume.CSI != nil:
		c := s.Volume.CSI
		v := &source{driver: c.Driver, handle: volume.InlineHandle(s.Pod.UID, s.Volume.Name), inline: true, attributes: c.VolumeAttributes}
		if c.ReadOnly != nil {
			v.readOnly = *c.ReadOnly
		}
		if c.FSType != nil {
			v.fsType = *c.FSType
		}
		if c.NodePublishSecretRef != nil {
			v.publish = &corev1.SecretReference{Namespace: s.Pod.Namespace, Name: c.NodePublishSecretRef.Name}
		}
		return v, nil
	}
	return nil, errors.New("the volume has no CSI driver")
}

// Record implements volume.Plugin.
func (p *Plugin) Record(_ context.Context, s *volume.Spec) (volume.Record, error) {
	src, err := sourceOf(s)
	if err != nil {
		return volume.Record{}, err
	}
	if src.driver == "" || src.handle == "" {
		return volume.Record{}, errors.New("the volume names no driver or has no handle")
	}
	mode := storagev1.VolumeLifecyclePersistent
	if src.inline {
		mode = storagev1.VolumeLifecycleEphemeral
	}
	switch {
	case s.Driver == nil && src.inline:
		return volume.Record{}, fmt.Errorf("volume mode %q not supported by driver %s (no CSIDriver object)", mode, src.driver)
	case s.Driver != nil && !supports(s.Driver, mode):
		return volume.Record{}, fmt.Errorf("volume mode %q not supported by driver %s (only supports %q)", mode, src.driver, s.Driver.Spec.VolumeLifecycleModes)
	}
	return volume.Record{Kind: Kind, Pod: s.Pod.UID, Name: s.Name(), Driver: src.driver, Handle: src.handle, Inline: src.inline, Device: s.Device()}, nil
}

func supports(object *storagev1.CSIDriver, mode storagev1.VolumeLifecycleMode) bool {
	modes := object.Spec.VolumeLifecycleModes
	return len(modes) == 0 && mode == storagev1.VolumeLifecyclePersistent || slices.Contains(modes, mode)
}

// Attached implements volume.Plugin.
func (p *Plugin) Attached(_ context.Context, s *volume.Spec) (bool, error) {
	src, err := sourceOf(s)
	if err != nil || src.inline {
		return false, err
	}
	return s.Driver == nil || s.Driver.Spec.AttachRequired == nil || *s.Driver.Spec.AttachRequired, nil
}

// call calls f with the driver, and what it can do.
func (p *Plugin) call(ctx context.Context, driver string, f func(context.Context, *Driver, capabilities) error) error {
	d, err := p.Drivers.get(driver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	can, err := d.capabilities(ctx)
	if err != nil {
		return err
	}
	return f(ctx, d, can)
}

// Staged implements volume.Plugin.
func (p *Plugin) Staged(ctx context.Context, r *volume.Record) (staged bool, err error) {
	if r.Inline {
		return false, nil
	}
	err = p.call(ctx, r.Driver, func(_ context.Context, _ *Driver, can capabilities) error {
		staged = can.has(canStage)
		return nil
	})
	return staged, err
}

// Stage implements volume.Plugin.
func (p *Plugin) Stage(ctx context.Context, s *volume.Spec, r *volume.Record, attachment map[string]string) error {
	src, err := sourceOf(s)
	if err != nil {
		return err
	}
	secrets, err := p.secrets(ctx, src.stage)
	if err != nil {
		return err
	}
	path := p.Paths.Stage(r)
	if err := os.MkdirAll(path, 0o750); err != nil {
		return err
	}
	return p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, can capabilities) error {
		_, err := d.node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: r.Handle, PublishContext: attachment, StagingTargetPath: path,
			VolumeCapability: labelled(capability(s, src, can), s.Label), Secrets: secrets, VolumeContext: src.attributes})
		return err
	})
}

// Unstage implements volume.Plugin.
func (p *Plugin) Unstage(ctx context.Context, r *volume.Record) error {
	path := p.Paths.Stage(r)
	err := p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, can capabilities) error {
		if !can.has(canStage) {
			return nil
		}
		_, err := d.node.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: r.Handle, StagingTargetPath: path})
		return err
	})
	if err != nil {
		return err
	}
	return gone(path)
}

// SetUp implements volume.Plugin.
func (p *Plugin) SetUp(ctx context.Context, s *volume.Spec, r *volume.Record, staged bool, attachment map[string]string) error {
	src, err := sourceOf(s)
	if err != nil {
		return err
	}
	secrets, err := p.secrets(ctx, src.publish)
	if err != nil {
		return err
	}
	attributes, err := p.attributes(ctx, s, src, &secrets)
	if err != nil {
		return err
	}
	path := p.Paths.Target(r)
	// The driver makes the target itself, in a folder that is there.
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	q := &csi.NodePublishVolumeRequest{VolumeId: r.Handle, PublishContext: attachment, TargetPath: path, Readonly: src.readOnly, Secrets: secrets, VolumeContext: attributes}
	if staged {
		q.StagingTargetPath = p.Paths.Stage(r)
	}
	grouped := false
	err = p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, can capabilities) error {
		grouped = can.has(canGroup)
		q.VolumeCapability = labelled(capability(s, src, can), s.Label)
		_, err := d.node.NodePublishVolume(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w, but there is no volume: %w", errLied, err)
	}
	if grouped || r.Device || !takesGroup(s, src) {
		return nil
	}
	return volume.SetGroup(ctx, path, s.Pod, func(began time.Time, err error) { p.Host.Done(r, volume.GroupOperation, began, err) })
}

// TearDown implements volume.Plugin.
func (p *Plugin) TearDown(ctx context.Context, r *volume.Record) error {
	path := p.Paths.Target(r)
	err := p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, _ capabilities) error {
		_, err := d.node.NodeUnpublishVolume(ctx, &csi.NodeUnpublishVolumeRequest{VolumeId: r.Handle, TargetPath: path})
		return err
	})
	if err != nil {
		return err
	}
	if err := gone(path); err != nil {
		return err
	}
	if r.Device {
		_ = os.Remove(filepath.Dir(path)) // unless other pods have the device
	}
	return nil
}

// Path implements volume.Plugin.
func (p *Plugin) Path(_ *volume.Spec, r *volume.Record) string {
	if r.Device {
		return p.Paths.Link(r)
	}
	return p.Paths.Target(r)
}

// gone removes what is left of a path that a driver has taken down: an empty folder. Anything else is not the
// kubelet's to remove.
func gone(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w, but the volume is still there: %w", errLied, err)
	}
	return nil
}

// Labels implements volume.Plugin.
func (p *Plugin) Labels(s *volume.Spec) bool {
	return s.Driver != nil && s.Driver.Spec.SELinuxMount != nil && *s.Driver.Spec.SELinuxMount
}

// Relabels implements volume.Plugin: a file system can be labelled unless its mount gave all files one label.
func (p *Plugin) Relabels(s *volume.Spec, r *volume.Record) bool {
	if s.ReadOnly || r.Device || s.Label != "" {
		return false
	}
	can, err := mountinfo.Labelled(p.Paths.Target(r))
	return err == nil && can
}

// Refreshes implements volume.Plugin.
func (p *Plugin) Refreshes(s *volume.Spec) bool {
	return s.Driver != nil && s.Driver.Spec.RequiresRepublish != nil && *s.Driver.Spec.RequiresRepublish
}

// Expand implements volume.Plugin.
func (p *Plugin) Expand(ctx context.Context, s *volume.Spec, r *volume.Record, staged bool, to resource.Quantity) (did bool, err error) {
	if _, err := p.Drivers.get(r.Driver); err != nil {
		return false, volume.Waiting(err)
	}
	src, err := sourceOf(s)
	if err != nil {
		return false, err
	}
	secrets, err := p.secrets(ctx, src.expand)
	if err != nil {
		return false, err
	}
	err = p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, can capabilities) error {
		if !can.has(canExpand) {
			return nil
		}
		q := &csi.NodeExpandVolumeRequest{VolumeId: r.Handle, VolumePath: p.Paths.Target(r), CapacityRange: &csi.CapacityRange{RequiredBytes: to.Value()},
			VolumeCapability: capability(s, src, can), Secrets: secrets}
		if staged {
			q.StagingTargetPath = p.Paths.Stage(r)
		}
		_, err := d.node.NodeExpandVolume(ctx, q)
		if did = err == nil; did {
			return nil
		}
		return fmt.Errorf("Expander.NodeExpand failed to expand the volume : %w", err)
	})
	return did, err
}

// Stats implements volume.Plugin.
func (p *Plugin) Stats(ctx context.Context, r *volume.Record, staged bool) (stats *volume.Stats, err error) {
	err = p.call(ctx, r.Driver, func(ctx context.Context, d *Driver, can capabilities) error {
		if !can.has(canStats) {
			return nil
		}
		q := &csi.NodeGetVolumeStatsRequest{VolumeId: r.Handle, VolumePath: p.Paths.Target(r)}
		if staged {
			q.StagingTargetPath = p.Paths.Stage(r)
		}
		got, err := d.node.NodeGetVolumeStats(ctx, q)
		if err != nil {
			return err
		}
		stats, err = statsOf(got)
		return err
	})
	return stats, err
}

func statsOf(got *csi.NodeGetVolumeStatsResponse) (*volume.Stats, error) {
	out := &volume.Stats{At: time.Now()}
	if got.GetVolumeCondition().GetAbnormal() {
		out.Abnormal = got.GetVolumeCondition().GetMessage()
	}
	for _, u := range got.GetUsage() {
		if u.GetTotal() < 0 || u.GetAvailable() < 0 || u.GetUsed() < 0 {
			return nil, status.Error(codes.Internal, "the driver reports a negative use")
		}
		switch u.GetUnit() {
		case csi.VolumeUsage_BYTES:
			out.Capacity, out.Available, out.Used = uint64(u.GetTotal()), uint64(u.GetAvailable()), uint64(u.GetUsed())
		case csi.VolumeUsage_INODES:
			out.Inodes, out.AvailableInodes, out.InodesUsed = uint64(u.GetTotal()), uint64(u.GetAvailable()), uint64(u.GetUsed())
		}
	}
	return out, nil
}

func (p *Plugin) secrets(ctx context.Context, ref *corev1.SecretReference) (map[string]string, error) {
	if ref == nil {
		return nil, nil
	}
	data, err := p.Host.Secret(ctx, ref.Namespace, ref.Name)
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return data, nil
}

// attributes are those of the volume, with what the driver wants to know of the pod.
func (p *Plugin) attributes(ctx context.Context, s *volume.Spec, src *source, secrets *map[string]string) (map[string]string, error) {
	all := maps.Clone(src.attributes)
	if all == nil {
		all = map[string]string{}
	}
	object := s.Driver
	if object == nil {
		return all, nil
	}
	const prefix = "csi.storage.k8s.io/"
	if want := object.Spec.PodInfoOnMount; want != nil && *want {
		all[prefix+"pod.name"], all[prefix+"pod.namespace"], all[prefix+"pod.uid"] = s.Pod.Name, s.Pod.Namespace, string(s.Pod.UID)
		all[prefix+"serviceAccount.name"] = s.Pod.Spec.ServiceAccountName
		all[prefix+"ephemeral"] = strconv.FormatBool(src.inline)
	}
	if len(object.Spec.TokenRequests) > 0 {
		tokens, err := p.Host.Tokens(ctx, s.Pod, object.Spec.TokenRequests)
		if err != nil {
			return nil, err
		}
		to := all
		if in := object.Spec.ServiceAccountTokenInSecrets; in != nil && *in {
			if *secrets == nil {
				*secrets = map[string]string{}
			}
			to = *secrets
		}
		to[prefix+"serviceAccount.tokens"] = tokens
	}
	return all, nil
}

// capability is how the volume is used.
func capability(s *volume.Spec, src *source, can capabilities) *csi.VolumeCapability {
	mode := corev1.ReadWriteOnce
	var options []string
	if s.PV != nil {
		if len(s.PV.Spec.AccessModes) > 0 {
			mode = s.PV.Spec.AccessModes[0]
		}
		options = s.PV.Spec.MountOptions
	}
	c := &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: accessMode(mode, can.has(canSingle))}}
	if s.Device() {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		return c
	}
	m := &csi.VolumeCapability_MountVolume{FsType: src.fsType, MountFlags: options}
	if g, ok := volume.GroupOf(s.Pod); ok && can.has(canGroup) && groupPolicy(s) != storagev1.NoneFSGroupPolicy {
		m.VolumeMountGroup = strconv.FormatInt(g, 10)
	}
	c.AccessType = &csi.VolumeCapability_Mount{Mount: m}
	return c
}

// labelled adds the SELinux label of all files to the options of a mount. It has commas in it.
func labelled(c *csi.VolumeCapability, label string) *csi.VolumeCapability {
	if m := c.GetMount(); m != nil && label != "" {
		m.MountFlags = append(slices.Clip(m.MountFlags), fmt.Sprintf("context=%q", label))
	}
	return c
}

func accessMode(m corev1.PersistentVolumeAccessMode, single bool) csi.VolumeCapability_AccessMode_Mode {
	switch m {
	case corev1.ReadOnlyMany:
		return csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case corev1.ReadWriteMany:
		return csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case corev1.ReadWriteOncePod:
		if single {
			return csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
		}
	case corev1.ReadWriteOnce:
		if single {
			return csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
		}
	}
	return csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
}

func groupPolicy(s *volume.Spec) storagev1.FSGroupPolicy {
	if s.Driver == nil || s.Driver.Spec.FSGroupPolicy == nil {
		return storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
	}
	return *s.Driver.Spec.FSGroupPolicy
}

// takesGroup reports whether the kubelet gives the files of the volume to the pod's group.
func takesGroup(s *volume.Spec, src *source) bool {
	switch policy := groupPolicy(s); {
	case src.readOnly || policy == storagev1.NoneFSGroupPolicy:
		return false
	case policy == storagev1.FileFSGroupPolicy:
		return true
	case src.fsType == "":
		return false
	case s.PV == nil:
		return true
	}
	return slices.Contains(s.PV.Spec.AccessModes, corev1.ReadWriteOnce) || slices.Contains(s.PV.Spec.AccessModes, corev1.ReadWriteOncePod)
}

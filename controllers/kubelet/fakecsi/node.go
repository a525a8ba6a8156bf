package fakecsi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// GetPluginInfo implements csi.IdentityServer.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.name, VendorVersion: "1.0.0"}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (d *Driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	reply := &csi.GetPluginCapabilitiesResponse{}
	service := func(t csi.PluginCapability_Service_Type) {
		reply.Capabilities = append(reply.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: t}}})
	}
	if d.opts.Controller {
		service(csi.PluginCapability_Service_CONTROLLER_SERVICE)
		reply.Capabilities = append(reply.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_VolumeExpansion_{
			VolumeExpansion: &csi.PluginCapability_VolumeExpansion{Type: csi.PluginCapability_VolumeExpansion_ONLINE}}})
	}
	if d.opts.Topology != nil {
		service(csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS)
	}
	return reply, nil
}

// Probe implements csi.IdentityServer.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

// NodeGetInfo implements csi.NodeServer.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	info := &csi.NodeGetInfoResponse{NodeId: d.opts.NodeID, MaxVolumesPerNode: d.opts.MaxVolumes}
	if d.opts.Topology != nil {
		info.AccessibleTopology = &csi.Topology{Segments: d.opts.Topology}
	}
	return info, nil
}

// able are the capabilities of a driver without options.
var able = []csi.NodeServiceCapability_RPC_Type{
	csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS,
	csi.NodeServiceCapability_RPC_EXPAND_VOLUME, csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
}

// NodeGetCapabilities implements csi.NodeServer.
func (d *Driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	list := able
	if d.opts.Groups {
		list = append(list[:len(list):len(list)], csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP)
	}
	reply := &csi.NodeGetCapabilitiesResponse{}
	for _, c := range list {
		if !slices.Contains(d.opts.Without, c) {
			reply.Capabilities = append(reply.Capabilities, &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: c}}})
		}
	}
	return reply, nil
}

func (d *Driver) stages() bool {
	return !slices.Contains(d.opts.Without, csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME)
}

// errNoCapability refuses requests without a capability of the volume.
var errNoCapability = status.Error(codes.InvalidArgument, "the capability is missing")

// check refuses requests without what the interface requires.
func check(parts ...string) error {
	for _, p := range parts {
		if p == "" {
			return status.Error(codes.InvalidArgument, "a required field is missing")
		}
	}
	return nil
}

// NodeStageVolume implements csi.NodeServer.
func (d *Driver) NodeStageVolume(_ context.Context, q *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if err := check(q.VolumeId, q.StagingTargetPath); err != nil {
		return nil, err
	}
	if q.VolumeCapability == nil {
		return nil, errNoCapability
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.known(q.VolumeId); err != nil {
		return nil, err
	}
	if d.opts.Controller && !d.volumes[q.VolumeId].attached {
		d.violation("%s staged without being attached", q.VolumeId)
	}
	if at, ok := d.staged[q.VolumeId]; ok && at != q.StagingTargetPath {
		d.violation("%s staged at %s and %s", q.VolumeId, at, q.StagingTargetPath)
	}
	if _, err := os.Stat(q.StagingTargetPath); err != nil {
		d.violation("%s staged where no folder is", q.VolumeId)
	}
	d.staged[q.VolumeId] = q.StagingTargetPath
	return &csi.NodeStageVolumeResponse{}, nil
}

// NodeUnstageVolume implements csi.NodeServer.
func (d *Driver) NodeUnstageVolume(_ context.Context, q *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if err := check(q.VolumeId, q.StagingTargetPath); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for target, v := range d.published {
		if v == q.VolumeId {
			d.violation("%s unstaged while published at %s", v, target)
		}
	}
	delete(d.staged, q.VolumeId)
	return &csi.NodeUnstageVolumeResponse{}, nil
}

// NodePublishVolume implements csi.NodeServer.
func (d *Driver) NodePublishVolume(_ context.Context, q *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if err := check(q.VolumeId, q.TargetPath); err != nil {
		return nil, err
	}
	if q.VolumeCapability == nil {
		return nil, errNoCapability
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	inline := len(q.VolumeId) == 68 && strings.HasPrefix(q.VolumeId, "csi-") // as kubelets name them
	if err := d.known(q.VolumeId); err != nil && !inline {
		return nil, err
	}
	single := q.VolumeCapability.GetAccessMode().GetMode() == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	for target, v := range d.published {
		if v == q.VolumeId && target != q.TargetPath && (single || d.single[target]) {
			return nil, status.Errorf(codes.FailedPrecondition, "%s is published at %s, and may be at one path only", v, target)
		}
	}
	if at, ok := d.staged[q.VolumeId]; d.stages() && !inline && (!ok || at != q.StagingTargetPath) {
		d.violation("%s published without being staged", q.VolumeId)
	}
	if _, err := os.Stat(filepath.Dir(q.TargetPath)); err != nil {
		d.violation("%s published where no parent folder is", q.VolumeId)
	}
	if _, again := d.published[q.TargetPath]; !again || !exists(q.TargetPath) {
		if err := publish(d.source(q.VolumeId), q.TargetPath, q.VolumeCapability.GetBlock() != nil, q.Readonly); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	d.published[q.TargetPath], d.single[q.TargetPath] = q.VolumeId, single
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume implements csi.NodeServer.
func (d *Driver) NodeUnpublishVolume(_ context.Context, q *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if err := check(q.VolumeId, q.TargetPath); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := unmount(q.TargetPath); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := os.RemoveAll(q.TargetPath); err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	delete(d.published, q.TargetPath)
	delete(d.single, q.TargetPath)
	return &csi.NodeUnpublishVolumeResponse{}, nil
}

// NodeExpandVolume implements csi.NodeServer.
func (d *Driver) NodeExpandVolume(_ context.Context, q *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := check(q.VolumeId, q.VolumePath); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.known(q.VolumeId); err != nil {
		return nil, err
	}
	d.sizes[q.VolumeId] = max(d.sizes[q.VolumeId], q.CapacityRange.GetRequiredBytes())
	return &csi.NodeExpandVolumeResponse{CapacityBytes: d.sizes[q.VolumeId]}, nil
}

// NodeGetVolumeStats implements csi.NodeServer. A volume of 1000 bytes and 10 inodes has 400 bytes and 4
// inodes in use.
func (d *Driver) NodeGetVolumeStats(_ context.Context, q *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := check(q.VolumeId, q.VolumePath); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.published[q.VolumePath] != q.VolumeId {
		return nil, status.Errorf(codes.NotFound, "%s is not published at %s", q.VolumeId, q.VolumePath)
	}
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{
		{Unit: csi.VolumeUsage_BYTES, Total: 1000, Used: 400, Available: 600},
		{Unit: csi.VolumeUsage_INODES, Total: 10, Used: 4, Available: 6},
	}}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// publish makes the target: a mount of source, or without one an empty folder or file.
func publish(source, target string, block, readOnly bool) error {
	if source != "" {
		if err := place(source, block); err != nil {
			return err
		}
	}
	if err := place(target, block); err != nil || source == "" {
		return err
	}
	return bind(source, target, readOnly)
}

// place makes a folder or a file unless it is there.
func place(path string, file bool) error {
	if !file {
		return os.MkdirAll(path, 0o777)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o660)
	if err != nil {
		return err
	}
	return f.Close()
}

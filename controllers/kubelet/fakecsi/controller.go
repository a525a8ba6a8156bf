package fakecsi

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// volume is one that CreateVolume has made.
type volume struct {
	name     string
	size     int64
	attached bool
	readOnly bool // as attached
}

// minSize is the size in bytes of volumes for which none is requested.
const minSize = 1 << 30

// known refuses volumes that do not exist. Without a controller all exist. The lock is held.
func (d *Driver) known(id string) error {
	if d.opts.Controller && d.volumes[id] == nil {
		return status.Errorf(codes.NotFound, "volume %s does not exist", id)
	}
	return nil
}

// Volumes returns the ids of the volumes that CreateVolume has made, sorted.
func (d *Driver) Volumes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.volumes))
}

// Attached returns the ids of the volumes that are attached to the node, sorted.
func (d *Driver) Attached() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := slices.Collect(maps.Keys(d.volumes))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !d.volumes[id].attached })
	slices.Sort(ids)
	return ids
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (d *Driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	reply := &csi.ControllerGetCapabilitiesResponse{}
	for _, c := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
		csi.ControllerServiceCapability_RPC_PUBLISH_READONLY, csi.ControllerServiceCapability_RPC_LIST_VOLUMES,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME, csi.ControllerServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER,
	} {
		reply.Capabilities = append(reply.Capabilities, &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: c}}})
	}
	return reply, nil
}

// CreateVolume implements csi.ControllerServer.
func (d *Driver) CreateVolume(_ context.Context, q *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	size := cmp.Or(q.CapacityRange.GetRequiredBytes(), minSize)
	limit := q.CapacityRange.GetLimitBytes()
	switch {
	case q.Name == "" || len(q.VolumeCapabilities) == 0:
		return nil, check("")
	case q.VolumeContentSource != nil:
		return nil, status.Error(codes.InvalidArgument, "volumes are made empty, not from others")
	case q.CapacityRange.GetRequiredBytes() == 0 && limit > 0:
		size = min(size, limit)
	case limit > 0 && limit < size:
		return nil, status.Error(codes.OutOfRange, "the limit is less than the required size")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, v := range d.volumes {
		if v.name != q.Name {
			continue
		}
		if v.size < q.CapacityRange.GetRequiredBytes() || limit > 0 && v.size > limit {
			return nil, status.Errorf(codes.AlreadyExists, "volume %s has %d bytes", q.Name, v.size)
		}
		return d.created(id, v), nil
	}
	d.made++
	id, v := "volume-"+strconv.Itoa(d.made), &volume{name: q.Name, size: size}
	d.volumes[id] = v
	return d.created(id, v), nil
}

func (d *Driver) created(id string, v *volume) *csi.CreateVolumeResponse {
	reply := &csi.Volume{VolumeId: id, CapacityBytes: v.size}
	if d.opts.Topology != nil {
		reply.AccessibleTopology = []*csi.Topology{{Segments: d.opts.Topology}}
	}
	return &csi.CreateVolumeResponse{Volume: reply}
}

// DeleteVolume implements csi.ControllerServer.
func (d *Driver) DeleteVolume(_ context.Context, q *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if err := check(q.VolumeId); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.volumes[q.VolumeId]
	if v == nil {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if _, staged := d.staged[q.VolumeId]; staged || v.attached {
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is in use", q.VolumeId)
	}
	if from := d.source(q.VolumeId); from != "" {
		if err := os.RemoveAll(from); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
	}
	delete(d.volumes, q.VolumeId)
	delete(d.sizes, q.VolumeId)
	return &csi.DeleteVolumeResponse{}, nil
}

// ControllerPublishVolume implements csi.ControllerServer.
func (d *Driver) ControllerPublishVolume(_ context.Context, q *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	if err := check(q.VolumeId, q.NodeId); err != nil {
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
	if q.NodeId != d.opts.NodeID {
		return nil, status.Errorf(codes.NotFound, "node %s does not exist", q.NodeId)
	}
	v := d.volumes[q.VolumeId]
	if v.attached && v.readOnly != q.Readonly {
		return nil, status.Errorf(codes.AlreadyExists, "volume %s is attached with another mode", q.VolumeId)
	}
	count := int64(0)
	for _, other := range d.volumes {
		if other.attached {
			count++
		}
	}
	if most := d.opts.MaxVolumes; !v.attached && most > 0 && count >= most {
		return nil, status.Errorf(codes.ResourceExhausted, "the node has %d volumes", most)
	}
	v.attached, v.readOnly = true, q.Readonly
	return &csi.ControllerPublishVolumeResponse{}, nil
}

// ControllerUnpublishVolume implements csi.ControllerServer.
func (d *Driver) ControllerUnpublishVolume(_ context.Context, q *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if err := check(q.VolumeId); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, staged := d.staged[q.VolumeId]; staged {
		d.violation("%s detached while staged at %s", q.VolumeId, at)
	}
	if v := d.volumes[q.VolumeId]; v != nil {
		v.attached = false
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

// ValidateVolumeCapabilities implements csi.ControllerServer. Volumes have all capabilities.
func (d *Driver) ValidateVolumeCapabilities(_ context.Context, q *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if err := check(q.VolumeId); err != nil {
		return nil, err
	}
	if len(q.VolumeCapabilities) == 0 {
		return nil, errNoCapability
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.known(q.VolumeId); err != nil {
		return nil, err
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: q.VolumeContext, VolumeCapabilities: q.VolumeCapabilities, Parameters: q.Parameters}}, nil
}

// ListVolumes implements csi.ControllerServer. Tokens are the ids after which the list goes on.
func (d *Driver) ListVolumes(_ context.Context, q *csi.ListVolumesRequest) (*csi.ListVolumesResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := slices.Sorted(maps.Keys(d.volumes))
	if q.StartingToken != "" {
		var number int
		if _, err := fmt.Sscanf(q.StartingToken, "volume-%d", &number); err != nil || number > d.made {
			return nil, status.Error(codes.Aborted, "the token is not one of a list")
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return id <= q.StartingToken })
	}
	reply := &csi.ListVolumesResponse{}
	if most := int(q.MaxEntries); most > 0 && len(ids) > most {
		ids, reply.NextToken = ids[:most], ids[most-1]
	}
	for _, id := range ids {
		reply.Entries = append(reply.Entries, &csi.ListVolumesResponse_Entry{Volume: d.created(id, d.volumes[id]).Volume})
	}
	return reply, nil
}

// ControllerExpandVolume implements csi.ControllerServer.
func (d *Driver) ControllerExpandVolume(_ context.Context, q *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	if err := check(q.VolumeId); err != nil {
		return nil, err
	}
	if q.CapacityRange == nil {
		return nil, status.Error(codes.InvalidArgument, "the size is missing")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.known(q.VolumeId); err != nil {
		return nil, err
	}
	v := d.volumes[q.VolumeId]
	v.size = max(v.size, q.CapacityRange.RequiredBytes)
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.size, NodeExpansionRequired: true}, nil
}

package fakecsi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/controllers/kubelet/fakecsi"
)

var capability = &csi.VolumeCapability{AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}}}

// A volume is made, attached, staged, and given back, and the driver notes who does it in another order.
func TestController(t *testing.T) {
	ctx, stage := t.Context(), t.TempDir()
	d := fakecsi.New("disks.example.com", fakecsi.Options{Controller: true, MaxVolumes: 1})
	create := func(name string, size int64) (string, error) {
		reply, err := d.CreateVolume(ctx, &csi.CreateVolumeRequest{Name: name, VolumeCapabilities: []*csi.VolumeCapability{capability}, CapacityRange: &csi.CapacityRange{RequiredBytes: size}})
		return reply.GetVolume().GetVolumeId(), err
	}
	attach := func(id string) error {
		_, err := d.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{VolumeId: id, NodeId: "fake-node", VolumeCapability: capability})
		return err
	}
	detach := func(id string) error {
		_, err := d.ControllerUnpublishVolume(ctx, &csi.ControllerUnpublishVolumeRequest{VolumeId: id, NodeId: "fake-node"})
		return err
	}
	id, err := create("a", 1<<20)
	require.NoError(t, err)
	again, err := create("a", 1<<20)
	require.NoError(t, err)
	require.Equal(t, id, again)
	_, err = create("a", 2<<20)
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	other, err := create("b", 1<<20)
	require.NoError(t, err)
	require.NoError(t, attach(id))
	require.Equal(t, codes.ResourceExhausted, status.Code(attach(other)))
	require.Equal(t, codes.NotFound, status.Code(attach("volume-9")))
	require.Equal(t, []string{id}, d.Attached())

	_, err = d.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: stage, VolumeCapability: capability})
	require.NoError(t, err)
	_, err = d.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id})
	require.Equal(t, codes.FailedPrecondition, status.Code(err))
	require.Empty(t, d.Broken())
	require.NoError(t, detach(id))
	require.Len(t, d.Broken(), 1, "it was staged")
	_, err = d.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{VolumeId: id, StagingTargetPath: stage, VolumeCapability: capability})
	require.NoError(t, err)
	require.Len(t, d.Broken(), 2, "it is not attached")
	_, err = d.NodeUnstageVolume(ctx, &csi.NodeUnstageVolumeRequest{VolumeId: id, StagingTargetPath: stage})
	require.NoError(t, err)

	page, err := d.ListVolumes(ctx, &csi.ListVolumesRequest{MaxEntries: 1})
	require.NoError(t, err)
	require.Equal(t, id, page.NextToken)
	rest, err := d.ListVolumes(ctx, &csi.ListVolumesRequest{StartingToken: page.NextToken})
	require.NoError(t, err)
	require.Equal(t, other, rest.Entries[0].Volume.VolumeId)
	for _, v := range d.Volumes() {
		_, err = d.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: v})
		require.NoError(t, err)
	}
	require.Empty(t, d.Volumes())
}

// Without a controller the driver has the volumes that are named to it.
func TestNoController(t *testing.T) {
	d := fakecsi.New("disks.example.com", fakecsi.Options{})
	_, err := d.NodeStageVolume(t.Context(), &csi.NodeStageVolumeRequest{VolumeId: "any", StagingTargetPath: t.TempDir(), VolumeCapability: capability})
	require.NoError(t, err)
	require.Empty(t, d.Broken())
}

// TestSanityBeside lets the tests of kubernetes-csi for drivers, csi-sanity, run against this one.
func TestSanityBeside(t *testing.T) {
	sanity := seeds.Peer(t, "csi-sanity")
	cases := map[string]fakecsi.Options{
		"plain":    {Controller: true, MaxVolumes: 3, Groups: true},
		"topology": {Controller: true, Topology: map[string]string{"topology.example.com/rack": "one"}},
		"unstaged": {Controller: true, Without: []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}},
	}
	if os.Getuid() == 0 {
		cases["mounts"] = fakecsi.Options{Controller: true, Data: t.TempDir()}
	}
	for name, opts := range cases {
		for _, access := range []string{"mount", "block"} {
			t.Run(name+"/"+access, func(t *testing.T) {
				dir := t.TempDir()
				d := fakecsi.New("disks.example.com", opts)
				ctx, cancel := context.WithCancel(t.Context())
				wait, err := d.Serve(ctx, dir)
				require.NoError(t, err)
				defer wait()
				defer cancel()
				cmd := exec.CommandContext(ctx, sanity, "--ginkgo.no-color", "--ginkgo.seed=1", "--csi.endpoint=unix://"+d.Socket(dir),
					"--csi.mountdir="+filepath.Join(dir, "mount"), "--csi.stagingdir="+filepath.Join(dir, "staging"),
					"--csi.testvolumeaccesstype="+access, "--csi.testnodevolumeattachlimit")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				t.Logf("%s", out[max(0, len(out)-300):])
				require.Empty(t, d.Published())
				require.Empty(t, d.Attached())
			})
		}
	}
}

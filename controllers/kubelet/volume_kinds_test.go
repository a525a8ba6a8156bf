package kubelet

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/controllers/kubelet/internal/volume"
)

// recordedMounts notes what is mounted. Unmounting blocks until let go.
type recordedMounts struct {
	folders
	calls []string
	is    bool
	fails error
	letGo chan struct{}
}

func (m *recordedMounts) mounted(string) bool { return m.is }

func (m *recordedMounts) mount(_ context.Context, source, target, kind string, options []string) error {
	m.calls = append(m.calls, strings.Join([]string{source, target, kind, strings.Join(options, ",")}, " "))
	m.is = m.fails == nil
	return m.fails
}

func (m *recordedMounts) unmount(string) error {
	<-m.letGo
	return nil
}

// An export of an NFS server is mounted once, with the options of its PersistentVolume, and a server that
// does not answer holds up no more than the volume.
func TestNFSVolumes(t *testing.T) {
	mounts := &recordedMounts{letGo: make(chan struct{})}
	p := &nfsPlugin{mountPlugin{mounts: mounts, paths: volume.Paths{Root: "/root", Node: "n1"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
	s := &volume.Spec{Pod: pod, Volume: &corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/exports/a"}}}}
	r, err := p.Record(t.Context(), s)
	require.NoError(t, err)
	mounts.fails = errors.New("mount failed")
	require.ErrorIs(t, p.SetUp(t.Context(), s, &r, false, nil), mounts.fails)
	mounts.fails = nil
	for range 2 { // the second time it is there
		require.NoError(t, p.SetUp(t.Context(), s, &r, false, nil))
	}
	const target = "/root/pods/uid/volumes/kubernetes.io~nfs/"
	require.Equal(t, []string{"nfs.example.com:/exports/a " + target + "data nfs ", "nfs.example.com:/exports/a " + target + "data nfs "}, mounts.calls)

	mounts.calls, mounts.is = nil, false
	s.ReadOnly, s.PV = true, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	s.PV.Spec.NFS = &corev1.NFSVolumeSource{Server: "2001:db8::1", Path: "/b"}
	s.PV.Spec.MountOptions = []string{"nfsvers=4.1", "hard"}
	r, err = p.Record(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, p.SetUp(t.Context(), s, &r, false, nil))
	require.Equal(t, []string{"[2001:db8::1]:/b " + target + "pv nfs nfsvers=4.1,hard,ro"}, mounts.calls)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.TearDown(ctx, &r), context.Canceled)
	close(mounts.letGo)
	require.NoError(t, p.TearDown(t.Context(), &r))

	s.PV.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	_, err = p.Record(t.Context(), s)
	require.ErrorContains(t, err, "volumeMode Block is not supported")
}

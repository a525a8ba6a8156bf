package volume

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Records come back as they were written, and those that are not understood are reported and left alone.
func TestRecords(t *testing.T) {
	p := Paths{Root: t.TempDir(), Node: "n"}
	kinds := []string{"csi", "nfs"}
	all := []Record{
		{Kind: "csi", Pod: "u1", Name: "pv1", Driver: "d", Handle: "h"},
		{Kind: "csi", Pod: "u1", Name: "scratch", Driver: "d", Handle: InlineHandle("u1", "scratch"), Inline: true},
		{Kind: "nfs", Pod: "u1", Name: "share"},
		{Kind: "csi", Pod: "u1", Name: "pv2", Driver: "d", Handle: "h2", Device: true},
	}
	for i := range all {
		require.NoError(t, p.save(&all[i]))
		require.True(t, p.exists(&all[i]))
	}
	stage := all[0]
	stage.Pod = ""
	require.NoError(t, p.write(p.StageFolder(&stage), &stage))
	pods, stages, err := p.all(kinds)
	require.NoError(t, err)
	require.Equal(t, all, pods)
	require.Len(t, stages, 2, "that of the block device is with it")
	require.Contains(t, stages, stage)

	bad := filepath.Join(p.Root, "pods", "u2", "volumes", "kubernetes.io~csi", "pv3")
	require.NoError(t, os.MkdirAll(bad, 0o750))
	for _, text := range []string{"", "{", "[]", `{"driverName":"d"}`} {
		require.NoError(t, os.WriteFile(filepath.Join(bad, dataFile), []byte(text), 0o600))
		pods, _, err = p.all(kinds)
		require.ErrorContains(t, err, "pv3", text)
		require.Len(t, pods, len(all))
	}
	require.FileExists(t, filepath.Join(bad, dataFile))

	require.NoError(t, os.Mkdir(p.Target(&all[0]), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(p.Target(&all[0]), "data"), nil, 0o600))
	require.Error(t, p.remove(&all[0]), "what is in a volume is never removed")
	require.FileExists(t, filepath.Join(p.Target(&all[0]), "data"))
	require.NoError(t, os.RemoveAll(p.Target(&all[0])))
	require.NoError(t, os.RemoveAll(bad))
	for i := range all {
		require.NoError(t, p.remove(&all[i]))
	}
	require.NoError(t, p.removeStage(&stage))
	require.NoError(t, p.removeStage(&all[3]))
	pods, stages, err = p.all(kinds)
	require.NoError(t, err)
	require.Empty(t, pods)
	require.Empty(t, stages)
}

// The files of a volume are given to the group, and nothing that a link leads to.
func TestSetGroup(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "f"), nil, 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	pod := &corev1.Pod{}
	ends := 0
	done := func(_ time.Time, err error) {
		require.NoError(t, err)
		ends++
	}
	require.NoError(t, SetGroup(t.Context(), dir, pod, done))
	require.Zero(t, ends)
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Mode() &^ os.ModeDir
	}
	require.Equal(t, os.FileMode(0o600), mode(filepath.Join(dir, "a", "f")), "the pod has no group")
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(os.Getgid()))}
	require.NoError(t, SetGroup(t.Context(), dir, pod, done))
	require.Equal(t, 0o770|os.ModeSetgid, mode(filepath.Join(dir, "a", "b")))
	require.Equal(t, os.FileMode(0o660), mode(filepath.Join(dir, "a", "f")))
	require.Equal(t, os.FileMode(0o600), mode(outside))

	require.NoError(t, os.Chmod(filepath.Join(dir, "a", "f"), 0o600))
	pod.Spec.SecurityContext.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	require.NoError(t, SetGroup(t.Context(), dir, pod, done))
	require.Equal(t, os.FileMode(0o600), mode(filepath.Join(dir, "a", "f")), "the root folder is right")
	require.NoError(t, os.Chmod(dir, 0o700))
	require.NoError(t, SetGroup(t.Context(), dir, pod, done))
	require.Equal(t, os.FileMode(0o660), mode(filepath.Join(dir, "a", "f")))
	require.Equal(t, 3, ends)
}

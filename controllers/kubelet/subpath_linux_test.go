package kubelet

import (
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// needMounts skips a test where this process may not mount.
func needMounts(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must be able to mount: %v", err)
		t.Skipf("mounts: this process may not mount: %v", err)
	}
	require.NoError(t, unix.Unmount(dir, 0))
}

// bound mounts a subPath as a container gets it.
func bound(m mounter, volume, sub, target string) error {
	f, err := openSubPath(volume, sub)
	if err != nil {
		return err
	}
	defer f.Close()
	return m.bind(f, target)
}

func TestSubPathStaysInside(t *testing.T) {
	needMounts(t)
	volume, outside := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(volume, "out")))
	require.NoError(t, os.Symlink("inner", filepath.Join(volume, "in")))
	require.NoError(t, os.Mkdir(filepath.Join(volume, "inner"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(volume, "inner", "file"), []byte("text"), 0o600))
	for _, bad := range []string{"out", "out/x", "..", "a/../../b", "/etc", "inner/file/x"} {
		_, err := openSubPath(volume, bad)
		require.Error(t, err, bad)
	}
	for sub, want := range map[string]string{"in": "inner", "in/file": "inner/file", "new/deep": "new/deep", ".": "."} {
		f, err := openSubPath(volume, sub)
		require.NoError(t, err, sub)
		require.Equal(t, filepath.Join(volume, want), f.Name())
		require.NoError(t, f.Close())
	}
}

// Folders made for subPaths have the owner and mode of the volume, so that its users can write them.
func TestFoldersOfSubPathsAreAsTheVolume(t *testing.T) {
	volume := t.TempDir()
	require.NoError(t, os.Chmod(volume, 0o777|os.ModeSetgid))
	f, err := openSubPath(volume, "a/b")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for _, dir := range []string{"a", "a/b"} {
		info, err := os.Stat(filepath.Join(volume, dir))
		require.NoError(t, err)
		require.Equal(t, 0o777|os.ModeSetgid|os.ModeDir, info.Mode(), dir)
	}
	require.NoError(t, os.Chmod(filepath.Join(volume, "a"), 0o700))
	f, err = openSubPath(volume, "a/b")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	info, err := os.Stat(filepath.Join(volume, "a"))
	require.NoError(t, err)
	require.Equal(t, 0o700|os.ModeDir|os.ModeSetgid, info.Mode()|os.ModeSetgid, "what is there is left alone")
}

// A container that writes the volume may replace the folder by a symbolic link after it was checked; the
// runtime must not follow it to the node's files.
func TestSubPathIsNotSwapped(t *testing.T) {
	needMounts(t)
	m := &kernelMounter{}
	dir := t.TempDir()
	volume, host, target := filepath.Join(dir, "volume"), filepath.Join(dir, "host"), filepath.Join(dir, subPathFolder, "v", "c", "0")
	require.NoError(t, os.MkdirAll(filepath.Join(volume, "sub"), 0o755))
	require.NoError(t, os.Mkdir(host, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(host, "secret"), nil, 0o600))
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })

	require.NoError(t, bound(m, volume, "sub", target))
	require.NoError(t, os.Remove(filepath.Join(volume, "sub")))
	require.NoError(t, os.Symlink(host, filepath.Join(volume, "sub")))
	require.NoFileExists(t, filepath.Join(target, "secret"), "what the runtime mounts is what was checked")
	require.Error(t, bound(m, volume, "sub", target), "the next start sees the link")

	// While the link comes and goes as fast as it can.
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		sub, spare := filepath.Join(volume, "sub"), filepath.Join(volume, "spare")
		_ = os.Mkdir(spare, 0o755)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, sub, unix.AT_FDCWD, spare, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
			goruntime.Gosched()
		}
	}()
	defer func() { close(stop); <-done }()
	mounted := 0
	for range 1000 {
		if bound(m, volume, "sub", target) == nil {
			mounted++
			require.NoFileExists(t, filepath.Join(target, "secret"))
		}
	}
	t.Logf("mounted %d times of 1000", mounted)
}

func TestSubPathsAreMountedAgain(t *testing.T) {
	needMounts(t)
	m := &kernelMounter{}
	dir := t.TempDir()
	volume, target := filepath.Join(dir, "volume"), filepath.Join(dir, subPathFolder, "0")
	require.NoError(t, os.MkdirAll(filepath.Join(volume, "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(volume, "f"), []byte("1"), 0o600))
	mounts := func() int {
		points, err := m.below(filepath.Join(dir, subPathFolder))
		require.NoError(t, err)
		return len(points)
	}
	t.Cleanup(func() { _ = unix.Unmount(target, unix.MNT_DETACH) })
	for range 3 { // as a container that is started again
		require.NoError(t, bound(m, volume, "a", target))
		require.Equal(t, 1, mounts())
	}
	require.NoError(t, bound(m, volume, "f", target), "a file in the place of a folder")
	require.Equal(t, 1, mounts())
	b, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "1", string(b))
	require.NoError(t, os.Remove(filepath.Join(volume, "f")))
	require.NoError(t, os.WriteFile(filepath.Join(volume, "f"), []byte("2"), 0o600))
	require.NoError(t, bound(m, volume, "f", target), "another file of that name")
	b, err = os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "2", string(b))

	// The content of a mount is never removed, not even if it is of the same file system.
	require.NoError(t, bound(m, volume, "a", target))
	require.NoError(t, os.WriteFile(filepath.Join(volume, "a", "data"), nil, 0o600))
	require.ErrorIs(t, m.remove(filepath.Join(dir, subPathFolder)), errMounted)
	require.FileExists(t, filepath.Join(volume, "a", "data"))
	require.NoError(t, m.unmount(target))
	require.NoError(t, m.remove(filepath.Join(dir, subPathFolder)))
	require.NoDirExists(t, filepath.Join(dir, subPathFolder))
	require.FileExists(t, filepath.Join(volume, "a", "data"))
}

func TestRemove(t *testing.T) {
	m := &kernelMounter{}
	dir := t.TempDir()
	require.NoError(t, m.remove(filepath.Join(dir, "none")))
	require.NoError(t, m.remove(filepath.Join(dir, "none", "none")))
	outside := filepath.Join(dir, "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	tree := filepath.Join(dir, "tree")
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "a", "b", "c"), 0o755))
	require.NoError(t, os.Symlink(outside, filepath.Join(tree, "a", "link")))
	for i := range 3000 {
		require.NoError(t, os.WriteFile(filepath.Join(tree, "a", "b", fmt.Sprint(i)), nil, 0o600))
	}
	require.NoError(t, m.remove(tree))
	require.NoDirExists(t, tree)
	require.DirExists(t, outside)
}

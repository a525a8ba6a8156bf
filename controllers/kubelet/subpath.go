package kubelet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// subPathDir holds the mounts of a pod's subPaths, by volume, container and place among the container's
// mounts.
func (k *Kubelet) subPathDir(pod *corev1.Pod) string {
	return filepath.Join(k.podDir(pod.UID), subPathFolder)
}

const subPathFolder = "volume-subpaths"

// subPath mounts the path sub of a volume below the pod's folder and returns where. The runtime is given that
// place and not the path in the volume: a container that writes the volume could put a symbolic link there
// before the runtime follows the path. Missing folders are made.
func (w *worker) subPath(pod *corev1.Pod, c *corev1.Container, index int, volume, sub string) (string, error) {
	m := &c.VolumeMounts[index]
	target := filepath.Join(w.k.subPathDir(pod), m.Name, c.Name, strconv.Itoa(index))
	err := func() error {
		f, err := openSubPath(volume, sub)
		if err != nil {
			return err
		}
		defer f.Close()
		return w.k.mounts.bind(f, target)
	}()
	if err != nil {
		// The user learns nothing about the node's files from it.
		w.log.Warn("mount subPath failed", "container", c.Name, "volume", m.Name, "subPath", sub, "err", err)
		return "", fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q", m.Name, c.Name)
	}
	return target, nil
}

// openSubPath opens a path inside a volume, which no symbolic link may lead out of, for nothing but to be
// mounted. Folders are made if nothing is there, with the mode of the volume, so that users who may write the
// volume may write them.
func openSubPath(volume, sub string) (*os.File, error) {
	if filepath.IsAbs(sub) || slices.Contains(strings.Split(filepath.ToSlash(sub), "/"), "..") {
		return nil, fmt.Errorf("%q must be relative and must not contain ..", sub)
	}
	root, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return nil, err
	}
	if err := makeBelow(root, sub); err != nil {
		return nil, err
	}
	// Links inside the volume, such as those to the keys of a configMap, are followed now. What is opened
	// then has no link in its path, or it is an error: something has changed meanwhile.
	full, err := filepath.EvalSymlinks(filepath.Join(root, sub))
	if err != nil {
		return nil, err
	}
	rest, err := filepath.Rel(root, full)
	if err != nil || !filepath.IsLocal(rest) {
		return nil, fmt.Errorf("%q is outside of the volume", sub)
	}
	return openNoLinks(root, rest)
}

// makeBelow makes the missing folders of a path below root. No link leads it out of root.
func makeBelow(root, sub string) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		if info.Mode().IsRegular() && filepath.Clean(sub) == "." {
			return nil
		}
		return err
	}
	defer dir.Close()
	if _, err := dir.Stat(sub); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := ""
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(sub)), "/") {
		at = filepath.Join(at, part)
		err := dir.Mkdir(at, info.Mode().Perm())
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = dir.Chmod(at, info.Mode()&(fs.ModePerm|fs.ModeSetgid)) // Mkdir heeds the umask
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// InlineHandle is the handle of a volume that is part of a pod, as all kubelets compute it.
func InlineHandle(pod types.UID, volume string) string { return "csi-" + hash(string(pod)+volume) }

// GroupOf is the group to which a pod's volumes are to belong; false if the pod has none.
func GroupOf(pod *corev1.Pod) (group int64, ok bool) {
	if sec := pod.Spec.SecurityContext; sec != nil && sec.FSGroup != nil {
		return *sec.FSGroup, true
	}
	return 0, false
}

// GroupOperation is the name in metrics of what [SetGroup] does.
const GroupOperation = "volume_apply_access_control"

// SetGroup gives all files of a volume to the group of a pod, if it has one, which may read and write them.
// New files get the group of their folder. With the policy OnRootMismatch nothing is done if the volume's own
// folder is right. Nothing outside the volume is touched, whatever a container does with it meanwhile. If the
// pod has a group, done is called at the end.
func SetGroup(ctx context.Context, dir string, pod *corev1.Pod, done func(began time.Time, err error)) (err error) {
	group, ok := GroupOf(pod)
	if !ok {
		return nil
	}
	began := time.Now()
	defer func() { done(began, err) }()
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return err
	}
	policy := pod.Spec.SecurityContext.FSGroupChangePolicy
	if policy != nil && *policy == corev1.FSGroupChangeOnRootMismatch && rootMatches(info, group) {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	// The root comes last: it shows that all others are done.
	var last fs.FileInfo
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if path == "." {
			last = info
			return nil
		}
		if err := own(root, path, info, group); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	if err != nil || last == nil {
		return err
	}
	return own(root, ".", last, group)
}

// own gives one file to a group.
func own(root *os.Root, path string, info fs.FileInfo, group int64) error {
	if err := root.Lchown(path, -1, int(group)); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil
	}
	// Changing the group clears the bits that setgid programs have.
	return root.Chmod(path, info.Mode()|wanted(info))
}

// wanted are the bits that a file has to have.
func wanted(info fs.FileInfo) fs.FileMode {
	mode := fs.FileMode(0o660)
	if info.IsDir() {
		mode |= fs.ModeSetgid | 0o110
	}
	return mode
}

func rootMatches(info fs.FileInfo, group int64) bool {
	want := wanted(info)
	return groupOf(info) == group && info.Mode()&want == want
}

package kubelet

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/types"
)

func (k *Kubelet) podDir(uid types.UID) string {
	return filepath.Join(k.opts.RootDir, "pods", string(uid))
}

// volumeDir is where a volume is made; plugin is its kind, such as empty-dir.
func (k *Kubelet) volumeDir(uid types.UID, plugin, name string) string {
	return filepath.Join(k.podDir(uid), "volumes", "kubernetes.io~"+plugin, name)
}

func (k *Kubelet) containerDir(uid types.UID, name string) string {
	return filepath.Join(k.podDir(uid), "containers", name)
}

func logFolder(namespace, name string, uid types.UID) string {
	return fmt.Sprintf("%s_%s_%s", namespace, name, uid)
}

// logsOf is the pod whose logs are in a folder; empty if the folder is none of logFolder.
func logsOf(folder string) types.UID {
	parts := strings.SplitN(folder, "_", 3)
	if len(parts) != 3 {
		return ""
	}
	return types.UID(parts[2])
}

// makeDir makes a folder that is mostly not there while its parent mostly is; as os.MkdirAll, which looks at
// both first.
func makeDir(dir string, mode fs.FileMode) error {
	if err := os.Mkdir(dir, mode); err == nil {
		return nil
	}
	return os.MkdirAll(dir, mode)
}

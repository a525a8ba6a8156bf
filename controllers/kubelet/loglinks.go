package kubelet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
)

// Log collectors find the log file of every container in one folder, as POD_NAMESPACE_CONTAINER-ID.log.

const logSuffix = ".log"

// logLink is the link to the log file of a container.
func (k *Kubelet) logLink(pod, namespace, container, id string) string {
	name := pod + "_" + namespace + "_" + container + "-" + id
	const longest = 255 // of a name in Linux's file systems
	return filepath.Join(k.opts.LogLinkDir, name[:min(len(name), longest-len(logSuffix))]+logSuffix)
}

// linkLog makes the link to the log file of a container that has been started.
func (k *Kubelet) linkLog(pod *corev1.Pod, c *corev1.Container, id, logPath string) {
	if _, err := os.Stat(logPath); err != nil {
		return // the runtime keeps the log elsewhere
	}
	link := k.logLink(pod.Name, pod.Namespace, c.Name, id)
	if err := os.Symlink(logPath, link); err != nil && !errors.Is(err, fs.ErrExist) {
		k.log.Warn("create link to container log failed", "path", link, "err", err)
	}
}

// sweepLogLinks removes links to log files that are gone, periodically until ctx ends.
func (k *Kubelet) sweepLogLinks(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		k.removeDeadLogLinks()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (k *Kubelet) removeDeadLogLinks() {
	entries, _ := os.ReadDir(k.opts.LogLinkDir) // looked at again
	for _, e := range entries {
		path := filepath.Join(k.opts.LogLinkDir, e.Name())
		if e.Type()&fs.ModeSymlink == 0 || !strings.HasSuffix(e.Name(), logSuffix) {
			continue
		}
		target, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(target, k.opts.LogDir+string(filepath.Separator)) {
			continue // of another kubelet
		}
		// While a log file is replaced, only the files that it replaced are there.
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && len(replacedLogs(target)) == 0 {
			_ = os.Remove(path)
		}
	}
}

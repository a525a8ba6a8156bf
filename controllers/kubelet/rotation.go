package kubelet

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// LogPolicy bounds the log files of each container.
type LogPolicy struct {
	// MaxSize is the size in bytes from which on a log file is replaced; 0 means 10 MiB, a negative number
	// that log files grow without bound.
	MaxSize int64
	// MaxFiles is how many log files a container may have, the current one included, at least 2; 0 means 5.
	// All but the two newest are compressed.
	MaxFiles int
	// Interval is the time between looks at the sizes; 0 means 10 s. A log file may exceed MaxSize by what is
	// written in this time.
	Interval time.Duration
	// Workers is how many log files are replaced and compressed side by side; 0 means 1.
	Workers int
}

func (p LogPolicy) withDefaults() (LogPolicy, error) {
	if p.MaxSize == 0 {
		p.MaxSize = 10 << 20
	}
	if p.MaxFiles == 0 {
		p.MaxFiles = 5
	}
	if p.MaxFiles < 2 {
		return p, fmt.Errorf("kubelet: Options.Logs.MaxFiles is %d, want at least 2: the current file and the previous one", p.MaxFiles)
	}
	if p.Interval <= 0 {
		p.Interval = 10 * time.Second
	}
	p.Workers = max(p.Workers, 1)
	return p, nil
}

// rotation replaces the log files of running containers that have grown too large.
type rotation struct {
	LogPolicy
	rt  *runtime
	log *slog.Logger

	paths map[string]string // of log files, by container id; belongs to run
}

func (r *rotation) run(ctx context.Context) {
	if r.MaxSize < 0 {
		return
	}
	tick := time.NewTicker(r.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.round(ctx); err != nil && ctx.Err() == nil {
			r.log.Info("list containers failed, log files are not rotated", "err", err)
		}
	}
}

// round looks at all running containers once.
func (r *rotation) round(ctx context.Context) error {
	list, err := r.rt.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}}})
	if err != nil {
		return err
	}
	paths := map[string]string{}
	slots := make(chan struct{}, r.Workers)
	var working sync.WaitGroup
	defer working.Wait()
	for _, c := range list.Containers {
		path, known := r.paths[c.Id]
		if !known { // it never changes
			st, err := r.rt.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: c.Id})
			if err != nil {
				continue // it is looked at again
			}
			path = st.GetStatus().GetLogPath()
		}
		paths[c.Id] = path
		if path == "" || !r.due(path) {
			continue
		}
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			if err := r.rotate(ctx, c.Id, path); err != nil && ctx.Err() == nil {
				r.log.Warn("rotate container log failed", "path", path, "err", err)
			}
		})
	}
	r.paths = paths
	return nil
}

// due reports whether a log file has to be replaced: it is too large, or gone, so that what the container
// writes is lost.
func (r *rotation) due(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(filepath.Dir(path))
		return err == nil
	}
	return err == nil && info.Size() >= r.MaxSize
}

// rotationTime is the form of the time in the name of a replaced log file, which sorts by age.
const rotationTime = "20060102-150405"

// rotate replaces the log file of a container by an empty one.
func (r *rotation) rotate(ctx context.Context, id, path string) error {
	old, err := rotatedLogs(path)
	if err != nil {
		return err
	}
	keep := r.MaxFiles - 2 // beside the new file and the one that it replaces
	for len(old) > keep {
		if err := os.Remove(old[0]); err != nil {
			return err
		}
		old = old[1:]
	}
	for _, name := range old {
		if strings.HasSuffix(name, gzipSuffix) {
			continue
		}
		if err := compressFile(name); err != nil {
			return err
		}
	}
	rotated := path + "." + time.Now().Format(rotationTime)
	if _, err := os.Lstat(rotated); err == nil {
		return nil // twice within a second: next time
	}
	err = os.Rename(path, rotated)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	moved := err == nil
	if _, err := r.rt.ReopenContainerLog(ctx, &cri.ReopenContainerLogRequest{ContainerId: id}); err != nil {
		if _, there := os.Lstat(path); moved && errors.Is(there, fs.ErrNotExist) {
			// The container still writes to the file that was renamed.
			err = errors.Join(fmt.Errorf("reopen log: %s", status.Convert(err).Message()), os.Rename(rotated, path))
		}
		return err
	}
	return nil
}

const (
	gzipSuffix = ".gz"
	partSuffix = ".tmp"
)

// replacedLogs returns the replaced log files of a container, the oldest first, each in the form that is
// complete.
func replacedLogs(path string) []string {
	entries, _ := os.ReadDir(filepath.Dir(path)) // without the folder there are none
	var list []string
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if !ok {
			continue
		}
		plain, packed := strings.CutSuffix(rest, gzipSuffix)
		if _, err := time.Parse(rotationTime, plain); err != nil {
			continue
		}
		if packed && slices.Contains(list, path+"."+plain) {
			continue // a compression that was interrupted before its last step
		}
		list = append(list, path+"."+rest)
	}
	return list
}

// rotatedLogs is replacedLogs, after the removal of what an interrupted compression left.
func rotatedLogs(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(filepath.Dir(path), e.Name())
		if !strings.HasPrefix(name, path+".") {
			continue
		}
		_, err := os.Lstat(name + gzipSuffix)
		if !strings.HasSuffix(name, partSuffix) && err != nil {
			continue
		}
		if err := os.Remove(name); err != nil {
			return nil, err
		}
	}
	return replacedLogs(path), nil
}

// compressFile replaces a file by its compressed form. A kill at any point leaves the one or the other whole.
func compressFile(name string) (err error) {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	part := name + partSuffix
	out, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Close()); err != nil {
		return err
	}
	if err = os.Rename(part, name+gzipSuffix); err != nil {
		return err
	}
	return os.Remove(name)
}

// removeLogs removes a log file and those it replaced.
func removeLogs(path string) {
	if path == "" {
		return
	}
	entries, _ := os.ReadDir(filepath.Dir(path)) // without the folder there are none
	for _, e := range entries {
		if logPathOf(e.Name(), filepath.Base(path)) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

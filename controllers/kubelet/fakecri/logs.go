package fakecri

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// logPath is the log file of a container. The lock is held.
func (r *Runtime) logPath(c *container) string {
	return filepath.Join(r.sandboxes[c.sandbox].config.LogDirectory, c.config.LogPath)
}

// openLog opens the log file of a container, if containers have some. The lock is held.
func (r *Runtime) openLog(c *container) error {
	if !r.Logs || c.config.LogPath == "" {
		return nil
	}
	path := r.logPath(c)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	c.closeLog()
	c.log = f
	return nil
}

func (c *container) closeLog() {
	if c.log != nil {
		_ = c.log.Close()
		c.log = nil
	}
}

// Print writes a line to the standard output of the running containers of that name, which Runtime.Logs must
// have given log files.
func (r *Runtime) Print(pod, name, line string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range byID(r.containers) {
		if c.state != cri.ContainerState_CONTAINER_RUNNING || r.nameOf(c) != pod+"/"+name {
			continue
		}
		if c.log == nil {
			return fmt.Errorf("container %s/%s has no log file; set Runtime.Logs before it is started", pod, name)
		}
		if _, err := fmt.Fprintf(c.log, "%s stdout F %s\n", time.Now().Format(time.RFC3339Nano), strings.TrimSuffix(line, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// ReopenContainerLog implements CRI.
func (r *Runtime) ReopenContainerLog(_ context.Context, q *cri.ReopenContainerLogRequest) (*cri.ReopenContainerLogResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.containers[q.ContainerId]
	if c == nil {
		return nil, notFound("container", q.ContainerId)
	}
	if c.state != cri.ContainerState_CONTAINER_RUNNING {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is in state %v", c.config.Metadata.Name, c.state)
	}
	if err := r.openLog(c); err != nil {
		return nil, status.Error(codes.Unknown, err.Error())
	}
	return &cri.ReopenContainerLogResponse{}, nil
}

package kubelet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// MemoryAlarm implements Host, with an eventfd.
func (machine) MemoryAlarm(ctx context.Context, dir string, workingSet uint64, crossed func()) error {
	inactive, err := inactiveCache(filepath.Join(dir, "memory.stat"))
	if err != nil {
		return err
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	events := os.NewFile(uintptr(fd), "eventfd")
	defer events.Close()
	used, err := os.Open(filepath.Join(dir, "memory.usage_in_bytes"))
	if err != nil {
		return err
	}
	// The kernel keeps the group for as long as the eventfd is open, and ends the event with it.
	text := fmt.Sprintf("%d %d %d", fd, used.Fd(), workingSet+inactive)
	err = errors.Join(os.WriteFile(filepath.Join(dir, "cgroup.event_control"), []byte(text), 0), used.Close())
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { events.Close() })()
	for count := make([]byte, 8); ; {
		if _, err := events.Read(count); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("read eventfd: %w", err)
		}
		if _, err := os.Stat(dir); err != nil {
			return err // the end of the group is an event too
		}
		crossed()
	}
}

// inactiveCache reads how much of the cache of a group and those below it is inactive, in bytes.
func inactiveCache(stat string) (uint64, error) {
	text, err := os.ReadFile(stat)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("total_inactive_file ")); ok {
			return strconv.ParseUint(string(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no total_inactive_file", stat)
}

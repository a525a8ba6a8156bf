package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

// prepareProcess checks the machine and sets what concerns the process itself.
func prepareProcess(c *kubeletconfig.Configuration) error {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); *c.FailCgroupV1 && errors.Is(err, fs.ErrNotExist) {
		return errors.New("kubelet is configured to not run on a host using cgroup v1: set failCgroupV1 (--fail-cgroupv1) to false to run on it all the same")
	}
	swaps, err := os.ReadFile("/proc/swaps")
	if *c.FailSwapOn && err == nil && bytes.Count(swaps, []byte("\n")) > 1 { // one line is the heading
		return errors.New("running with swap on is not supported: disable swap, or set failSwapOn (--fail-swap-on) to false")
	}
	limit := unix.Rlimit{Cur: uint64(c.MaxOpenFiles), Max: uint64(c.MaxOpenFiles)}
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err == nil && have.Cur < limit.Cur {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			limit.Cur, limit.Max = min(limit.Cur, have.Max), have.Max // without privileges
			if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
				return fmt.Errorf("maxOpenFiles: %w", err)
			}
		}
	}
	err = os.WriteFile("/proc/self/oom_score_adj", []byte(strconv.Itoa(int(*c.OOMScoreAdj))), 0o644)
	if err != nil && !errors.Is(err, fs.ErrPermission) { // without privileges it cannot be lowered
		return fmt.Errorf("oomScoreAdj: %w", err)
	}
	if c.EnableContentionProfiling {
		runtime.SetBlockProfileRate(1)
	}
	return nil
}

package kubelet

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMemoryAlarm lets a process use more memory than an alarm allows, in a group of its own, and ends the
// group.
func TestMemoryAlarm(t *testing.T) {
	dir, err := os.MkdirTemp("/sys/fs/cgroup/memory", "keelson-")
	if err != nil {
		t.Skipf("it needs root and version 1 of the kernel's groups: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start := func(workingSet uint64) (crossings chan struct{}, ended chan error, stop context.CancelFunc) {
		ctx, stop := context.WithCancel(ctx)
		crossings, ended = make(chan struct{}, 100), make(chan error, 1)
		go func() { ended <- machine{}.MemoryAlarm(ctx, dir, workingSet, func() { crossings <- struct{}{} }) }()
		return crossings, ended, stop
	}
	low, lowEnded, stopLow := start(16 << 20)
	defer stopLow()
	high, highEnded, stopHigh := start(1 << 30)
	defer stopHigh()
	for len(low) == 0 { // the alarm may not be set yet, and reports crossings alone
		out, err := exec.CommandContext(ctx, "sh", "-c", `echo $$ >"$0"/cgroup.procs && head -c 67108864 /dev/zero | tail -c 67108864 >/dev/null`, dir).CombinedOutput()
		require.NoError(t, err, "16 MiB were crossed, and nothing was reported: %s", out)
	}
	require.Empty(t, high, "1 GiB was not")
	stopHigh()
	require.ErrorIs(t, <-highEnded, context.Canceled)
	require.NoError(t, os.Remove(dir))
	require.ErrorIs(t, <-lowEnded, os.ErrNotExist, "the end of the group")
	require.ErrorIs(t, machine{}.MemoryAlarm(ctx, dir, 1, nil), os.ErrNotExist)
}

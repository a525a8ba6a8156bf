package noderuntime

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// subreaper, in the environment, makes the test binary adopt orphans and execute the shell script it holds.
const subreaper = "KEELSON_TEST_SUBREAPER"

// A tree whose processes fork again and again, and end, is killed completely.
func TestEndTreesEndsProcessesThatFork(t *testing.T) {
	if script := os.Getenv(subreaper); script != "" {
		require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		require.NoError(t, syscall.Exec("/bin/sh", []string{"sh", "-c", script, os.Getenv("KEELSON_TEST_MARK")}, []string{"PATH=" + os.Getenv("PATH")}))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	mark := fmt.Sprintf("keelson-tree-%d", os.Getpid())
	root := exec.CommandContext(t.Context(), self, "-test.run=^TestEndTreesEndsProcessesThatFork$")
	root.Env = append(os.Environ(), "KEELSON_TEST_MARK="+mark,
		subreaper+"=again() { sleep 0.05; again & exit; }; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do again & done; while :; do wait; done")
	require.NoError(t, root.Start())
	alive := func() (n int) {
		for pid := range pids() {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if _, state := stat(pid); bytes.Contains(args, []byte(mark)) && state != "Z" {
				n++
			}
		}
		return n
	}
	for alive() < 17 {
		time.Sleep(10 * time.Millisecond)
	}
	require.NoError(t, endTrees(func(pid int) bool { return pid == root.Process.Pid }, 2*time.Minute))
	require.Error(t, root.Wait())
	require.Zero(t, alive())
}

// A process that only has the pid of one that ended gets no signal.
func TestReusedPidsAreNotSignalled(t *testing.T) {
	start := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), "sleep", "1000")
		require.NoError(t, c.Start())
		return c
	}
	first := start()
	pid := first.Process.Pid
	held, ok := openProcess(pid, func() bool { return true })
	require.True(t, ok)
	defer held.close()
	require.False(t, held.ended(0))
	_, ok = openProcess(pid, func() bool {
		// It ends after it was found, and before it is checked.
		require.NoError(t, first.Process.Kill())
		require.Error(t, first.Wait())
		return true
	})
	require.False(t, ok)
	require.True(t, held.ended(time.Minute))

	// The kernel can be made to use a pid again if this process may write the last one.
	var second *exec.Cmd
	for range 50 {
		if os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0) != nil {
			t.Skip("the pid of the next process cannot be chosen here")
		}
		second = start()
		if second.Process.Pid == pid {
			break
		}
		require.NoError(t, second.Process.Kill())
		require.Error(t, second.Wait())
	}
	if second.Process.Pid != pid {
		t.Skip("other processes took the pid each time")
	}
	held.signal(unix.SIGKILL)
	require.NoError(t, endTrees(func(int) bool { return false }, time.Second))
	other, ok := openProcess(pid, func() bool { return strings.Contains(strings.Join(arguments(pid), " "), "sleep") })
	require.True(t, ok)
	defer other.close()
	require.False(t, other.ended(0), "the other process lives")
	require.NoError(t, second.Process.Kill())
	require.Error(t, second.Wait())
}

// A mount point whose name mountinfo escapes is unmounted.
func TestUnmountAllDecodesNames(t *testing.T) {
	if os.Geteuid() != 0 {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must run as root")
		t.Skip("needs root")
	}
	r := &Runtime{paths: pathsOf(t.TempDir())}
	dir := r.paths.dir + "/with space\nand line"
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must be able to mount: %v", err)
		t.Skip("cannot mount: ", err)
	}
	defer func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }()
	require.NoError(t, os.WriteFile(dir+"/inside", nil, 0o644))
	r.unmountAll()
	require.NoFileExists(t, dir+"/inside")
}
